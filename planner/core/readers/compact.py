"""A config.json short enough for an address: what decides a plan, compressed, and back."""

import base64
import binascii
import json
import math
import re
import sys
import zlib
from collections.abc import Mapping
from typing import Final

from planner.core.attention.config import ConfigError
from planner.core.readers.json_text import MAX_BYTES, parse_config

MAX_COMPACT: Final = 2**18
_MAX_TEXT: Final = 80
_MAX_PATTERN: Final = 4096
_PATTERNS: Final = ("pattern", "layer_types")
_MAX_NESTING: Final = 6
# Of no weight for memory or speed: names of labels, of code, of languages; how text is sampled and trained.
_DROPPED: Final = frozenset((
    "id2label", "label2id", "auto_map", "task_specific_params", "image_grid_pinpoints", "candidate_resolutions", "chat_template", "languages",
    "support_languages", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids",
    "_attn_implementation_autoset", "_name_or_path", "bos_token_id", "chunk_size_feed_forward", "cross_attention_hidden_size", "decoder_start_token_id",
    "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty",
    "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "initializer_range", "length_penalty", "max_length", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences", "output_attentions", "output_hidden_states", "output_scores",
    "pad_token_id", "prefix", "problem_type", "pruned_heads", "remove_invalid_values", "repetition_penalty", "return_dict", "return_dict_in_generate",
    "sep_token_id", "temperature", "tf_legacy_loss", "tokenizer_class", "top_k", "top_p", "torchscript", "transformers_version", "typical_p", "use_bfloat16",
))  # fmt: skip
# Lists of modules that are quantised or left so: which parts they are says something, which layer does not.
_MODULES: Final = frozenset(("targets", "ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"))
_MAX_MODULES: Final = 64


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
    """The section without ballast; what stays keeps its type, so that a reader takes or refuses it as before."""
    names = (name for name in section if name not in _DROPPED and len(name) <= _MAX_TEXT and "." not in name)
    return {name: _parts(name, section[name]) or _shortened(section[name], depth, _longest(name)) for name in names}


def _longest(name: str) -> int:
    return _MAX_PATTERN if name.endswith(_PATTERNS) else _MAX_TEXT


def _parts(name: str, modules: object) -> list[str] | None:
    """The modules in a list without their numbers, each once; None for anything else."""
    if name not in _MODULES or not isinstance(modules, list):
        return None
    return sorted({re.sub(r"\d+", "*", str(module)[:200])[:_MAX_TEXT] for module in modules})[:_MAX_MODULES]


def _shortened(value: object, depth: int, longest: int) -> object:
    if isinstance(value, Mapping):
        return _reduced(value, depth + 1) if depth < _MAX_NESTING else {}
    if isinstance(value, list):
        return [_shortened(item, depth + 1, longest) for item in value] if depth < _MAX_NESTING else []
    if isinstance(value, str):
        return value[:longest]
    if isinstance(value, float) and not math.isfinite(value):
        return sys.float_info.max  # JSON has no infinity; no reader takes either for a size
    return value
