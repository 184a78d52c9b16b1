"""An operator's own devices: a file of hardware.toml's form, read with bounds and with errors that say what to do."""

import tomllib
from typing import Final

from pydantic import ValidationError

from planner.core import units
from planner.core.catalog.hardware_file import HardwareFile
from planner.core.errors import InputError

MAX_BYTES: Final = 2**20
MAX_DEVICES: Final = 500


def read_additions(text: str) -> HardwareFile:
    """The devices in `text`. Raises InputError with the entry and key that cannot be used."""
    if len(text) > MAX_BYTES:
        raise InputError(f"The file is longer than {units.size(MAX_BYTES)}: keep the devices you need.")
    try:
        found = tomllib.loads(text)
        # The head of hardware.toml is for its maintainers: a file without it is complete.
        added = HardwareFile.model_validate({"device": {}, **found})
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"This is no TOML: {problem}. docs/catalogue.md has an example.") from None
    except RecursionError:
        raise InputError("This is nested too deeply: docs/catalogue.md has an example.") from None
    except ValidationError as refused:
        raise InputError(_sentence(refused)) from None
    if len(added.device) > MAX_DEVICES:
        raise InputError(f"The file has more than {MAX_DEVICES} devices: keep those you need.")
    return added


def _sentence(refused: ValidationError) -> str:
    error = refused.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part)[:60] for part in error["loc"] if part != "[key]") or "the file"
    words = error["msg"].removeprefix("Value error, ")
    return f"{where}: {words[0].lower()}{words[1:]}. docs/catalogue.md says what each key means."
