"""llama-server's start-up lines: the figures in them, the plan's own for each, and what may make the two differ.

Sources of the lines: llama.cpp b11434 src/llama-kv-cache.cpp, src/llama-memory-recurrent.cpp, src/llama-context.cpp and
tools/server/server-context.cpp; logs of builds from b4748 on, and of Ollama and ik_llama.cpp, for the older spellings.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from planner.core.engines.contract import Base, Cause, Expectation, Printed
from planner.core.engines.llama_server.serving import CELL_PADDING
from planner.core.engines.llama_server.versions import BUILDS, rules_of
from planner.core.engines.start_up_text import NUMBER, after_last, count, decimal, half_digit, number
from planner.core.units import MIB

_START: Final = re.compile(r"load_model: loading model|main: loading model|starting llama.?server")
_CACHE: Final = re.compile(
    rf"llama_kv_cache\w*: +size = +{NUMBER} MiB \( *(\d+) cells, +(\d+) layers, +(\d+)/ *(\d+) seqs\), "
    rf"K \((\w+)\): +{NUMBER} MiB, V \((\w+)\): +{NUMBER} MiB"
)
_OLD_CACHE: Final = re.compile(rf"KV self size += +{NUMBER} MiB, K \((\w+)\): +{NUMBER} MiB, V \((\w+)\): +{NUMBER} MiB")
_PART: Final = re.compile(rf"llama_kv_cache\w*: +\S+ KV buffer size += +{NUMBER} MiB")
_STATE: Final = re.compile(rf"llama_memory_recurrent: +size = +{NUMBER} MiB")
_OUTPUT: Final = re.compile(rf"output buffer size += +{NUMBER} MiB")
_COMPUTE: Final = re.compile(rf"(\S+) +compute buffer size += +{NUMBER} MiB")
_SLOTS: Final = re.compile(r"initializing(?: slots)?, n_slots = (\d+)(?:, n_ctx_slot = (\d+), kv_unified = '(true|false)')?")
_CONTEXT: Final = re.compile(
    r"llama_(?:context|new_context_with_model): +(n_ctx|n_ctx_seq|n_ctx_per_seq|n_seq_max|n_batch|n_ubatch|kv_unified|flash_attn) += +(\w+)"
)
_BUILD: Final = re.compile(r"\bbuild: (\d{4,6})\b|\bversion: (\d{4,6}) \(")
_NAMES: Final = {
    "n_slots": "slots", "n_ctx_slot": "tokens of a slot", "kv_unified": "one pool for all slots", "n_ctx": "cells of all slots",
    "n_ctx_seq": "cells of one stream", "n_batch": "batch", "n_ubatch": "micro-batch", "build": "build", "flash_attn": "flash attention",
    "type_k": "type of the keys", "type_v": "type of the values", "recurrent": "recurrent state", "output": "output buffer",
    "compute": "compute buffer", "kv.size": "KV cache",
}  # fmt: skip
_RENAMED: Final = {"n_ctx_per_seq": "n_ctx_seq", "n_seq_max": "n_slots"}
_MIB: Final = frozenset({"recurrent", "output", "compute"})
_ON: Final = {"1": "true", "0": "false", "enabled": "true", "disabled": "false"}


class LlamaStartUp:
    """See `engines.contract.StartUp` for what each member answers."""

    paste = (
        "Paste the line “initializing, n_slots = …”, and those of the caches, which a server prints with -lv 4: “llama_kv_cache: size = …”, "
        "“llama_context: n_ctx …”, “compute buffer size = …”."
    )
    measured: Mapping[str, str] = MappingProxyType(
        {"compute": "Look for another micro-batch, another build, or another split over the cards."}
    )
    pool: str | None = None

    def printed(self, lines: Sequence[str]) -> tuple[Printed, ...]:
        lines = after_last(tuple(lines), _START)
        found: dict[str, Printed] = {}
        for figure in (*_context(lines), *_caches(lines), *_buffers(lines)):
            found.setdefault(figure.key, figure)
        return tuple(found.values())

    def expected(self, expectation: Expectation) -> Mapping[str, float | str]:
        values = expectation.values
        found: dict[str, float | str] = {
            key: values[key] for key in ("n_slots", "n_ctx_slot", "n_ctx", "n_ctx_seq", "n_batch", "n_ubatch", "build")
        }
        found |= {key: str(values[key]).lower() for key in ("kv_unified", "flash_attn", "type_k", "type_v")}
        found |= {key: values[f"{key}_bytes"] / MIB for key in _MIB}
        found["kv.size"] = sum(entry["k_bytes"] + entry["v_bytes"] for entry in values["kv"]) / MIB
        for entry in values["kv"]:
            name = _cache_key(entry["layers"], found)
            found |= {f"{name}.cells": entry["cells"], f"{name}.k": entry["k_bytes"] / MIB, f"{name}.v": entry["v_bytes"] / MIB}
        return found

    def shown(self, key: str, value: float | str) -> str:
        if isinstance(value, str):
            return value
        return f"{value:.2f} MiB" if key in _MIB or key.endswith((".k", ".v", ".size")) else f"{value:,.0f}"

    def ranges(self, expectation: Expectation) -> Mapping[str, tuple[float, float]]:
        bounds = expectation.values["estimates"].get("compute_bytes")
        return {"compute": (bounds[0] / MIB, bounds[1] / MIB)} if bounds else {}

    def base(self, expectation: Expectation) -> Base:
        """The plan's own division of the context as a command line: one flag of it alone would leave the others to the server's defaults."""
        values = expectation.values
        unified = ("-kvu",) if values["kv_unified"] else ("-no-kvu",)
        return Base({}, ("-c", str(values["n_ctx"]), "-np", str(values["n_slots"]), *unified))

    def causes(self, printed: Mapping[str, Printed], expectation: Expectation) -> Iterator[Cause]:
        expected = self.expected(expectation)
        yield from _stated(printed, expected)
        yield from _guesses(printed, expectation.values)


def _context(lines: Sequence[str]) -> Iterator[Printed]:
    for line in lines:
        if match := _SLOTS.search(line):
            yield count("n_slots", _NAMES["n_slots"], match[1])
            if match[2]:
                yield count("n_ctx_slot", _NAMES["n_ctx_slot"], match[2])
                yield Printed("kv_unified", _NAMES["kv_unified"], match[3], match[3])
        elif match := _CONTEXT.search(line):
            key, text = _RENAMED.get(match[1], match[1]), match[2]
            if text.isdecimal() and key not in {"kv_unified", "flash_attn"}:
                yield count(key, _NAMES[key], text)
            elif text != "auto":
                yield Printed(key, _NAMES[key], _ON.get(text, text), _ON.get(text, text))
        elif match := _BUILD.search(line):
            yield count("build", _NAMES["build"], match[1] or match[2])


def _caches(lines: Sequence[str]) -> Iterator[Printed]:
    sized = [match for line in lines if (match := _CACHE.search(line))]
    seen: set[str] = set()
    for match in sized:
        _, cells, layers, seqs, streams, type_k, k_size, type_v, v_size = match.groups()
        if not int(layers):
            continue
        name, where = (
            _cache_key(int(layers), seen),
            f"{'second ' if f'kv.{int(layers)}.cells' in seen else ''}cache of {int(layers):,} layers",
        )
        seen.add(f"{name}.cells")
        yield count(f"{name}.cells", f"{where}, cells", cells)
        yield decimal(f"{name}.k", f"{where}, keys", k_size, "MiB")
        yield decimal(f"{name}.v", f"{where}, values", v_size, "MiB")
        yield count("n_slots", _NAMES["n_slots"], seqs)
        if int(seqs) > 1:
            yield Printed("kv_unified", _NAMES["kv_unified"], *(("true",) * 2 if streams == "1" else ("false",) * 2))
        yield from _types(type_k, type_v)
    if sized:
        return
    for line in lines:
        if match := _OLD_CACHE.search(line):
            yield decimal("kv.size", _NAMES["kv.size"], match[1], "MiB")
            yield from _types(match[2], match[4])
            return
    parts = [match[1] for line in lines if (match := _PART.search(line))]
    if parts:
        total = sum(number(part) for part in parts)
        yield Printed("kv.size", _NAMES["kv.size"], total, f"{total:.2f} MiB", sum(half_digit(part) for part in parts) + 1e-6)


def _cache_key(layers: int, taken: Container[str]) -> str:
    """What a cache is called: by its layers, because a paste may have one line of several; a second with as many gets a number."""
    return f"kv.{layers}" if f"kv.{layers}.cells" not in taken else f"kv.{layers}.2"


def _types(type_k: str, type_v: str) -> Iterator[Printed]:
    yield Printed("type_k", _NAMES["type_k"], type_k, type_k)
    yield Printed("type_v", _NAMES["type_v"], type_v, type_v)


def _buffers(lines: Sequence[str]) -> Iterator[Printed]:
    for key, pattern in (("recurrent", _STATE), ("output", _OUTPUT)):
        for line in lines:
            if match := pattern.search(line):
                yield decimal(key, _NAMES[key], match[1], "MiB")
    sizes = [(match[1], match[2]) for line in lines if (match := _COMPUTE.search(line))]
    # The host's share beside a card's own buffer is another one; of several cards the fullest counts.
    own = [size for device, size in sizes if not device.endswith("_Host") and (device != "CPU" or len(sizes) == 1)]
    if own:
        largest = max(own, key=number)
        # The formula agrees within 1 MiB where it is not an estimate.
        yield decimal("compute", _NAMES["compute"], largest, "MiB", tolerance=1.0)


def _whole(printed: Mapping[str, Printed], key: str) -> int | None:
    figure = printed.get(key)
    return int(figure.value) if figure and not isinstance(figure.value, str) else None


def _stated(printed: Mapping[str, Printed], expected: Mapping[str, float | str]) -> Iterator[Cause]:
    def differs(key: str) -> bool:
        return key in printed and printed[key].value != expected[key]

    if differs("build") and (build := _known(_whole(printed, "build") or 0)):
        yield Cause(f"build {build} (the plan is for b{expected['build']})", "build", ({"engine_version": build},))
    if differs("n_slots"):
        yield Cause(
            f"-np {printed['n_slots'].shown} (the plan has {expected['n_slots']:,})",
            "n_slots",
            words=("-np", str(printed["n_slots"].value)),
        )
    if differs("kv_unified"):
        unified = printed["kv_unified"].value == "true"
        kinds = ("one pool for all slots", "a private stream for each")
        has, planned = kinds if unified else kinds[::-1]
        yield Cause(
            f"{has}, {'-kvu' if unified else '-no-kvu'} (the plan has {planned})", "kv_unified", words=("-kvu" if unified else "-no-kvu",)
        )
    cells = _cells(printed, expected)
    if cells is not None and cells != expected["n_ctx"]:
        yield Cause(f"-c {cells:,} (the plan has {expected['n_ctx']:,})", "n_ctx", words=("-c", str(cells)))
    for key, flag in (("type_k", "-ctk"), ("type_v", "-ctv"), ("n_batch", "-b"), ("n_ubatch", "-ub")):
        if differs(key):
            value = str(printed[key].value)
            yield Cause(f"{flag} {value} (the plan has {expected[key]})", key, words=(flag, value))
    if differs("flash_attn"):
        state = "on" if printed["flash_attn"].value == "true" else "off"
        yield Cause(f"-fa {state}", "flash_attn", words=("-fa", state))


def _known(build: int) -> str | None:
    first, last = (int(text[1:]) for text in (BUILDS[0], BUILDS[-1]))
    return f"b{build}" if first <= build <= last else None


def _cells(printed: Mapping[str, Printed], expected: Mapping[str, float | str]) -> int | None:
    """What -c amounts to, from the line that says it most directly."""
    if (stated := _whole(printed, "n_ctx")) is not None:
        return stated
    slots = _whole(printed, "n_slots") or int(expected["n_slots"])
    unified = (printed["kv_unified"].value if "kv_unified" in printed else expected["kv_unified"]) == "true"
    streams = 1 if unified else slots
    per_stream = _whole(printed, "n_ctx_seq") or _whole(printed, "n_ctx_slot") or _full_cells(printed)
    return None if per_stream is None else per_stream * streams


def _full_cells(printed: Mapping[str, Printed]) -> int | None:
    """The cells of the largest cache: that of the layers that see everything."""
    cells = [int(figure.value) for key, figure in printed.items() if key.endswith(".cells") and not isinstance(figure.value, str)]
    return max(cells, default=None)


def _guesses(printed: Mapping[str, Printed], values: Mapping[str, Any]) -> Iterator[Cause]:
    """What changes the figures and is printed in no line of a usual paste, the likely first."""
    for key, causes in (
        ("n_ubatch", _micro_batches(values)),
        ("swa_full", [Cause("--swa-full, so that windows keep the whole context", words=("--swa-full",))]),
        ("flash_attn", [Cause("-fa off", words=("-fa", "off"))]),
        ("n_slots", _slots(values["n_slots"])),
        ("type_k", [Cause(f"-ctk {name} -ctv {name}", words=("-ctk", name, "-ctv", name)) for name in ("q8_0", "q4_0", "f16")]),
        ("spec_type", _drafts()),
        ("n_ctx", _contexts(printed, values)),
        ("build", _builds(values["build"])),
    ):
        if key not in printed:
            yield from causes


def _micro_batches(values: Mapping[str, Any]) -> Iterator[Cause]:
    for tokens in (512, 1024, 2048, 4096, 256, 128):
        if tokens != values["n_ubatch"]:
            words = ("-ub", str(tokens), *(("-b", str(tokens)) if tokens > values["n_batch"] else ()))
            yield Cause(f"a micro-batch of {tokens:,} tokens, {' '.join(words)} (the plan has {values['n_ubatch']:,})", words=words)


def _slots(planned: int) -> Iterator[Cause]:
    yield from (Cause(f"-np {slots}", words=("-np", str(slots))) for slots in (1, 2, 4, 8, 16) if slots != planned)
    yield Cause("automatic slots: four on one pool (-np -1)", words=("-np", "-1"))


def _contexts(printed: Mapping[str, Printed], values: Mapping[str, Any]) -> Iterator[Cause]:
    """The cells of a cache whose size alone was printed."""
    size, planned = printed.get("kv.size"), sum(entry["k_bytes"] + entry["v_bytes"] for entry in values["kv"]) / MIB
    if size and not isinstance(size.value, str) and planned:
        cells = max(CELL_PADDING, round(values["n_ctx"] * size.value / planned / CELL_PADDING) * CELL_PADDING)
        yield Cause(f"-c {cells:,} (the plan has {values['n_ctx']:,})", words=("-c", str(cells)))


def _drafts() -> Iterator[Cause]:
    for tokens in range(1, 7):
        words = ("--spec-type", "draft-mtp", "--spec-draft-n-max", str(tokens))
        yield Cause(f"{tokens} token{'s' if tokens > 1 else ''} drafted by the model's own layers ({' '.join(words)})", words=words)


def _builds(planned: int) -> Iterator[Cause]:
    """A build on the other side of what changed the compute buffer most."""
    own = rules_of(str(planned)).reserves_all_logits
    other = next(build for build in reversed(BUILDS) if rules_of(build).reserves_all_logits != own)
    kept = "one token per slot" if own else "a whole micro-batch"
    yield Cause(f"build {other}, which keeps the logits of {kept}", changes=({"engine_version": other},))
