"""Text to JSON object, bounded in size and nesting."""

import json
from typing import Final

from planner.core.attention.config import ConfigError
from planner.core.errors import InputError

MAX_BYTES: Final = 4 * 2**20
MAX_DEPTH: Final = 64


def parse_config(text: str | bytes) -> dict[str, object]:
    """The object in the text of a config.json. Raises ConfigError for anything else, as `parse_object` does.

    `Infinity` and `NaN`, which Mamba configurations contain, are let through here; no reader accepts them as a count or size.
    """
    try:
        return parse_object(text, wanted="the whole text of a config.json, with keys such as num_hidden_layers")
    except InputError as refusal:
        raise ConfigError(str(refusal)) from None


def parse_object(text: str | bytes, *, wanted: str) -> dict[str, object]:
    """The JSON object in `text`, which is to be `wanted`.

    Raises InputError for text that is too long, not JSON, no object, or nested deeper than anything real.
    """
    if len(text) > MAX_BYTES:
        raise InputError(f"This is longer than {MAX_BYTES // 2**20} MiB: give {wanted}; real ones have a few KiB.")
    if not text.strip():
        raise InputError(f"This is empty: give {wanted}.")
    try:
        parsed = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff"))
    except RecursionError:
        raise _too_deep(wanted) from None
    except json.JSONDecodeError as fault:
        raise InputError(f"This is not JSON (line {fault.lineno}, column {fault.colno}): give {wanted}.") from None
    except ValueError:
        raise InputError(f"This is not JSON text in UTF-8 with numbers of a sensible length: give {wanted}.") from None
    if not isinstance(parsed, dict):
        raise InputError(f"This must be a JSON object: give {wanted}.")
    _check_depth(parsed, wanted)
    return parsed


def _check_depth(parsed: object, wanted: str) -> None:
    level = [parsed]
    for _ in range(MAX_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise _too_deep(wanted)


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep(wanted: str) -> InputError:
    return InputError(f"This JSON is nested more than {MAX_DEPTH} levels deep: give {wanted}.")
