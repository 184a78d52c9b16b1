"""vLLM's start-up lines: the figures in them, the plan's own for each, and what may make the two differ.

Sources of the lines: v1/core/kv_cache_utils.py, v1/worker/gpu_worker.py and v1/engine/core.py of the releases in `versions`; the older
spellings are those of 0.6 to 0.9 as people still paste them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from planner.core.engines.contract import Base, Cause, Expectation, Printed
from planner.core.engines.start_up_text import NUMBER, WHOLE, after_last, count, decimal, number
from planner.core.engines.vllm.versions import VERSIONS, rules_of
from planner.core.errors import InputError
from planner.core.units import GIB, trimmed

_START: Final = re.compile(r"non-default args: ")
_GIB: Final = frozenset({"cache_memory", "weights", "graphs", "needed"})
_TOKENS: Final = frozenset({"kv_cache_tokens", "max_model_len", "longest", "block_size", "max_num_batched_tokens"})
# Loaded weights come with buffers that are in no file.
_WEIGHTS_TOLERANCE: Final = 0.01

# key, name, unit, pattern. The first that is found counts; a pattern with a GiB figure may be printed once per rank.
_FIGURES: Final[tuple[tuple[str, str, str, re.Pattern[str]], ...]] = tuple(
    (key, name, unit, re.compile(pattern))
    for key, name, unit, pattern in (
        ("cache_memory", "memory for the cache", "GiB", rf"Available KV cache memory: {NUMBER} ?GiB"),
        ("cache_memory", "memory for the cache", "GiB", rf"reserved for KV Cache is {NUMBER} ?GiB"),
        ("cache_memory", "memory for the cache", "GiB", rf"\bkv_cache_size={NUMBER} ?GiB"),
        ("cache_memory", "memory for the cache", "GiB", rf"the available KV cache memory \({NUMBER} ?GiB"),
        ("weights", "weights", "GiB", rf"(?:Model loading|Loading model weights) took {NUMBER} ?Gi?B"),
        ("graphs", "CUDA graphs", "GiB", rf"Graph capturing finished in .{{1,20}}took {NUMBER} ?GiB"),
        ("needed", "cache of one request", "GiB", rf"{NUMBER} ?GiB KV cache is needed"),
        ("longest", "longest request that fits", "tokens", rf"estimated maximum model length is {WHOLE}"),
        ("longest", "longest request that fits", "tokens", rf"tokens that can be stored in KV cache \({WHOLE}\)"),
        ("kv_cache_tokens", "cache size", "tokens", rf"KV cache size: {WHOLE} tokens"),
        ("kv_cache_tokens", "cache size", "tokens", rf'kv_cache_size_tokens="{WHOLE}"'),
        ("max_concurrency", "requests at full length", "×", rf"Maximum concurrency for [\d,]{{1,20}} tokens per request: {NUMBER}x"),
        ("num_blocks", "blocks", "", rf"# (?:GPU|cuda|CUDA) blocks: {WHOLE}"),
        ("num_blocks", "blocks", "", rf'num_gpu_blocks="{WHOLE}"'),
        ("block_size", "block size", "tokens", rf"Setting attention block size to {WHOLE} tokens"),
        ("block_size", "block size", "tokens", rf'cache_config_info.{{0,200}}\bblock_size="{WHOLE}"'),
        ("max_model_len", "longest request", "tokens", rf"Maximum concurrency for {WHOLE} tokens per request"),
        ("max_model_len", "longest request", "tokens", rf"max seq len \({WHOLE}\)"),
        ("max_model_len", "longest request", "tokens", rf"\bmax_seq_len={WHOLE}\b"),
    )
)
_VERSION: Final = re.compile(r"(?:LLM engine \(v|vLLM API server version |█ +version |\bvLLM )(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
_REFUSED: Final = re.compile(
    r"No available memory for the cache blocks|KV cache is needed, which is larger|is larger than the maximum number of tokens"
)
# What the configuration line, the line of non-default arguments or the metric says a server runs with: `name=value`, `'name': value`, `name="value"`.
_SETTINGS: Final = {
    "tensor_parallel_size": "--tensor-parallel-size",
    "pipeline_parallel_size": "--pipeline-parallel-size",
    "decode_context_parallel_size": "--decode-context-parallel-size",
    "kv_cache_dtype": "--kv-cache-dtype",
    "cache_dtype": "--kv-cache-dtype",
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "enable_prefix_caching": "--enable-prefix-caching",
}
_SETTING: Final = re.compile(rf"\b({'|'.join(_SETTINGS)})(?:=|'?: )[\"']?([A-Za-z0-9_]{{1,30}}(?:\.\d{{1,6}})?)")
_NAMES: Final = {"cache_dtype": "kv_cache_dtype", "fp8_e4m3": "fp8", "True": "on", "False": "off", "true": "on", "false": "off"}


class VllmStartUp:
    """See `engines.contract.StartUp` for what each member answers."""

    paste = (
        "Paste the lines “Available KV cache memory: …”, “GPU KV cache size: …” and “Maximum concurrency …”, or the error that ends a start: "
        "journalctl -u vllm | grep -E 'KV cache|Maximum concurrency|took'"
    )
    measured: Mapping[str, str] = MappingProxyType(
        {
            "cache_memory": "Look for something else on the card, another share of it, or other weights than planned.",
            "weights": "Look for other weights than planned, or another split of them over the cards.",
            "graphs": "Look for other sizes that are captured (--max-cudagraph-capture-size).",
        }
    )
    pool: str | None = "cache_memory"

    def printed(self, lines: Sequence[str]) -> tuple[Printed, ...]:
        found: dict[str, Printed] = {}
        lines = after_last(tuple(lines), _START)
        for key, name, unit, pattern in _FIGURES:
            texts = [match[1] for line in lines if (match := pattern.search(line))]
            if texts and key not in found:
                found[key] = _figure(key, name, unit, texts)
        for key, value in _settings(lines):
            found.setdefault(key, Printed(key, _SETTINGS[key], value, value))
        version = next((match[1] for line in lines if (match := _VERSION.search(line))), None)
        if version:
            found["version"] = Printed("version", "version", _known(version) or version, version)
        if any(_REFUSED.search(line) for line in lines):
            found["start"] = Printed("start", "start", "refused", "refuses to start")
        return tuple(found.values())

    def expected(self, expectation: Expectation) -> Mapping[str, float | str]:
        values = expectation.values
        return {
            "version": values["version"],
            "start": "starts" if values["starts"] else "refused",
            "cache_memory": values["cache_memory"] / GIB,
            "weights": values["weights_bytes"] / GIB,
            "graphs": values["graph_bytes"] / GIB,
            "needed": values["needed_bytes"] / GIB,
            "longest": values["longest_request"],
            **{key: values[key] for key in ("max_model_len", "kv_cache_tokens", "max_concurrency", "num_blocks", "block_size")},
            **{key: _named(values[key]) for key in _SETTINGS if key in values},
        }

    def shown(self, key: str, value: float | str) -> str:
        if isinstance(value, str):
            return {"refused": "refuses to start"}.get(value, value)
        if key in _GIB:
            return f"{value:,.2f} GiB"
        if key == "max_concurrency":
            return f"{value:,.2f} ×"
        return f"{value:,.0f}{' tokens' if key in _TOKENS else ''}"

    def ranges(self, expectation: Expectation) -> Mapping[str, tuple[float, float]]:
        estimates = expectation.values["estimates"]
        names = {"cache_memory": "cache_memory", "weights": "weights_bytes", "graphs": "graph_bytes"}
        return {key: (estimates[name][0] / GIB, estimates[name][1] / GIB) for key, name in names.items()}

    def base(self, expectation: Expectation) -> Base:  # noqa: ARG002 (every engine is asked with it)
        """The plan is one already whose command line can be added to."""
        return Base({})

    def causes(self, printed: Mapping[str, Printed], expectation: Expectation) -> Iterator[Cause]:
        yield from _stated(printed, self.expected(expectation))
        pools = list(_memory(printed, expectation.values)) if "cache_memory" not in printed else []
        low, high = expectation.values["estimates"]["cache_memory"]
        likely = [cause for cause in pools if low <= cause.changes[0]["cache_memory"] <= high]
        yield from (*likely, *_guesses(printed, expectation.values), *(cause for cause in pools if cause not in likely))


def _figure(key: str, name: str, unit: str, texts: list[str]) -> Printed:
    if unit == "GiB":
        # Every rank prints its own, and the least counts.
        least = min(texts, key=number)
        tolerance = _WEIGHTS_TOLERANCE * number(least) if key == "weights" else None
        return decimal(key, name, least, unit, tolerance=tolerance)
    if key == "max_concurrency":
        return decimal(key, name, texts[-1], unit)
    return count(key, name, texts[-1], unit)


def _named(value: Any) -> str:
    text = str(value)
    return _NAMES.get(text, text)


def _settings(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(key, value) of what the server says it runs with; “auto” says nothing."""
    for line in lines:
        for name, value in _SETTING.findall(line):
            if value not in {"auto", "None"}:
                yield _NAMES.get(name, name), _named(value)


def _stated(printed: Mapping[str, Printed], expected: Mapping[str, float | str]) -> Iterator[Cause]:
    if "version" in printed and (known := _known(str(printed["version"].value))) and known != expected["version"]:
        yield Cause(f"vLLM {known} (the plan is for {expected['version']})", "version", ({"engine_version": known},))
    length = printed.get("max_model_len")
    if length and length.value != expected["max_model_len"]:
        yield Cause(
            f"--max-model-len {length.value:,} (the plan has {expected['max_model_len']:,})",
            "max_model_len",
            words=("--max-model-len", str(length.value)),
        )
    for key, flag in _SETTINGS.items():
        own = printed.get(key)
        if own and key in expected and not _same(str(own.value), str(expected[key])):
            yield _setting(key, flag, str(own.value), str(expected[key]))
    pool = printed.get("cache_memory")
    if pool and isinstance(pool.value, float) and abs(pool.value - float(expected["cache_memory"])) > pool.tolerance and pool.value > 0:
        ends = tuple({"cache_memory": max(1, round((pool.value + sign * pool.tolerance) * GIB))} for sign in (-1, 1))
        yield Cause(f"{pool.shown} for the cache (the plan has {expected['cache_memory']:,.2f} GiB)", "cache_memory", ends)


def _known(version: str) -> str | None:
    """The release as the rules write it, None for one that is not known here."""
    try:
        return ".".join(map(str, rules_of(version).release))
    except InputError:
        return None


def _same(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def _setting(key: str, flag: str, value: str, planned: str) -> Cause:
    because = f"{flag} {value} (the plan has {planned})"
    if key == "enable_prefix_caching":
        return Cause(because, key, words=(flag if value == "on" else "--no-enable-prefix-caching",))
    if key == "tensor_parallel_size" and value.isdecimal():
        return Cause(because, key, ({"tensor_parallel": int(value[:3]), "count": int(value[:3])},))
    return Cause(because, key, words=(flag, value))


def _guesses(printed: Mapping[str, Printed], values: Mapping[str, Any]) -> Iterator[Cause]:
    """What changes the figures and is printed in no line of a usual paste, the likely first."""
    caching = "--no-enable-prefix-caching" if values["enable_prefix_caching"] else "--enable-prefix-caching"
    for key, causes in (
        ("version", _versions(values)),
        ("kv_cache_dtype", _flagged("--kv-cache-dtype", ("fp8", "auto", "int8_per_token_head", "nvfp4"))),
        ("enable_prefix_caching", _flagged(caching)),
        ("max_num_batched_tokens", _flagged("--max-num-batched-tokens", (2048, 4096, 8192, 16_384))),
        ("tensor_parallel_size", _ranks(values["tensor_parallel_size"])),
        ("speculative_config", _drafts()),
        ("block_size", _flagged("--block-size", (32, 64, 128))),
        ("disable_hybrid_kv_cache_manager", _flagged("--disable-hybrid-kv-cache-manager")),
    ):
        if key not in printed:
            yield from causes


def _flagged(flag: str, values: Sequence[str | int] = ()) -> Iterator[Cause]:
    if not values:
        yield Cause(flag, words=(flag,))
    yield from (Cause(f"{flag} {value}", words=(flag, str(value))) for value in values)


def _ranks(planned: int) -> Iterator[Cause]:
    yield from (
        Cause(f"--tensor-parallel-size {size}", changes=({"tensor_parallel": size, "count": size},))
        for size in (1, 2, 4, 8)
        if size != planned
    )


def _drafts() -> Iterator[Cause]:
    for tokens in range(1, 6):
        config = f'{{"method":"mtp","num_speculative_tokens":{tokens}}}'
        because = f"speculative decoding of {tokens} token{'s' if tokens > 1 else ''} by the model's own draft layers"
        yield Cause(because, words=("--speculative-config", config))


def _versions(values: Mapping[str, Any]) -> Iterator[Cause]:
    """The releases on the other side of each change, the nearest first."""
    own = rules_of(values["version"]).release
    others = [version for version in VERSIONS if rules_of(version).release != own]
    for version in sorted(others, key=lambda each: abs(VERSIONS.index(each) - _place(own))):
        meaning = (
            ", whose size line counts requests × their length"
            if rules_of(version).size_line_counts_requests
            else ", whose size line counts blocks × block size"
        )
        yield Cause(f"vLLM {version}{meaning}", changes=({"engine_version": version},))


def _place(release: tuple[int, int, int]) -> int:
    return sum(rules_of(version).release <= release for version in VERSIONS) - 1


def _memory(printed: Mapping[str, Printed], values: Mapping[str, Any]) -> Iterator[Cause]:
    """The pool that would print these figures: as many blocks as they say, and one beside, for they are rounded."""
    told = next((printed[key] for key in ("num_blocks", "kv_cache_tokens", "max_concurrency") if key in printed), None)
    if told is None or not isinstance(told.value, (int, float)) or not values[told.key]:
        return
    blocks = round(values["num_blocks"] * float(told.value) / values[told.key])
    for near in dict.fromkeys(max(1, blocks + step) for step in (0, 1, -1)):
        size = near * values["bytes_per_block"]
        low, high = (trimmed(end / GIB) for end in values["estimates"]["cache_memory"])
        yield Cause(
            f"{trimmed(size / GIB)} GiB for the cache, which the plan estimates at {trimmed(values['cache_memory'] / GIB)} GiB ({low} to {high})",
            changes=({"cache_memory": size},),
        )
