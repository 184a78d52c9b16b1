"""A llama-server command line, read for the values that decide memory: what the server would make of them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from planner.core.engines.llama_server.cache_types import cache_type
from planner.core.errors import InputError
from planner.core.units import MAX_TOKENS

MAX_WORDS: Final = 1_000
AUTO_SLOTS: Final = -1
ALL_LAYERS: Final = -2


@dataclass(frozen=True, slots=True)
class Arguments:
    """The values a command line sets; None where it leaves them to llama-server.

    `n_parallel` is -1 for automatic slots, `n_gpu_layers` -1 for automatic and -2 for all of them.
    """

    n_ctx: int | None = None
    n_parallel: int | None = None
    kv_unified: bool | None = None
    kv_unified_per_slot: int | None = None
    n_batch: int | None = None
    n_ubatch: int | None = None
    type_k: str | None = None
    type_v: str | None = None
    flash_attn: str | None = None
    swa_full: bool | None = None
    kv_offload: bool | None = None
    fit: bool | None = None
    fit_target_mib: tuple[int, ...] | None = None
    fit_ctx: int | None = None
    n_gpu_layers: int | None = None
    split_mode: str | None = None
    tensor_split: tuple[float, ...] | None = None
    devices: tuple[str, ...] | None = None
    cpu_moe: bool | None = None
    n_cpu_moe: int | None = None
    cache_ram_mib: int | None = None
    ctx_checkpoints: int | None = None
    spec_type: tuple[str, ...] | None = None
    draft_model: str | None = None
    draft_n_max: int | None = None

    @property
    def shapes_context(self) -> bool:
        """Whether the line says how the context is divided: then it says all of it, and what it leaves out is the server's default."""
        return any(value is not None for value in (self.n_ctx, self.n_parallel, self.kv_unified, self.kv_unified_per_slot))


def _refuse(flag: str, text: str, wanted: str) -> InputError:
    return InputError(f"{flag} {text[:60]}: llama-server wants {wanted} here.", field="engine_args")


def _whole(low: int, high: int = MAX_TOKENS) -> Callable[[str, str], int]:
    def read(flag: str, text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII) or not low <= int(text) <= high:
            raise _refuse(flag, text, f"a whole number from {low:,} to {high:,}")
        return int(text)

    return read


def _slots(flag: str, text: str) -> int:
    """Any negative number means automatic. Source: common/arg.cpp, --parallel; zero is an error."""
    value = _whole(-MAX_TOKENS)(flag, text)
    if value == 0:
        raise _refuse(flag, text, "a number of slots, or -1 for automatic")
    return max(value, AUTO_SLOTS)


def _layers(flag: str, text: str) -> int:
    named = {"auto": -1, "all": ALL_LAYERS}
    return named[text] if text in named else _whole(-2, 1_000_000)(flag, text)


def _type(flag: str, text: str) -> str:
    if text.lower() == "auto":
        raise _refuse(flag, text, "a cache type by name")
    return cache_type(text, field="engine_args").name


def _choice(*allowed: str) -> Callable[[str, str], str]:
    def read(flag: str, text: str) -> str:
        if text not in allowed:
            raise _refuse(flag, text, f"one of {', '.join(allowed)}")
        return text

    return read


def _switch(flag: str, text: str) -> bool:
    return _choice("on", "off", "true", "false", "enabled", "disabled", "1", "0")(flag, text) in {"on", "true", "enabled", "1"}


def _flash(flag: str, text: str) -> str:
    return {"true": "on", "enabled": "on", "1": "on", "false": "off", "disabled": "off", "0": "off", "-1": "auto"}.get(text, "") or _choice(
        "on", "off", "auto"
    )(flag, text)


def _numbers(flag: str, text: str) -> tuple[int, ...]:
    return tuple(_whole(0, 2**30)(flag, part) for part in text.split(",")[:128])


def _shares(flag: str, text: str) -> tuple[float, ...]:
    parts = [part for part in re.split(r"[,/]", text) if part][:128]
    if not parts or not all(re.fullmatch(r"\d{1,9}(?:\.\d{0,9})?", part, re.ASCII) for part in parts):
        raise _refuse(flag, text, "shares such as 3,1")
    return tuple(float(part) for part in parts)


def _names(_flag: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")[:128])


def _text(_flag: str, text: str) -> str:
    return text


_VALUES: Final[Mapping[str, tuple[str, Callable[[str, str], Any]]]] = {
    "-c": ("n_ctx", _whole(0)), "--ctx-size": ("n_ctx", _whole(0)),
    "-np": ("n_parallel", _slots), "--parallel": ("n_parallel", _slots),
    "--kv-unified-per-slot": ("kv_unified_per_slot", _whole(0)),
    "-b": ("n_batch", _whole(1)), "--batch-size": ("n_batch", _whole(1)),
    "-ub": ("n_ubatch", _whole(1)), "--ubatch-size": ("n_ubatch", _whole(1)),
    "-ctk": ("type_k", _type), "--cache-type-k": ("type_k", _type),
    "-ctv": ("type_v", _type), "--cache-type-v": ("type_v", _type),
    "-fit": ("fit", _switch), "--fit": ("fit", _switch),
    "-fitt": ("fit_target_mib", _numbers), "--fit-target": ("fit_target_mib", _numbers),
    "-fitc": ("fit_ctx", _whole(0)), "--fit-ctx": ("fit_ctx", _whole(0)),
    "-ngl": ("n_gpu_layers", _layers), "--gpu-layers": ("n_gpu_layers", _layers), "--n-gpu-layers": ("n_gpu_layers", _layers),
    "-sm": ("split_mode", _choice("none", "layer", "row", "tensor")), "--split-mode": ("split_mode", _choice("none", "layer", "row", "tensor")),
    "-ts": ("tensor_split", _shares), "--tensor-split": ("tensor_split", _shares),
    "-dev": ("devices", _names), "--device": ("devices", _names),
    "-ncmoe": ("n_cpu_moe", _whole(0, 10_000)), "--n-cpu-moe": ("n_cpu_moe", _whole(0, 10_000)),
    "-cram": ("cache_ram_mib", _whole(-1, 2**30)), "--cache-ram": ("cache_ram_mib", _whole(-1, 2**30)),
    "-ctxcp": ("ctx_checkpoints", _whole(0, 100_000)), "--ctx-checkpoints": ("ctx_checkpoints", _whole(0, 100_000)),
    "--swa-checkpoints": ("ctx_checkpoints", _whole(0, 100_000)),
    "--spec-type": ("spec_type", _names),
    "-md": ("draft_model", _text), "--model-draft": ("draft_model", _text), "--spec-draft-model": ("draft_model", _text),
    "--spec-draft-n-max": ("draft_n_max", _whole(0, 1_024)), "--draft-max": ("draft_n_max", _whole(0, 1_024)),
    "--draft": ("draft_n_max", _whole(0, 1_024)), "--draft-n": ("draft_n_max", _whole(0, 1_024)),
}  # fmt: skip
_SWITCHES: Final[Mapping[str, tuple[str, bool]]] = {
    "-kvu": ("kv_unified", True), "--kv-unified": ("kv_unified", True),
    "-no-kvu": ("kv_unified", False), "--no-kv-unified": ("kv_unified", False),
    "-kvo": ("kv_offload", True), "--kv-offload": ("kv_offload", True),
    "-nkvo": ("kv_offload", False), "--no-kv-offload": ("kv_offload", False),
    "--swa-full": ("swa_full", True),
    "-cmoe": ("cpu_moe", True), "--cpu-moe": ("cpu_moe", True),
}  # fmt: skip
_FLASH: Final = {"-fa", "--flash-attn"}
# Variables that say the same, by the flag they stand for. A boolean one is a switch with on or off.
_VARIABLES: Final = {
    "CTX_SIZE": "-c", "N_PARALLEL": "-np", "KV_UNIFIED_PER_SLOT": "--kv-unified-per-slot", "BATCH": "-b", "UBATCH": "-ub",
    "CACHE_TYPE_K": "-ctk", "CACHE_TYPE_V": "-ctv", "FLASH_ATTN": "-fa", "FIT": "-fit", "FIT_TARGET": "-fitt", "FIT_CTX": "-fitc",
    "N_GPU_LAYERS": "-ngl", "SPLIT_MODE": "-sm", "TENSOR_SPLIT": "-ts", "DEVICE": "-dev", "N_CPU_MOE": "-ncmoe", "CACHE_RAM": "-cram",
    "CTX_CHECKPOINTS": "-ctxcp", "SPEC_TYPE": "--spec-type", "SPEC_DRAFT_MODEL": "-md", "SPEC_DRAFT_N_MAX": "--spec-draft-n-max",
}  # fmt: skip
_BOOLEANS: Final = {"KV_UNIFIED": "kv_unified", "SWA_FULL": "swa_full", "KV_OFFLOAD": "kv_offload", "CPU_MOE": "cpu_moe"}
_ASSIGNMENT: Final = re.compile(r"(?:Environment=)?\"?LLAMA_ARG_([A-Z_]+)=([^\"]*)\"?", re.ASCII)
_FLAG: Final = re.compile(r"--?[A-Za-z]")


def _flags(words: tuple[str, ...]) -> Iterator[tuple[str, str | None, str | None]]:
    """(flag, its own value after `=`, the word that follows) for every flag of the line."""
    for position, word in enumerate(words):
        if _FLAG.match(word):
            flag, equals, value = word.partition("=")
            following = words[position + 1] if position + 1 < len(words) else None
            spelled = f"--{flag[2:].replace('_', '-')}" if flag.startswith("--") else flag
            yield spelled, value if equals else None, following


def _value(flag: str, own: str | None, following: str | None) -> str:
    value = own if own is not None else following
    if value is None or (own is None and _FLAG.match(value)):
        raise InputError(f"{flag} needs a value.", field="engine_args")
    return value


def _variables(words: tuple[str, ...]) -> dict[str, Any]:
    """What `LLAMA_ARG_…=value` words set; a NO_ variable switches off whatever its value. Source: common/arg.cpp, get_value_from_env."""
    found: dict[str, Any] = {}
    for match in filter(None, map(_ASSIGNMENT.fullmatch, words)):
        name, value = match[1], match[2].strip()
        if name in _BOOLEANS:
            found[_BOOLEANS[name]] = _switch(f"LLAMA_ARG_{name}", value)
        elif name.removeprefix("NO_") in _BOOLEANS:
            found[_BOOLEANS[name.removeprefix("NO_")]] = False
        elif name == "FLASH_ATTN":
            found["flash_attn"] = _flash("LLAMA_ARG_FLASH_ATTN", value)
        elif name in _VARIABLES:
            field, read = _VALUES[_VARIABLES[name]]
            found[field] = read(f"LLAMA_ARG_{name}", value)
    return found


@lru_cache(maxsize=256)
def parse(words: tuple[str, ...]) -> Arguments:
    """The command line's values. Later flags win, and flags over variables; those without influence on memory are passed over.

    Raises InputError for a value that llama-server would refuse. Source: llama.cpp b11434 common/arg.cpp.
    """
    if len(words) > MAX_WORDS:
        raise InputError(f"The command line has more than {MAX_WORDS:,} words: paste only llama-server's own.", field="engine_args")
    found = _variables(words)
    for flag, own, following in _flags(words):
        if flag in _FLASH:
            stated = own if own is not None else following
            # Before builds of August 2025 the flag stood alone and meant “on”.
            found["flash_attn"] = "on" if stated is None or (own is None and _FLAG.match(stated)) else _flash(flag, stated)
        elif flag in _SWITCHES:
            name, value = _SWITCHES[flag]
            found[name] = value
        elif flag in _VALUES:
            name, read = _VALUES[flag]
            found[name] = read(flag, _value(flag, own, following))
    return Arguments(**found)


def flags_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of a command line as they are spelled, each once."""
    return tuple(dict.fromkeys(flag for flag, _, _ in _flags(words)))
