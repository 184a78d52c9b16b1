"""llama-server's log, from b4748 to b11549, and that of ik_llama.cpp's server: which lines are looked for, and when."""

import re
from collections.abc import Callable
from typing import Final

from planner.core.logs.envelope import PREFIX
from planner.core.logs.formats import Rule
from planner.core.logs.formats._llama_clock import Clock
from planner.core.logs.formats._llama_ik import SPEAKS_IK, IkLines
from planner.core.logs.formats._llama_slots import SlotLines
from planner.core.logs.formats._llama_srv import HEADER, KNOWN, ServerLines
from planner.core.logs.formats._llama_start import Start
from planner.core.logs.formats._llama_tasks import Tasks
from planner.core.logs.log import Log
from planner.core.logs.record import Notice

_BUILD: Final = re.compile(rb"build(?:_info)?: b?\d|build info \|")

_SURE: Final = re.compile(
    rb"slot {1,12}[\w()]{3,16}: id {1,2}\d{1,4} \| task |"
    + HEADER
    + rb"|\nllama_(?:model_loader|context|kv_cache\w{0,20}): |\nprint_info: |\nllm_load_"
    + SPEAKS_IK
)
# Functions of the library and of the server's start, by what stands before the colon. What is wanted of them has a rule.
_LIBRARY: Final = (
    rb"llama_[a-z_]{2,48}|ggml_[a-z_]{2,48}|common_[a-z_]{2,48}|llm_load_[a-z_]{2,32}|print_info|load|load_tensors|sched_reserve|graph_reserve"
    rb"|create_tensor|resolve_fused_ops|init|main|start|build|build_info|system info|system_info|set_[a-z_]{2,32}|adapters_[a-z_]{2,32}"
    rb"|find_slot|decode|encode|init_batch|init_tokenizer|done_getting_tensors|get_[a-z_]{2,32}|server_[a-z_]{2,32}"
)


def own_lines(also: bytes = rb"(?!)") -> re.Pattern[bytes]:
    """Lines that llama-server or its library wrote, as a Format's `own`; those that begin as `also` says are known besides."""
    stamp = rb"\d{1,9}\.\d\d\.\d{3}\.\d{3} (?:[IWE] |(?=D ))"
    inside = rb"(?:que|res|cmn|spec) "
    library = rb"(?:" + _LIBRARY + rb"): "
    loose = rb" {6}total time = |\t(?:repeat_|dry_|top_k|mirostat)"
    jsonl = rb'\{"type":"(?:log","time":\d{1,15},"level":"\w{1,8}","msg":"|fit_memory_breakdown","data":)'
    shape = rb"|".join((HEADER, inside, rb"slot ", library))
    known = rb"|".join((rb"D ", HEADER + rb"(?:" + KNOWN + rb")", inside, library, loose, rb"\{", also))
    begins = rb"(?:" + stamp + rb"|(?:[IWED] )?(?=" + shape + rb")|(?=" + loose + rb"|" + also + rb")|" + jsonl + rb")"
    return re.compile(rb"\n(?:" + stamp + rb"|" + PREFIX + begins + rb")(" + known + rb")?")


class LlamaServer:
    """The reading of one log.

    While the server starts, its figures are looked for; once it serves, only what happens to requests is, so that a busy day is
    read with a handful of anchors. Builds that print a level letter need fewer: what is wrong is a warning or an error.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._clock = Clock(log.axis)
        self._tasks = Tasks(log)
        self._start = Start(log)
        self._slots = SlotLines(
            log, self._clock, self._tasks, launched=self._launched, bare=self._summaries_are_bare, context=self._start.slot_context
        )
        self._srv = ServerLines(log, self._clock, self._tasks, self._start, started=self._started)
        self._ik = IkLines(log, self._tasks)
        self._slot_rule = Rule(b"| task ", self._slots.line, self._slots.sweep)
        self._memory_rule = Rule(b"out of memory", self._out_of_memory)
        self._bare_rules = (Rule(b"eval time =", self._time), Rule(b"draft acceptance rate", self._slots.bare_drafts))
        self._bare = False
        self._serving = False
        self.rules = self._starting_rules()

    def finish(self) -> None:
        self._slots.settle()
        self._tasks.cut_all()
        self._log.facts.format = self._form()
        if self._log.axis.first_clock_s is not None:
            self._log.facts.values["first_clock_s"] = self._log.axis.first_clock_s

    def _starting_rules(self) -> tuple[Rule, ...]:
        return (
            self._slot_rule,
            self._memory_rule,
            *self._bare_rules,
            Rule(b"srv ", self._srv.line),
            Rule(b"build", self._build),
            Rule(b" id_task=", self._ik.task),
            *(Rule(anchor, _whole(reader)) for anchor, reader in self._start.readers),
        )

    def _serving_rules(self) -> tuple[Rule, ...]:
        bare = self._bare_rules if self._bare else ()
        if not self._clock.own:
            return (self._slot_rule, self._memory_rule, Rule(b"srv ", self._srv.line), *bare)
        wrong = (Rule(anchor, self._srv.line) for anchor in (b" W srv ", b" E srv ", b"loading model"))
        return (self._slot_rule, self._memory_rule, *wrong, *bare)

    def _launched(self) -> None:
        if not self._serving:
            self._serving = True
            self._srv.served()
            self._turn(self._serving_rules())

    def _summaries_are_bare(self) -> None:
        if not self._bare:
            self._bare = True
            if self._serving:
                self._turn(self._serving_rules())

    def _turn(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._slots.turned = True

    def _started(self) -> None:
        self._slots.settle()
        self._tasks.restart()
        self._clock.restart()
        self._start.again()
        self._log.facts.starts += 1
        self._serving = False
        self.rules = self._starting_rules()

    def _build(self, block: bytes, start: int, at: int) -> None:
        if _BUILD.match(block, at):
            self._srv.marker(block, start, b"build")
        else:
            _whole(self._start.build)(block, start, at)
        _whole(self._start.threads)(block, start, at)

    def _time(self, block: bytes, start: int, at: int) -> None:
        if block.find(b" id_task=", at, block.find(b"\n", at)) >= 0:
            self._ik.task(block, start, at)
        else:
            self._slots.bare_time(block, start, at)

    def _out_of_memory(self, block: bytes, start: int, at: int) -> None:
        self._log.put(Notice(code="out_of_memory", line=self._log.line, at_s=self._clock.at(block, start, at)))

    def _form(self) -> str:
        """Which builds write such lines."""
        says = self._slots.says
        if self._ik.seen:
            return "ik_llama.cpp"
        if "release first" in says:
            return "llama.cpp before about b7000: summaries on lines of their own, after the release"
        if "bare summary" in says:
            return "llama.cpp before b9247: summaries on lines of their own"
        return "llama.cpp b9247 or later: each line of a summary with its slot"


def _whole(reader: Callable[[bytes], None]) -> Callable[[bytes, int, int], None]:
    """A handler for a reader of whole lines."""

    def handle(block: bytes, start: int, at: int) -> None:
        reader(block[start : block.find(b"\n", at)])

    return handle


class _Format:
    engine: Final = "llama-server"
    wraps: Final[frozenset[str]] = frozenset()
    own: Final = own_lines()

    def sniff(self, head: bytes) -> int:
        return sum(1 for _ in _SURE.finditer(head))

    def start(self, log: Log) -> LlamaServer:
        return LlamaServer(log)


FORMAT = _Format()
