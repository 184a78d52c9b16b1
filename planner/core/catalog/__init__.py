"""The catalogue: devices as facts with source and date in hardware.toml.

To add a device, add one `[device.<slug>]` table to hardware.toml: the exact product name, vendor, class, memory,
bandwidth and sources; the rest where a source has it. The head of the file says what each key means, and the tests
check every entry. Then raise `version` in the file.
"""

from typing import Final

from planner.core.catalog import machines
from planner.core.catalog.machines import cpu_device, custom_device, device, devices, parse_machine

CATALOG_VERSION: Final = machines.VERSION

__all__ = ["CATALOG_VERSION", "cpu_device", "custom_device", "device", "devices", "parse_machine"]
