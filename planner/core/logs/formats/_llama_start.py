"""What a llama-server, or anything built on its library, prints of itself while it starts."""

import re
from collections.abc import Callable
from typing import Final

from planner.core.logs.log import Log
from planner.core.logs.record import Notice

_MIB: Final = rb"(\d{1,9}(?:[.,]\d{1,4})?) MiB"
# No line of a start that is wanted is longer; what follows may be a chat template.
_LONGEST: Final = 1000

_BUFFER: Final = re.compile(rb"(\S{1,40}) {1,3}(KV|RS|compute|output) buffer size = {1,12}" + _MIB)
_CACHE: Final = re.compile(
    rb"(llama_\w{1,40}): size = {1,12}"
    + _MIB
    + rb" \( {0,12}(\d{1,12}) cells, {0,12}(\d{1,6}) layers, {0,12}(\d{1,6})(?:/\d{1,6})? seqs\), "
    rb"[KR] \((\w{1,12})\): {0,12}" + _MIB + rb", [VS] \((\w{1,12})\): {0,12}" + _MIB
)
_SELF: Final = re.compile(
    rb"KV self size {0,4}= {1,12}" + _MIB + rb", K \((\w{1,12})\): {0,12}" + _MIB + rb", V \((\w{1,12})\): {0,12}" + _MIB
)
_CREATING: Final = re.compile(rb"creating {1,12}([\w -]{1,40}) KV cache")
_CONTEXT: Final = re.compile(
    rb"llama_(?:context|init_from_model|new_context_with_model): "
    rb"(n_ctx|n_ctx_seq|n_ctx_per_seq|n_batch|n_ubatch|n_seq_max|kv_unified|flash_attn) {0,40}= (\w{1,12})"
)
_KV_SIZE: Final = re.compile(rb"kv_size = (\d{1,12})")
_OFFLOADED: Final = re.compile(rb"offloaded (\d{1,6})/(\d{1,6}) layers to GPU")
_THREADS: Final = re.compile(rb"n_threads ?= ?(\d{1,6})")
_BUILD: Final = re.compile(rb"build(?:_info)?(?: =|[:=])? ?b?(\d{1,9})(?:[- ]\(?([0-9a-f]{6,12})\b|\b)")
_SLOTS: Final = re.compile(rb"\b(n_slots|n_ctx_slot)=(\d{1,12})")
_LAYERS: Final = re.compile(rb"print_(?:info|meta): n_layer {0,40}= (\d{1,6})")
_MODEL: Final = re.compile(rb"loading model '([^'\n]{1,400})'|tensors from ([^\n]{1,400}?) \(version GGUF")
_MOST_CACHES: Final = 64
_MOST_BUFFERS: Final = 256
_RENAMED: Final = {"n_ctx_seq": "n_ctx_slot", "n_ctx_per_seq": "n_ctx_slot"}


class Start:
    """Puts a start's figures into the log's facts, by the names that `Facts` lists."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._values = log.facts.values
        self._compute: dict[bytes, float] = {}
        self._output: dict[bytes, float] = {}
        self._earlier: list[object] = []
        self._buffers = 0.0
        self._kind = ""
        self.readers: tuple[tuple[bytes, Callable[[bytes], None]], ...] = (
            (b" buffer size =", self._buffer),
            (b" cells, ", self._cache),
            (b"KV self size", self._whole_cache),
            (b"KV cache, size", self._creating),
            (b"kv_size = ", self._cells),
            (b": n_ctx", self._context),
            (b": n_batch", self._context),
            (b": n_ubatch", self._context),
            (b": n_seq_max", self._context),
            (b": kv_unified", self._context),
            (b": flash_attn", self._context),
            (b"constructing llama_context", self._another),
            (b"offloaded ", self._offloaded),
            (b"n_threads", self.threads),
            (b": n_layer ", self._layers),
            (b"(version GGUF", self.model),
            (b" n_slots=", self._ik_slots),
            (b" n_ctx_slot=", self._ik_slots),
            (b"lora adapter from", self._adapter),
        )

    def again(self) -> None:
        """The server starts anew: only the last start's facts count."""
        self._values.clear()
        self._compute.clear()
        self._output.clear()
        self._earlier.clear()
        self._buffers, self._kind = 0.0, ""

    def build(self, line: bytes) -> None:
        if (found := _BUILD.search(line, 0, _LONGEST)) and int(found[1]):
            self._values["version"] = f"b{int(found[1])}"
            if found[2]:
                self._values["commit"] = found[2].decode()

    def model(self, line: bytes) -> None:
        if found := _MODEL.search(line, 0, _LONGEST):
            name = (found[1] or found[2]).decode("utf-8", "replace").replace("\\", "/").rstrip("/").rpartition("/")[2]
            self._values.setdefault("model", name)

    def slots(self, slots: int, *, context: int | None, unified: bool | None) -> None:
        self._values["n_slots"] = slots
        if context is not None:
            self._values["n_ctx_slot"] = context
        if unified is not None:
            self._values["kv_unified"] = unified

    def slot_context(self, tokens: int) -> None:
        self._values["n_ctx_slot"] = tokens

    def _buffer(self, line: bytes) -> None:
        if not (found := _BUFFER.search(line, 0, _LONGEST)):
            return
        place, mib = found[1], _number(found[3])
        if len(self._compute) + len(self._output) >= _MOST_BUFFERS:
            return
        if found[2] == b"compute":
            self._compute[place] = mib
            self._values["compute_mib"] = round(sum(self._compute.values()), 2)
        elif found[2] == b"output":
            self._output[place] = mib
            self._values["output_mib"] = round(sum(self._output.values()), 2)
        elif found[2] == b"KV" and "kv" not in self._values:
            self._buffers += mib
            self._values["kv_mib"] = round(self._buffers, 2)

    def _cache(self, line: bytes) -> None:
        if not (found := _CACHE.search(line, 0, _LONGEST)):
            return
        mib = _number(found[2])
        if found[1].endswith(b"recurrent"):
            self._values["recurrent_mib"] = round(_float(self._values.get("recurrent_mib")) + mib, 2)
            return
        self._add_cache(
            kind=self._kind or "full",
            mib=mib,
            cells=int(found[3]),
            layers=int(found[4]),
            streams=int(found[5]),
            k_type=found[6].decode(),
            k_mib=_number(found[7]),
            v_type=found[8].decode(),
            v_mib=_number(found[9]),
        )

    def _whole_cache(self, line: bytes) -> None:
        if found := _SELF.search(line, 0, _LONGEST):
            cells = self._values.get("kv_cells", self._values.get("n_ctx"))
            self._add_cache(
                kind="full",
                mib=_number(found[1]),
                cells=cells,
                layers=self._values.get("n_layer"),
                streams=1,
                k_type=found[2].decode(),
                k_mib=_number(found[3]),
                v_type=found[4].decode(),
                v_mib=_number(found[5]),
            )

    def _another(self, _: bytes) -> None:
        """A draft model has a context of its own; while memory is fitted, the model's own is made once more."""
        caches = self._values.get("kv")
        self._earlier = list(caches) if isinstance(caches, list) else []
        self._values.pop("recurrent_mib", None)

    def _add_cache(self, **cache: object) -> None:
        if cache in self._earlier:
            self._earlier.remove(cache)
            return
        caches = self._values.setdefault("kv", [])
        if isinstance(caches, list) and len(caches) < _MOST_CACHES:
            caches.append(cache)
            self._values["kv_mib"] = round(sum(_float(one["mib"]) for one in caches), 2)

    def _creating(self, line: bytes) -> None:
        if found := _CREATING.search(line, 0, _LONGEST):
            words = found[1].strip().decode()
            self._kind = {"non-SWA": "full", "SWA": "sliding window"}.get(words, words)

    def _cells(self, line: bytes) -> None:
        if found := _KV_SIZE.search(line, 0, _LONGEST):
            self._values["kv_cells"] = int(found[1])

    def _context(self, line: bytes) -> None:
        if not (found := _CONTEXT.search(line, 0, _LONGEST)):
            return
        name, said = found[1].decode(), found[2]
        value: object = int(said) if said.isdigit() and name.startswith("n_") else {b"true": True, b"false": False}.get(said, said.decode())
        # The first context is the model's, a second one a draft model's.
        self._values.setdefault(_RENAMED.get(name, name), value)

    def _offloaded(self, line: bytes) -> None:
        if found := _OFFLOADED.search(line, 0, _LONGEST):
            self._values.setdefault("layers_on_gpu", int(found[1]))
            self._values.setdefault("layers", int(found[2]))
            if int(found[1]) < int(found[2]):
                self._log.put(Notice(code="layers_on_cpu", line=self._log.line, value=int(found[2]) - int(found[1])))

    def threads(self, line: bytes) -> None:
        if found := _THREADS.search(line, 0, _LONGEST):
            self._values.setdefault("threads", int(found[1]))

    def _layers(self, line: bytes) -> None:
        if found := _LAYERS.search(line, 0, _LONGEST):
            self._values.setdefault("n_layer", int(found[1]))

    def _ik_slots(self, line: bytes) -> None:
        for found in _SLOTS.finditer(line, 0, _LONGEST):
            self._values[found[1].decode()] = int(found[2])

    def _adapter(self, line: bytes) -> None:
        if b"loading lora adapter from" in line:
            self._values["adapters"] = int(_float(self._values.get("adapters"))) + 1


def _number(text: bytes) -> float:
    return float(text.replace(b",", b"."))


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
