"""llama-server's own lines, from b4748 to b11549, and those of ik_llama.cpp.

Source of the formats: llama.cpp tools/server/server-context.cpp (SLT_ and SRV_ lines), common/log.cpp (what stands before them),
read at b4748, b6301, b7079, b7827, b9093, b9247, b9873, b10435, b11434 and b11549.
"""

import re
from collections.abc import Callable
from typing import Final

from planner.core.logs.envelope import PREFIX
from planner.core.logs.formats import Rule
from planner.core.logs.formats._llama_clock import Clock
from planner.core.logs.formats._llama_ik import SPEAKS_IK, IkLines
from planner.core.logs.formats._llama_start import Start
from planner.core.logs.formats._llama_tasks import Running, Tasks
from planner.core.logs.log import Log
from planner.core.logs.record import Notice, SlotChoice

_MS: Final = rb"(\d{1,12}[.,]\d{1,3}|nan|-nan|inf) ms / {1,9}(\d{1,9})"

# Each alternative ends with a group of its own: `lastindex` says which it was. The most frequent ones stand first.
_SLOT: Final = re.compile(
    rb"\| task (-?\d{1,10}) \|(?: (?:"
    rb"n_(?:gen|decoded) = {1,9}(\d{1,9}), tg"  # 2
    rb"|prompt processing, n_tokens = {1,9}(\d{1,9}), "  # 3
    rb"|prompt eval time = {1,12}" + _MS + rb" tokens"  # 4, 5
    rb"| {6,8}eval time = {1,12}" + _MS + rb" tokens"  # 6, 7
    rb"|( {3,7}(?:total time|graphs reused) =)"  # 8
    rb"|stop processing: n_(?:tokens|past) = (\d{1,9}), truncated = (\d)"  # 9, 10
    rb"|(processing task)"  # 11
    rb"|selected slot by (?:(?:lcs|LCP) similarity, (?:f_)?sim(?:_best|ilarity)? = (\d\.\d{1,6})|(\w{1,3})\b)"  # 12, 13
    rb"|(?:(?:cached )?n_tokens = (\d{1,9}), memory_seq_rm|kv cache rm \[(\d{1,9}), end)"  # 14, 15
    rb"|new prompt, n_ctx_slot = \d{1,9}, n_keep = -?\d{1,9}, (?:task\.n_tokens|n_prompt_tokens) = (\d{1,9})"  # 16
    rb"|draft acceptance (?:rate )?= [\d.,]{1,9} \( {0,9}(\d{1,9}) accepted / {1,9}(\d{1,9}) generated"  # 17, 18
    rb"|(slot context shift|forcing full prompt re-processing|erasing old context checkpoint|need to evaluate at least 1 token)"  # 19
    rb"|input truncated, n_ctx = \d{1,9}, n_keep = -?\d{1,9}, n_left = -?\d{1,9}, n_prompt_tokens = (\d{1,9})"  # 20
    rb"|new slot,? n_ctx(?:_slot)? = (\d{1,9})"  # 21
    rb"|(sampler |init sampler|prompt (?:processing )?(?:progress|done)|n_past was set| - (?:skipping|checking)|saving idle slot"
    rb"|launching slot|created context checkpoint|restored context checkpoint|erased invalidated|\d{1,9} tokens since last checkpoint|speculative decoding"
    rb"|n_gen = \d|n_decoded = \d|slot decode token|stopped by|trying to reuse|after context reuse|main/do_checkpoint|accepted )"  # 22
    rb")|( {0,4}(?:\n|\\n)))"  # 23: the summary follows on lines of its own
)
_GENERATED, _READ, _PROMPT_TIME, _EVAL_TIME, _SILENT, _RELEASED, _LAUNCHED = 2, 3, 5, 7, 8, 10, 11
_SIMILAR, _CHOSEN, _PASS, _OLD_PASS, _NEW_PROMPT, _DRAFTED, _TROUBLE, _TRUNCATED, _NEW_SLOT, _KNOWN, _HEADER = (
    12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23,
)  # fmt: skip
_TROUBLES: Final = {
    b"slot context shift": "context_shift",
    b"forcing full prompt re-processing": "full_reprocess",
    b"erasing old context checkpoint": "checkpoint_erased",
    b"need to evaluate at least 1 token": "whole_prompt_cached",
}
_CHOICES: Final[dict[bytes, SlotChoice]] = {b"LRU": "lru", b"lru": "lru", b"id": "id"}

_SRV: Final = re.compile(
    rb"srv +[\w()]{1,16}: +(?:[\w()]{1,24}: +)?(?:"
    rb"task id = (\d{1,10}), error: ([^\n]{0,120})"  # 1, 2
    rb"|cancel task, id_task = (\d{1,10})"  # 3
    rb"|(?:done )?request: \S{1,12} \S{1,400} \S{1,64} (\d{3})\b"  # 4
    rb"|initializing(?: slots)?, n_slots = (\d{1,6})(?:, n_ctx_slot = (\d{1,9}), kv_unified = '(\w{1,5})')?()"  # 5 to 8
    rb"|(loading model '|loading model\b|initializing \.\.\.)"  # 9
    rb"|purging slot \d{1,6} with (\d{1,9}) tokens"  # 10
    rb"|(failed to find free space in the KV cache|failed to decode the batch: KV cache is full)"  # 11
    rb"|- (?:making room for prompt cache|cache (?:size|token) limit reached|prompt state size)[^\n(]{0,60}[( ](?:size = )?(\d{1,9}\.\d{1,3}) MiB"  # 12
    rb"|prompt cache is enabled, size limit: (\d{1,9}) MiB"  # 13
    rb"|build_info: (b?\d)"  # 14
    rb"|(all slots are idle|no tokens to decode|updating prompt cache|prompt cache|use `--cache-ram|for more info|- |init: |cleaning up"
    rb"|model loaded|listening|server is listening|starting the main loop|local path|using \d|security:|context checkpoints|idle slots"
    rb"|preserve_reasoning|thinking|Chat format|chat format|conv_id|all results received|eval_llama|reasoning budget|all tasks already|clearing cache|no slot is available|speculative|--cache-idle"
    rb"|posting NEXT|decoding, decline|n_batch \(effective|http: |Context size has been exceeded|POST|GET|chat template)"  # 15
    rb")"
)
_ERROR, _CANCEL, _REQUEST, _SLOTS, _START, _PURGED, _FULL, _CACHE_RAM, _CACHE_LIMIT, _BUILD, _SRV_KNOWN = (
    2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15,
)  # fmt: skip
_ASKED: Final = re.compile(rb"request \((\d{1,9}) tokens\)")
_BARE: Final = re.compile(rb"(?:prompt eval time = {1,12}" + _MS + rb"|eval time = {1,12}" + _MS + rb") tokens")
_BARE_DRAFT: Final = re.compile(rb"draft acceptance rate = [\d.,]{1,9} \( {0,9}(\d{1,9}) accepted / {1,9}(\d{1,9}) generated")

_SRV_HEADER: Final = re.compile(rb"srv {1,14}[\w()]{1,16}: ")
_BUILD_LINE: Final = re.compile(rb"build(?:_info)?: b?\d|build info \|")
# What the lines seen say about the build that wrote them.
_ONE_LINE, _SEVERAL_LINES, _RELEASE_FIRST, _N_GEN = 1, 2, 4, 8

_SURE: Final = re.compile(
    rb"slot +[\w()]{3,16}: id +\d{1,4} \| task |srv +[\w()]{3,16}: |\nllama_(?:model_loader|context|kv_cache\w{0,20}): |\nprint_info: |\nllm_load_"
    + SPEAKS_IK
)
_LIBRARY: Final = (
    rb"llama_[a-z_]{2,48}|ggml_[a-z_]{2,48}|common_[a-z_]{2,48}|llm_load_[a-z_]{2,32}|print_info|load|load_tensors|sched_reserve|graph_reserve"
    rb"|create_tensor|resolve_fused_ops|init|main|start|build|build_info|system info|system_info|set_[a-z_]{2,32}|adapters_[a-z_]{2,32}"
    rb"|find_slot|decode|encode|init_batch|init_tokenizer|done_getting_tensors|get_[a-z_]{2,32}|server_[a-z_]{2,32}"
)


class LlamaServer:
    """The reading of one log: handlers of lines, and what they have to remember between lines."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._clock = Clock(log.axis)
        self._tasks = Tasks(log)
        self._start = Start(log)
        self._ik = IkLines(log, self._tasks, self._start)
        self._summary_of: bytes | None = None  # whose summary follows on bare lines
        self._waiting: bytes | None = None  # released, and its summary may follow
        self._starting = False
        self._markers: set[bytes] = set()
        self._forms = 0
        self._full_line = -1
        self._served: tuple[Rule, ...] = (
            Rule(b"| task ", self._slot),
            Rule(b"srv ", self._srv),
            Rule(b"eval time =", self._bare_time),
            Rule(b"draft acceptance rate", self._bare_draft),
            Rule(b" id_task=", self._ik.task),
            Rule(b"build", self._build),
            Rule(b"out of memory", self._out_of_memory),
        )
        self._all: tuple[Rule, ...] = (
            *self._served,
            *(Rule(anchor, self._fact(reader)) for anchor, reader in self._start.readers),
        )
        self.rules = self._all
        self._rare: dict[int, Callable[[re.Match[bytes], Running, float | None], None]] = {
            _PROMPT_TIME: self._prompt_time,
            _EVAL_TIME: self._eval_time,
            _RELEASED: self._released,
            _PASS: self._pass,
            _OLD_PASS: self._pass,
            _NEW_PROMPT: self._new_prompt,
            _DRAFTED: self._drafted,
            _TROUBLE: self._trouble,
            _TRUNCATED: self._truncated,
            _HEADER: self._header,
        }

    def finish(self) -> None:
        self._settle()
        self._tasks.cut_all()
        if self._log.axis.first_clock_s is not None:
            self._log.facts.values["first_clock_s"] = self._log.axis.first_clock_s

    # The slots' lines.

    def _slot(self, block: bytes, start: int, at: int) -> None:
        found = _SLOT.match(block, at)
        if found is None:
            self._settle()
            self._log.not_understood(block, start)
            return
        which = found.lastindex or _KNOWN
        if self._waiting is not None and not (which == _HEADER and found[1] == self._waiting):
            self._settle()
        if which in (_SILENT, _KNOWN):
            return
        number = found[1]
        if which == _HEADER and block.find(b"print_timing", start, at) < 0:
            return  # “reset” and the like say nothing more
        if which in (_LAUNCHED, _SIMILAR, _CHOSEN, _NEW_SLOT) or number == b"-1":
            self._slot_itself(block, start, at, found)
            return
        task = self._tasks.running.get(number)
        if task is None:
            task = self._tasks.open(number, int(block[at - 4 : at]))
        at_s = self._clock.at(block, start, at)
        if which in (_GENERATED, _READ):
            if at_s is not None:
                task.mark(at_s, int(found[which]), prefill=which == _READ)
        else:
            self._rare[which](found, task, at_s)

    def _slot_itself(self, block: bytes, start: int, at: int, found: re.Match[bytes]) -> None:
        slot = int(block[at - 4 : at])
        if found.lastindex == _LAUNCHED:
            if self._starting or self.rules is self._all:
                self._ready()
            self._tasks.launch(found[1], slot, self._clock.at(block, start, at))
        elif found.lastindex == _SIMILAR:
            self._tasks.chosen(slot, "similarity", float(found[_SIMILAR]))
        elif found.lastindex == _CHOSEN and found[_CHOSEN] in _CHOICES:
            self._tasks.chosen(slot, _CHOICES[found[_CHOSEN]], None)
        elif found.lastindex == _NEW_SLOT:
            self._start.slot_context(found[_NEW_SLOT])

    def _prompt_time(self, found: re.Match[bytes], task: Running, _: float | None) -> None:
        task.prefill_s, task.computed = _seconds(found[4]), int(found[5])

    def _eval_time(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        task.generate_s, task.output, task.summary_s = _seconds(found[6]), int(found[7]), at_s
        self._forms |= _ONE_LINE

    def _released(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        task.released, task.released_s = True, at_s
        task.slot_tokens = int(found[9])
        task.truncated = task.truncated or found[10] == b"1"
        if task.generate_s is None and not (task.cancelled or task.refused or task.failed):
            self._waiting = found[1]
        else:
            self._tasks.end(found[1])

    def _settle(self) -> None:
        """No summary followed, or the whole of it has been read."""
        if self._waiting is not None:
            self._tasks.end(self._waiting)
            self._waiting = None

    def _pass(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        tokens = int(found[_PASS] or found[_OLD_PASS])
        if task.base is None:
            task.base = tokens
        elif at_s is not None:
            task.mark(at_s, max(tokens - task.base, 0), prefill=True)

    def _new_prompt(self, found: re.Match[bytes], task: Running, _: float | None) -> None:
        task.prompt = int(found[_NEW_PROMPT])

    def _drafted(self, found: re.Match[bytes], task: Running, _: float | None) -> None:
        task.accepted, task.drafted = int(found[17]), int(found[18])

    def _trouble(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        code = _TROUBLES[found[_TROUBLE]]
        if code == "context_shift":
            task.shifted = task.truncated = True
        self._put(code, at_s, task=task.number)

    def _truncated(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        self._put("truncated_input", at_s, task=task.number, value=task.prompt)
        task.prompt, task.truncated = int(found[_TRUNCATED]), True

    # Summaries on lines of their own, before b9247.

    def _header(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        self._summary_of = found[1]
        task.summary_s = at_s
        self._forms |= _RELEASE_FIRST if task.released else _SEVERAL_LINES

    def _bare_time(self, block: bytes, start: int, at: int) -> None:
        end = block.find(b"\n", at)
        if block.find(b" id_task=", at, end) >= 0:
            self._ik.task(block, start, at)
            return
        prompt = block[at - 7 : at] == b"prompt "
        found = _BARE.match(block, at - 7 if prompt else at)
        task = self._tasks.running.get(self._summary_of) if self._summary_of else None
        if found is None or task is None:
            self._log.counts.other_lines += 1
        elif prompt:
            task.prefill_s, task.computed = _seconds(found[1]), int(found[2])
        else:
            task.generate_s, task.output = _seconds(found[3]), int(found[4])

    def _bare_draft(self, block: bytes, start: int, at: int) -> None:
        found = _BARE_DRAFT.match(block, at)
        task = self._tasks.running.get(self._summary_of) if self._summary_of else None
        if found and task:
            task.accepted, task.drafted = int(found[1]), int(found[2])
        else:
            self._log.counts.other_lines += 1

    # The server's lines.

    def _srv(self, block: bytes, start: int, at: int) -> None:
        found = _SRV.match(block, at)
        if found is None:
            if _SRV_HEADER.match(block, at):
                self._log.not_understood(block, start)
            else:
                self._log.counts.other_lines += 1
            return
        which = found.lastindex
        if which == _SRV_KNOWN:
            return
        at_s = self._clock.at(block, start, at)
        if which == _ERROR:
            self._error(found, at_s)
        elif which == _CANCEL:
            self._cancel(found[3], at_s)
        elif which == _REQUEST:
            if found[_REQUEST] >= b"400":
                self._put("http_error", at_s, value=int(found[_REQUEST]))
        elif which == _SLOTS:
            self._start.slots(found[5], found[6], found[7])
            self._markers.clear()
        elif which in (_START, _BUILD):
            self._started(found[which])
            self._start.model(block[start : block.find(b"\n", at)])
            self._start.build(block[start : block.find(b"\n", at)])
        elif which == _PURGED:
            self._put("purged_slot", at_s, value=int(found[_PURGED]))
        elif which == _FULL:
            self._pool_full(at_s)
        elif which == _CACHE_RAM:
            self._put("cache_ram_full", at_s, value=float(found[_CACHE_RAM]))
        elif which == _CACHE_LIMIT:
            self._log.facts.values["cache_ram_mib"] = int(found[_CACHE_LIMIT])

    def _error(self, found: re.Match[bytes], at_s: float | None) -> None:
        task = self._tasks.running.get(found[1])
        said = found[2]
        number = int(found[1])
        if b"exceeds the available context size" in said:
            asked = _ASKED.search(said)
            tokens = int(asked[1]) if asked else task.prompt if task else None
            if task:
                task.refused, task.asked = True, tokens
            self._put("too_long", at_s, task=number, value=tokens)
            return
        full = b"ontext size has been exceeded" in said or b"KV cache" in said
        if task:
            task.failed = True
        self._put("context_exceeded" if full else "http_error", at_s, task=number)

    def _cancel(self, number: bytes, at_s: float | None) -> None:
        task = self._tasks.running.get(number)
        # The same line follows a request that ended with an error.
        if task is not None and not (task.refused or task.failed or task.released):
            task.cancelled = True
            self._put("cancelled", at_s, task=task.number)

    def _pool_full(self, at_s: float | None) -> None:
        """A pass that finds no room says so some ten times in a row: once is enough."""
        if self._log.line != self._full_line + 1:
            self._put("pool_full", at_s)
        self._full_line = self._log.line

    def _out_of_memory(self, block: bytes, start: int, at: int) -> None:
        self._put("out_of_memory", self._clock.at(block, start, at))

    # Its start.

    def _build(self, block: bytes, start: int, at: int) -> None:
        line = block[start : block.find(b"\n", at)]
        if _BUILD_LINE.match(block, at):
            self._started(b"build")
        self._start.build(line)
        self._fact(self._start.threads)(block, start, at)

    def _started(self, marker: bytes) -> None:
        """One of the first lines of a start. The same one again, or one after requests: another start."""
        if self._starting and marker not in self._markers:
            self._markers.add(marker)
            return
        self._settle()
        self._tasks.restart()
        self._clock.restart()
        self._start.again()
        self._log.facts.starts += 1
        self._markers = {marker}
        self._starting = True
        self.rules = self._all

    def _ready(self) -> None:
        self._starting = False
        self.rules = self._served

    def _fact(self, reader: Callable[[bytes], None]) -> Callable[[bytes, int, int], None]:
        def handle(block: bytes, start: int, at: int) -> None:
            reader(block[start : block.find(b"\n", at)])

        return handle

    def _put(self, code: str, at_s: float | None, *, task: int | None = None, value: float | None = None) -> None:
        self._log.put(Notice(code=code, line=self._log.line, at_s=at_s, task=task, value=value))


def _seconds(text: bytes) -> float | None:
    """None for what is no number: the first token never came."""
    return float(text.replace(b",", b".")) / 1e3 if text[:1].isdigit() else None


class _Format:
    engine: Final = "llama-server"
    wraps: Final[frozenset[str]] = frozenset()
    own: Final = re.compile(
        rb"\n"
        + PREFIX
        + rb"(?:(?:[\d.]{12,20} )?(?:[IWED] )?(?:("
        + _LIBRARY
        + rb"): |((?:que|res|cmn|spec|slot|srv) ))|[\d.]{12,20} (D) |"
        rb'\{"type":"(log|fit_memory_breakdown)"|( {6}total time = |\t(?:repeat_|dry_|top_k|mirostat))|[\d.]{12,20} [IWE] )'
    )

    def sniff(self, head: bytes) -> int:
        return sum(1 for _ in _SURE.finditer(head))

    def start(self, log: Log) -> LlamaServer:
        return LlamaServer(log)


FORMAT = _Format()
