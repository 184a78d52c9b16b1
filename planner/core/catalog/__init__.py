"""The catalogue: devices and open-weight models, as facts with source and date in hardware.toml and models.toml.

To add a device, add one `[device.<slug>]` table to hardware.toml: the exact product name, vendor, class, memory,
bandwidth and sources; the rest where a source has it. The head of the file says what each key means, and the tests
check every entry. To add a model, add one `[[model]]` table to models.toml with the keys of its config.json that decide
memory and speed, and where the copy came from. Then raise `version` in the file.
"""

from typing import Final

from planner.core.catalog import checkpoints, machines
from planner.core.catalog.additions import read_additions
from planner.core.catalog.checkpoints import CatalogModel, close_models, model, models
from planner.core.catalog.machines import (
    MAX_COUNT,
    cpu_device,
    custom_device,
    device,
    devices,
    parse_machine,
    parse_machines,
    set_additions,
)

CATALOG_VERSION: Final = max(machines.VERSION, checkpoints.VERSION)

__all__ = [
    "CATALOG_VERSION", "MAX_COUNT", "CatalogModel", "close_models", "cpu_device", "custom_device", "device", "devices", "model", "models", "parse_machine", "parse_machines", "read_additions", "set_additions",
]  # fmt: skip
