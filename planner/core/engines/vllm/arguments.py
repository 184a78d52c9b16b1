"""A vLLM command line, read for the values that decide memory: what `vllm serve` would make of them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final

from planner.core.errors import InputError
from planner.core.units import MAX_BYTES, MAX_TOKENS

MAX_WORDS: Final = 1_000
_DECIMAL: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY: Final = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The values a command line sets; None where it leaves them to vLLM. `max_model_len` is -1 for “auto”."""

    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: float | None = None
    kv_cache_memory_bytes: int | None = None
    kv_cache_dtype: str | None = None
    kv_cache_dtype_skip_layers: str | None = None
    block_size: int | None = None
    dtype: str | None = None
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int | None = None
    data_parallel_size: int | None = None
    data_parallel_size_local: int | None = None
    enable_expert_parallel: bool | None = None
    decode_context_parallel_size: int | None = None
    enable_prefix_caching: bool | None = None
    enable_chunked_prefill: bool | None = None
    async_scheduling: bool | None = None
    disable_hybrid_kv_cache_manager: bool | None = None
    disable_sliding_window: bool | None = None
    enforce_eager: bool | None = None
    num_gpu_blocks_override: int | None = None
    mamba_cache_dtype: str | None = None
    mamba_ssm_cache_dtype: str | None = None
    mamba_cache_mode: str | None = None
    performance_mode: str | None = None
    cpu_offload_gb: float | None = None
    speculative_config: Mapping[str, Any] | None = None
    compilation_config: Mapping[str, Any] | None = None
    limit_mm_per_prompt: Mapping[str, Any] | None = None
    language_model_only: bool | None = None


def _refuse(flag: str, text: str, wanted: str) -> InputError:
    return InputError(f"--{flag} {text[:60]}: vLLM wants {wanted} here.", field="engine_args")


def _whole(flag: str, text: str, *, low: int = 1, high: int = MAX_TOKENS) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or not low <= int(text) <= high:
        raise _refuse(flag, text, f"a whole number from {low:,} to {high:,}")
    return int(text)


def _sized(flag: str, text: str, *, high: int = MAX_TOKENS) -> int:
    """vLLM's human numbers: `16k` is 16,000 and `16K` is 16,384. Source: utils/argparse_utils.py, human_readable_int."""
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([kKmMgGtT])", text)
    if match is None:
        return _whole(flag, text, high=high)
    number, suffix = match[1], match[2]
    if suffix in _BINARY and "." in number:
        raise _refuse(flag, text, f"no decimals before {suffix} (write {number}{suffix.lower()})")
    value = int(number) * _BINARY[suffix] if suffix in _BINARY else int(float(number) * _DECIMAL[suffix])
    if not 1 <= value <= high:
        raise _refuse(flag, text, f"a number from 1 to {high:,}")
    return value


def _length(flag: str, text: str) -> int:
    return -1 if text.lower() in {"auto", "-1"} else _sized(flag, text)


def _bytes(flag: str, text: str) -> int:
    return _sized(flag, text, high=MAX_BYTES)


def _share(flag: str, text: str) -> float:
    if not re.fullmatch(r"[0-9]{0,3}(?:\.[0-9]{0,12})?", text) or not text.strip(".") or not 0 < float(text) <= 1:
        raise _refuse(flag, text, "a share above 0 and up to 1")
    return float(text)


def _gigabytes(flag: str, text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{0,6})?", text):
        raise _refuse(flag, text, "a number of GiB")
    return float(text)


def _word(flag: str, text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.\-]{1,60}", text):
        raise _refuse(flag, text, "a name")
    return text


_OBJECTS: Final = {
    "speculative-config": '{"method": "mtp", "num_speculative_tokens": 2}',
    "compilation-config": '{"cudagraph_capture_sizes": [1, 2, 4]}',
    "limit-mm-per-prompt": '{"image": 2}',
}


def _object(flag: str, text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text[:4096])
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _refuse(flag, text, f"a JSON object such as '{_OBJECTS[flag]}'")
    return value


_READ: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "max_model_len": _length,
    "max_num_seqs": _whole,
    "max_num_batched_tokens": _sized,
    "gpu_memory_utilization": _share,
    "kv_cache_memory_bytes": _bytes,
    "kv_cache_dtype": _word,
    "kv_cache_dtype_skip_layers": _word,
    "block_size": _whole,
    "dtype": _word,
    "tensor_parallel_size": _whole,
    "pipeline_parallel_size": _whole,
    "data_parallel_size": _whole,
    "data_parallel_size_local": _whole,
    "decode_context_parallel_size": _whole,
    "num_gpu_blocks_override": _whole,
    "mamba_cache_dtype": _word,
    "mamba_ssm_cache_dtype": _word,
    "mamba_cache_mode": _word,
    "performance_mode": _word,
    "cpu_offload_gb": _gigabytes,
    "speculative_config": _object,
    "compilation_config": _object,
    "limit_mm_per_prompt": _object,
}
_SWITCHES: Final = frozenset(field.name for field in fields(Arguments)) - _READ.keys()
_ALIASES: Final = {
    "tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size", "dpl": "data_parallel_size_local", "ep": "enable_expert_parallel",
    "dcp": "decode_context_parallel_size",
    "sc": "speculative_config", "cc": "compilation_config", "device_memory_utilization": "gpu_memory_utilization",
    "kv_cache_memory": "kv_cache_memory_bytes",
}  # fmt: skip
# The dotted and short spellings of single keys of --speculative-config.
_SPECULATIVE: Final = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}


def _flags(words: tuple[str, ...]) -> Iterator[tuple[str, str, str | None]]:
    """(flag as typed, its canonical name, value or None) for every flag; words that belong to none are passed over."""
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not _is_flag(word):
            continue
        typed, equals, value = word.partition("=")
        name = typed.lstrip("-").replace("-", "_")
        given: str | None = value if equals else None
        if given is None and position < len(words) and not _is_flag(words[position]):
            given = words[position]
            position += name.removeprefix("no_") not in _SWITCHES
        yield typed, _ALIASES.get(name, name), given


def _is_flag(word: str) -> bool:
    return re.match(r"--?[A-Za-z]", word) is not None


@lru_cache(maxsize=256)
def parse(words: tuple[str, ...]) -> Arguments:
    """The command line's values. Later flags win, as in argparse.

    Flags that do not touch memory are passed over (`flags` judges whether they exist). Raises InputError for a value that
    vLLM would refuse.
    """
    if len(words) > MAX_WORDS:
        raise InputError(f"The command line has more than {MAX_WORDS:,} words: paste only vLLM's own.", field="engine_args")
    found: dict[str, Any] = {}
    for typed, name, value in _flags(words):
        positive = name.removeprefix("no_")
        if positive in _SWITCHES:
            found[positive] = name == positive
        elif name in _READ:
            if not value:
                raise InputError(f"{typed} needs a value.", field="engine_args")
            found[name] = _READ[name](name.replace("_", "-"), value)
        elif value and (modality := name.partition("limit_mm_per_prompt.")[2]):
            found["limit_mm_per_prompt"] = {**found.get("limit_mm_per_prompt", {}), modality: _whole(typed.lstrip("-"), value, low=0)}
        elif value and (key := _SPECULATIVE.get(name) or name.partition("speculative_config.")[2]):
            found["speculative_config"] = {**found.get("speculative_config", {}), key: value}
    return Arguments(**found)
