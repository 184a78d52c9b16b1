"""A config.json short enough for an address: what decides a plan, compressed, and back."""

import base64
import binascii
import json
import math
import zlib
from collections.abc import Mapping
from typing import Final

from planner.core.attention.config import ConfigError
from planner.core.readers.json_text import MAX_BYTES, parse_config

MAX_COMPACT: Final = 2**18
_MAX_TEXT: Final = 80
_MAX_PATTERN: Final = 4096
_MAX_NESTING: Final = 6
# Long, and of no weight for memory or speed: names of labels, of code, of modules left unquantised.
_DROPPED: Final = frozenset((
    "id2label", "label2id", "auto_map", "task_specific_params", "ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules", "image_grid_pinpoints",
    "candidate_resolutions", "chat_template", "languages", "support_languages", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids",
))  # fmt: skip


def compact_config(config: Mapping[str, object]) -> str:
    """The configuration as letters, digits, “-” and “_”; `expand_config` gives back one with the same shape."""
    text = json.dumps(_reduced(config, 0), separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).rstrip(b"=").decode()


def expand_config(text: str) -> dict[str, object]:
    """The configuration in what `compact_config` made, or in the plain text of a config.json.

    Raises ConfigError when it is neither, or expands beyond the size of any real configuration.
    """
    text = text.strip()
    if text.startswith("{"):
        return parse_config(text)
    unpacked = _unpacked(text) if len(text) <= MAX_COMPACT else None
    if unpacked is None:
        raise ConfigError("This is neither JSON nor a shortened configuration from an address: paste the text of a config.json.")
    return parse_config(unpacked)


def _unpacked(text: str) -> bytes | None:
    """What `text` holds, None when it is cut, damaged, or larger than any configuration."""
    inflater = zlib.decompressobj()
    try:
        unpacked = inflater.decompress(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), MAX_BYTES)
    except (binascii.Error, zlib.error, ValueError):
        return None
    return unpacked if inflater.eof else None


def _reduced(section: Mapping[str, object], depth: int) -> dict[str, object]:
    kept = ((key, _kept(str(key), value, depth)) for key, value in section.items() if len(str(key)) <= _MAX_TEXT and "." not in str(key))
    return {key: value for key, value in kept if key not in _DROPPED and value is not _LEFT_OUT}


_LEFT_OUT: Final = object()


def _kept(key: str, value: object, depth: int) -> object:
    if isinstance(value, Mapping):
        return _reduced(value, depth + 1) if depth < _MAX_NESTING else _LEFT_OUT
    if isinstance(value, list):
        return _kept_list(value, depth)
    if isinstance(value, str):
        return value if len(value) <= (_MAX_PATTERN if key.endswith(("pattern", "layer_types")) else _MAX_TEXT) else _LEFT_OUT
    if isinstance(value, float):
        return value if math.isfinite(value) else _LEFT_OUT
    return value


def _kept_list(values: list[object], depth: int) -> object:
    """Lists of one entry per layer stay; lists of lists and of long texts do not."""
    items = [_kept("", value, depth + 1) for value in values]
    return _LEFT_OUT if any(item is _LEFT_OUT or isinstance(item, list) for item in items) else items
