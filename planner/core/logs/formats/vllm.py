"""vLLM's log: start-up facts, the lines its loggers print every ten seconds, access lines, preemptions of old releases, failures."""

import re
from typing import Final

from planner.core.logs.envelope import PREFIX
from planner.core.logs.formats import Handler, Rule
from planner.core.logs.formats._vllm_start import FAILURES, READERS
from planner.core.logs.formats._yearless import CLOCK, YearlessClock
from planner.core.logs.log import Log
from planner.core.logs.record import Notice, Sample

_PROCESS: Final = rb"(?:\([\w -]{1,60} pid=\d{1,10}\) )?"
_LEVEL: Final = rb"(?:INFO|WARNING|DEBUG|ERROR)"
_SOURCE: Final = rb"\[?[\w/.]{1,80}\.py:\d{1,6}\]"
_SURE: Final = re.compile(_LEVEL + rb" [01]\d-[0-3]\d [\d:]{8} " + _SOURCE + rb"|vllm: error: |Avg prompt throughput: \d")
# Its other lines: what they tell of loading and of its parts nobody asks for. Those of a traceback say nothing by themselves.
_OWN: Final = re.compile(rb"\n" + PREFIX + _PROCESS + rb"(?:((?:INFO|WARNING|DEBUG) [01]\d-[0-3]\d [\d:]{8} |INFO:     )|Engine \d{1,4}: )")

_PART: Final = re.compile(rb"([A-Z][A-Za-z]{0,40}(?: [\w+]{1,20}){0,5}): (\d{1,12}(?:\.\d{1,6})?)(%| reqs| tokens/s)?(?=[,.\s\\]|$)")
_ENGINE_NUMBER: Final = re.compile(rb"Engine (\d{1,4}): ")
_STEP: Final = re.compile(
    rb"Iteration\(\d{1,15}\): (\d{1,9}) context requests, (\d{1,12}) context tokens, (\d{1,9}) generation requests, (\d{1,12}) generation tokens, "
    rb"iteration elapsed time: (\d{1,9}(?:\.\d{1,6})?) ms(?:, [\w +]{1,30} KV cache usage: (\d{1,3}(?:\.\d{1,6})?)%)?"
)
_ACCESS: Final = re.compile(rb"\"(GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH) [^\n\"]{1,4000} HTTP/1\.[01]\\?\" (\d{3})\b")
_LONGEST_ACCESS: Final = 4_200
# An answer that did not fail is not looked at: nearly every line of a busy server is one.
_FAILED_ANSWERS: Final = tuple(
    b"HTTP/1.%d%s %d" % (minor, quote, hundreds) for minor in (0, 1) for quote in (b'"', b'\\"') for hundreds in (4, 5)
)
_STATUS_ENDS: Final = len(b'HTTP/1.1\\" 503')
_UNAVAILABLE: Final = 503
_CUMULATIVE: Final = re.compile(rb"total(?:_num)?_cumulative_preemption(?:_cnt)?=(\d{1,12})")
_TRIED: Final = re.compile(rb"out of memory\. Tried to allocate (\d{1,9}(?:\.\d{1,4})?) ([GMK])iB")
_ASKED: Final = re.compile(
    rb"maximum (?:context|model) length is \d{1,12}(?: tokens)?\. However, (?:you requested|your prompt contains at least|the request has|you passed) (\d{1,12})"
)
_LONGEST_LINE: Final = 2_000
# A failure's text may begin so far before what it is known by.
_BEFORE_ANCHOR: Final = 60
_GIB: Final = {b"G": 1.0, b"M": 1 / 1024, b"K": 1 / 1024**2}

# What its loggers call the figures of a sample; the older release's names after the newer ones'.
_SHARES: Final = {b"Prefix cache hit rate": "prefix_hit_share"}
_COUNTS: Final = {b"Running": "running", b"Waiting": "waiting", b"Pending": "waiting", b"Preemptions": "preemptions"}
_RATES: Final = {b"Avg prompt throughput": "prompt_rate", b"Avg generation throughput": "generation_rate"}


def _share(percent: float) -> float:
    return round(percent / 100, 8)


class _Vllm:
    """One log's reading. Rules for start-up hold until the server serves."""

    __slots__ = ("_clock", "_clock_s", "_failed", "_log", "_seen", "_serving", "_starting", "_told", "rules")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._clock = YearlessClock()
        self._clock_s: float | None = None
        self._seen: set[bytes] = set()  # first lines of the start that is going on
        self._failed = False
        self._told: tuple[str, float | None, float | None] | None = None
        always = (
            Rule(b"Received request ", _somebodys_words),
            Rule(b"Avg prompt throughput: ", self._periodic),
            *(Rule(anchor, self._failed_answer) for anchor in _FAILED_ANSWERS),
            Rule(b": Iteration(", self._step),
            Rule(b"is preempted by PreemptionMode", self._preempted),
            Rule(b"out of memory. Tried ", self._out_of_memory),
            Rule(b" length is ", self._too_long),
            Rule(b"imed out", self._timed_out),
        )
        self._starting = (
            *always,
            Rule(b"Application startup complete", self._ready),
            *(Rule(anchor, self._start_line(anchor)) for anchor in READERS),
            *(Rule(anchor, self._failure(anchor)) for anchor in FAILURES),
        )
        self._serving = (*always, *(Rule(anchor, self._start_line(anchor)) for anchor in _BEGINS))
        self.rules: tuple[Rule, ...] = self._starting

    def finish(self) -> None:
        """No request of it is followed, so none is cut."""

    def _at(self, block: bytes, start: int, at: int) -> float | None:
        """The line's moment, or that of the last line that had one."""
        found = CLOCK.search(block, start, at)
        clock_s = self._clock.seconds(found) if found else None
        if clock_s is not None:
            self._clock_s = clock_s
            return self._log.axis.at(clock_s)
        return None if self._clock_s is None else self._log.axis.now_s

    def _start_line(self, anchor: bytes) -> Handler:
        read = READERS[anchor]

        def handle(block: bytes, start: int, at: int) -> None:
            end = block.find(b"\n", at)
            if anchor in _BEGINS:
                self._begin(anchor, block, start, at)
            if not read(block, at, end, self._log.facts):
                self._log.not_understood(block, start)

        return handle

    def _begin(self, anchor: bytes, block: bytes, start: int, at: int) -> None:
        """One of the lines that a start has once (an engine core's may come several times within it)."""
        facts = self._log.facts
        again = anchor in self._seen and anchor != b" LLM engine (v"
        if not self._seen or again or self.rules is self._serving:
            facts.starts += 1
            facts.values.clear()
            self._seen.clear()
            self._failed = False
            self.rules = self._starting
            if self._clock_s is not None and (found := CLOCK.search(block, start, at)):
                before_s, now_s = self._clock_s, self._clock.seconds(found)
                if now_s is not None and now_s < before_s:
                    self._log.axis.restart()
        self._seen.add(anchor)
        self._at(block, start, at)

    def _ready(self, _block: bytes, _start: int, _at: int) -> None:
        self.rules = self._serving

    def _failure(self, anchor: bytes) -> Handler:
        failure = FAILURES[anchor]

        def handle(block: bytes, start: int, at: int) -> None:
            begin = max(start, at - _BEFORE_ANCHOR)
            found = failure.form.search(block, begin, block.find(b"\n", at)) if failure.form else None
            if self._failed or (failure.form and not found):  # a traceback says it again, and then what follows from it
                return
            facts = self._log.facts
            if not self._seen:
                facts.starts += 1
                self._seen.add(anchor)
            self._failed = True
            facts.values["failure"] = failure.word
            value = failure.figure(found, facts) if found and failure.figure else None
            self._log.put(Notice(code="start_failed", line=self._log.line, at_s=self._at(block, start, at), value=value))

        return handle

    def _periodic(self, block: bytes, start: int, at: int) -> None:
        end = block.find(b"\n", at)
        shares: dict[str, float] = {}
        counts: dict[str, int] = {}
        for name, printed, _unit in _PART.findall(block, at, min(end, at + _LONGEST_LINE)):
            number = float(printed)
            if field := _COUNTS.get(name):
                counts[field] = int(number)
            elif field := _RATES.get(name) or _SHARES.get(name):
                shares[field] = _share(number) if name in _SHARES else number
            elif name.endswith(b"KV cache usage"):
                shares.setdefault("cache_share", _share(number))
        if (
            "running" not in counts
            or "generation_rate" not in shares
            or max(shares.get("cache_share", 0), shares.get("prefix_hit_share", 0)) > 1
        ):
            self._log.not_understood(block, start)
            return
        self.rules = self._serving
        self._log.put(
            Sample(
                at_s=self._at(block, start, at),
                engine=self._engine(block, start, at),
                running=counts["running"],
                waiting=counts.get("waiting"),
                preemptions=counts.get("preemptions"),
                prompt_rate=shares.get("prompt_rate"),
                generation_rate=shares["generation_rate"],
                cache_share=shares.get("cache_share"),
                prefix_hit_share=shares.get("prefix_hit_share"),
            )
        )

    def _engine(self, block: bytes, start: int, at: int) -> int:
        found = _ENGINE_NUMBER.search(block, start, at)
        return int(found[1]) if found else 0

    def _step(self, block: bytes, start: int, at: int) -> None:
        found = _STEP.match(block, at + 2)
        step_s = float(found[5]) / 1e3 if found else 0.0
        if not found or step_s <= 0:
            self._log.not_understood(block, start)
            return
        self._log.put(
            Sample(
                at_s=self._at(block, start, at),
                engine=self._engine(block, start, at + 2),
                step_s=step_s,
                running=int(found[1]) + int(found[3]),
                prompt_rate=int(found[2]) / step_s,
                generation_rate=int(found[4]) / step_s,
                cache_share=min(1.0, _share(float(found[6]))) if found[6] else None,
            )
        )

    def _failed_answer(self, block: bytes, start: int, at: int) -> None:
        """Only what asks for work counts: a probe for a page that is not there says nothing of the server."""
        found = _ACCESS.search(block, max(start, at - _LONGEST_ACCESS), at + _STATUS_ENDS)
        if not found:
            self._log.not_understood(block, start)
            return
        if found[1] != b"POST":
            return
        status = int(found[2])
        full = status == _UNAVAILABLE and "max_num_queued_reqs" in self._log.facts.values
        self._log.put(
            Notice(code="queue_full" if full else "http_error", line=self._log.line, at_s=self._at(block, start, at), value=float(status))
        )

    def _preempted(self, block: bytes, start: int, at: int) -> None:
        found = _CUMULATIVE.search(block, at, block.find(b"\n", at))
        value = float(found[1]) if found else None
        self._log.put(Notice(code="preempted", line=self._log.line, at_s=self._at(block, start, at), value=value))

    def _out_of_memory(self, block: bytes, start: int, at: int) -> None:
        found = _TRIED.match(block, at)
        value = round(float(found[1]) * _GIB[found[2]], 6) if found else None
        self._tell("out_of_memory", block, start, at, value)

    def _too_long(self, block: bytes, start: int, at: int) -> None:
        if found := _ASKED.search(block, max(start, at - 20), block.find(b"\n", at)):
            self._tell("too_long", block, start, at, float(found[1]))

    def _timed_out(self, block: bytes, start: int, at: int) -> None:
        self._tell("timeout", block, start, at, None)

    def _tell(self, code: str, block: bytes, start: int, at: int, value: float | None) -> None:
        """Once, though a traceback repeats it."""
        notice = Notice(code=code, line=self._log.line, at_s=self._at(block, start, at), value=value)
        if (code, value, notice.at_s) != self._told:
            self._told = (code, value, notice.at_s)
            self._log.put(notice)


def _somebodys_words(_block: bytes, _start: int, _at: int) -> None:
    """With requests logged, a prompt may say anything, what the server says included."""


# Lines that begin a start: one of them after the server has served, or the same again, is another start.
_BEGINS: Final = frozenset(
    {"█  version ".encode(), b"vLLM API server version ", b"non-default args: ", b"args: Namespace(", b" LLM engine (v"}
)


class _Format:
    engine = "vllm"
    own = _OWN
    wraps: frozenset[str] = frozenset()

    def sniff(self, head: bytes) -> int:
        return sum(1 for _ in _SURE.finditer(head))

    def start(self, log: Log) -> _Vllm:
        return _Vllm(log)


FORMAT: Final = _Format()
