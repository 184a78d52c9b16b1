"""What vLLM prints of itself while it starts, and how it says that it cannot."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from planner.core.logs.record import Facts

_WHOLE: Final = rb"(\d{1,3}(?:,\d{3}){1,4}|\d{1,15})"
_DECIMAL: Final = rb"(\d{1,9}(?:\.\d{1,6})?)"

_SIZE: Final = re.compile(rb"KV cache size: " + _WHOLE + rb" tokens")
_CONCURRENCY: Final = re.compile(rb"Maximum concurrency for " + _WHOLE + rb" tokens per request: " + _DECIMAL + rb"x")
_AVAILABLE: Final = re.compile(rb"Available KV cache memory: " + _DECIMAL + rb" GiB")
_BLOCKS: Final = re.compile(rb" blocks: " + _WHOLE)
_OVERRIDE: Final = re.compile(rb"num_gpu_blocks_override=(\d{1,12})")
_LENGTH: Final = re.compile(rb"Using max model len (\d{1,12})")
_AUTO_LENGTH: Final = re.compile(
    rb"Auto-fit max_model_len: (?:reduced from \d{1,12} to|full model context length) (\d{1,12})(?: to fit| fits) in"
)
_BATCH: Final = re.compile(rb"max_num_batched_tokens=(\d{1,12})")
_ATTENTION_BLOCK: Final = re.compile(rb"Setting attention block size to (\d{1,9}) tokens")
_WEIGHTS: Final = re.compile(rb"took " + _DECIMAL + rb" G(?:i)?B")
_PROFILED: Final = re.compile(rb"model weights take " + _DECIMAL + rb"GiB; [^\n]{1,300}KV Cache is (-?\d{1,9}(?:\.\d{1,6})?)GiB")
_VERSION: Final = re.compile(rb"version (\d[\w.+-]{0,60})")
_ENGINE: Final = re.compile(rb"LLM engine \(v(\d[\w.+-]{0,60})\)")
_SETTING: Final = re.compile(
    rb"\b(model|dtype|max_seq_len|tensor_parallel_size|pipeline_parallel_size|data_parallel_size|quantization|kv_cache_dtype|device_config"
    rb"|enable_prefix_caching|enable_chunked_prefill|enforce_eager)=(?:'([^'\n]{0,500})'|([\w.-]{1,60}))"
)
# Where a model comes out of the Hub's cache its path names it; any other path is its owner's business but for its end.
_HUB_PATH: Final = re.compile(r"models--([\w.-]{1,100}?)--([\w.-]{1,100})")

_TOO_SMALL: Final = re.compile(
    rb"max seq len \(" + _WHOLE + rb"\), \(" + _DECIMAL + rb" GiB KV cache is needed, which is larger than the available KV cache memory \("
    + _DECIMAL + rb" GiB\)(?:\. Based on the available memory, the estimated maximum model length is (\d{1,12}))?"
)  # fmt: skip
_TOO_SMALL_OLD: Final = re.compile(
    rb"max seq len \(" + _WHOLE + rb"\) is larger than the maximum number of tokens that can be stored in KV cache \(" + _WHOLE + rb"\)"
)

_NAMESPACE: Final = re.compile(
    rb"\b(max_model_len|max_num_seqs|max_num_batched_tokens|gpu_memory_utilization|swap_space|block_size|enable_prefix_caching)"
    rb"=(\d{1,12}(?:\.\d{1,6})?|True|False)[,)]"
)

# An entry of the dictionary of arguments: its depth is counted by the brackets between.
_TOKEN: Final = re.compile(rb"'(?:[^'\\\n]|\\.){0,500}'|\"(?:[^\"\\\n]|\\.){0,500}\"|[^\s'\"{}\[\](),:]{1,500}|[{}\[\](),:]")
_ARGUMENT_NAME: Final = re.compile(rb"'([a-z][a-z0-9_]{1,60})'")
_PLAIN_WORD: Final = re.compile(rb"'([A-Za-z][\w.-]{0,40})'")
_MAX_ARGUMENTS: Final = 100
_LONGEST_ARGUMENTS: Final = 16_384
# Names, keys and places, which are nobody else's business.
_PRIVATE: Final = frozenset({"model", "model_tag", "tokenizer", "served_model_name", "host", "port", "root_path", "revision", "uds"})
_PRIVATE_ENDS: Final = ("_key", "_token", "_path", "_dir", "_file", "_url", "_host")

Scalar = int | float | bool | str


def whole(digits: bytes) -> int:
    return int(digits.replace(b",", b""))


def model_name(printed: str) -> str:
    """As the Hub names it, or the end of a path."""
    if found := _HUB_PATH.search(printed):
        return f"{found[1]}/{found[2]}"
    return printed.rstrip("/").rpartition("/")[2] if printed.startswith(("/", "~", ".")) else printed


def arguments(block: bytes, begin: int, end: int) -> Iterator[tuple[str, Scalar]]:
    """The numbers, switches and plain words of the printed dictionary, not those of dictionaries within it."""
    tokens = list(islice(_flat(block, begin, min(end, begin + _LONGEST_ARGUMENTS)), 4 * _MAX_ARGUMENTS))
    for key, colon, printed in zip(tokens, tokens[1:], tokens[2:], strict=False):
        found = _ARGUMENT_NAME.fullmatch(key)
        if found and colon == b":" and (value := _scalar(printed)) is not None:
            name = found[1].decode()
            if name not in _PRIVATE and not name.endswith(_PRIVATE_ENDS):
                yield name, value


def _flat(block: bytes, begin: int, end: int) -> Iterator[bytes]:
    """The tokens of the outermost bracket, without what stands in inner ones."""
    depth = 0
    for found in _TOKEN.finditer(block, begin, end):
        token = found.group()
        if token in {b"{", b"[", b"("}:
            depth += 1
        elif token in {b"}", b"]", b")"}:
            depth -= 1
            if depth == 0:
                return
        elif depth == 1:
            yield token


def _scalar(token: bytes) -> Scalar | None:
    if token in (b"True", b"False"):
        return token == b"True"
    if re.fullmatch(rb"-?\d{1,15}", token):
        return int(token)
    if re.fullmatch(rb"-?\d{1,15}\.\d{1,15}", token):
        return float(token)
    word = _PLAIN_WORD.fullmatch(token)
    return word[1].decode() if word else None


def read_version(block: bytes, at: int, end: int, facts: Facts) -> bool:
    found = _VERSION.search(block, at, end)
    if found:
        facts.values["version"] = found[1].decode()
    return found is not None


def read_model(block: bytes, at: int, end: int, facts: Facts) -> bool:
    words = block[at:end].decode("utf-8", "replace").split()
    if words[:1] == ["model"] and len(words) == 2:
        facts.values["model"] = model_name(words[1])
    return len(words) == 2


def read_arguments(block: bytes, at: int, end: int, facts: Facts) -> bool:
    given = dict(arguments(block, at, end))
    if (facts_length := given.pop("max_model_len", None)) is not None and facts_length != -1:
        facts.values["max_model_len"] = facts_length
    facts.values.update(given)
    return True


def read_namespace(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """All arguments, as releases before 0.8 print them."""
    for found in _NAMESPACE.finditer(block, at, end):
        facts.values[found[1].decode()] = _scalar(found[2])
    return True


def read_engine(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """The line with the whole configuration, which every engine core prints."""
    found = _ENGINE.search(block, at, end)
    if not found:
        return False
    facts.values["version"] = found[1].decode()
    facts.format = "V1" if block.endswith(b"V1", at - 2, at) else "V0"
    names = {"max_seq_len": "max_model_len", "device_config": "device"}
    seen: set[str] = set()
    for setting in _SETTING.finditer(block, at, end):
        name = names.get(setting[1].decode(), setting[1].decode())
        printed = (setting[2] if setting[2] is not None else setting[3]).decode("utf-8", "replace")
        if name in seen or printed == "None":
            continue
        seen.add(name)
        facts.values[name] = model_name(printed) if name == "model" else _typed(printed)
    return True


def _typed(printed: str) -> Scalar:
    if printed in {"True", "False"}:
        return printed == "True"
    return int(printed) if re.fullmatch(r"\d{1,15}", printed) else printed.removeprefix("torch.")


def read_size(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """The cache in tokens and how many full requests that is: one line since 0.28, two before."""
    size, concurrency = _SIZE.search(block, at, end), _CONCURRENCY.search(block, at, end)
    if size:
        facts.values["kv_cache_tokens"] = whole(size[1])
    if concurrency:
        facts.values["max_model_len"] = whole(concurrency[1])
        facts.values["max_concurrency"] = float(concurrency[2])
    return bool(size or concurrency)


def read_profile(block: bytes, at: int, end: int, facts: Facts) -> bool:
    """Memory as releases before 0.9 (V0) sum it up. What is left for the cache may be less than nothing."""
    if found := _PROFILED.search(block, at, end):
        facts.values |= {"weights_gib": float(found[1]), "available_kv_gib": float(found[2])}
    return found is not None


def _reader(name: str, pattern: re.Pattern[bytes], kind: Callable[[bytes], Scalar]) -> "Reader":
    def read(block: bytes, at: int, end: int, facts: Facts) -> bool:
        found = pattern.search(block, at, end)
        if found:
            facts.values[name] = kind(found[1])
        return found is not None

    return read


# Reads the line whose anchor stands at `at` and ends at `end`; False where it is not understood.
Reader = Callable[[bytes, int, int, Facts], bool]

READERS: Final[dict[bytes, Reader]] = {
    "█  version ".encode(): read_version,
    "█  model ".encode(): lambda block, at, end, facts: read_model(block, at + len("█  ".encode()), end, facts),
    b"vLLM API server version ": read_version,
    b"non-default args: ": read_arguments,
    b"args: Namespace(": read_namespace,
    b" LLM engine (v": read_engine,
    b"Using max model len ": _reader("max_model_len", _LENGTH, int),
    b"Auto-fit max_model_len: ": _reader("max_model_len", _AUTO_LENGTH, int),
    b"Chunked prefill is enabled with ": _reader("max_num_batched_tokens", _BATCH, int),
    b"Setting attention block size to ": _reader("block_size", _ATTENTION_BLOCK, int),
    b"odel loading took ": _reader("weights_gib", _WEIGHTS, float),
    b"Loading model weights took ": _reader("weights_gib", _WEIGHTS, float),
    b"model weights take ": read_profile,
    b"Available KV cache memory: ": _reader("available_kv_gib", _AVAILABLE, float),
    b" blocks: ": _reader("num_blocks", _BLOCKS, whole),
    b"num_gpu_blocks_override=": _reader("num_blocks", _OVERRIDE, int),
    b" KV cache size: ": read_size,
    b"Maximum concurrency for ": read_size,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that ends a start: a word for it, what must stand at its anchor for it to be one, and what else it says."""

    word: str
    form: re.Pattern[bytes] | None = None
    figure: Callable[[re.Match[bytes], Facts], float | None] | None = None


def _longest_that_fits(found: re.Match[bytes], facts: Facts) -> float | None:
    facts.values |= {"needed_kv_gib": float(found[2]), "available_kv_gib": float(found[3])}
    return float(found[4]) if found[4] else None


# By their anchors. The figure is the longest context that would fit.
FAILURES: Final[dict[bytes, Failure]] = {
    b" GiB KV cache is needed": Failure("cache_too_small", _TOO_SMALL, _longest_that_fits),
    b"is larger than the maximum number of tokens": Failure("cache_too_small", _TOO_SMALL_OLD, lambda found, _: float(whole(found[2]))),
    b"No available memory for the cache blocks": Failure("no_memory_for_cache"),
    b"vllm: error: ": Failure("unknown_argument"),
    b" validation error": Failure("invalid_argument", re.compile(rb" validation errors? for \w{0,60}(?:Config|Args)\b")),
    b"Worker failed with error ": Failure("worker_failed"),
    b"ngine core initialization failed": Failure("engine_failed"),
}
