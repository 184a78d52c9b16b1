"""Text to JSON object, bounded in size and nesting."""

import json
from typing import Final

from planner.core.attention.config import ConfigError

MAX_BYTES: Final = 4 * 2**20
MAX_DEPTH: Final = 64


def parse_config(text: str | bytes) -> dict[str, object]:
    """The object in the text of a config.json.

    `Infinity` and `NaN`, which Mamba configurations contain, are let through here; no reader accepts them as a count or size.
    Raises ConfigError for text that is too long, not JSON, no object, or nested deeper than any real configuration.
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f"This config.json has {len(text) / 2**20:.1f} MiB; real ones have a few KiB, and 4 MiB is the limit.")
    try:
        parsed = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff"))
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as fault:
        raise ConfigError(f"This is not JSON (line {fault.lineno}, column {fault.colno}): give the whole text of a config.json.") from None
    except ValueError:
        raise ConfigError("This is not JSON text in UTF-8 with numbers of a sensible length: give the text of a config.json.") from None
    if not isinstance(parsed, dict):
        raise ConfigError("This is not a config.json: it must be a JSON object with keys such as num_hidden_layers.")
    _check_depth(parsed)
    return parsed


def _check_depth(parsed: object) -> None:
    level = [parsed]
    for _ in range(MAX_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise _too_deep()


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> ConfigError:
    return ConfigError(f"This JSON is nested more than {MAX_DEPTH} levels deep, which no config.json is.")
