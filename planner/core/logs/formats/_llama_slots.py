"""What llama-server says of its slots: which request got which, how far it is, its summary, its end.

Source of the formats: llama.cpp tools/server/server-context.cpp (server.cpp until b7000): SLT_INF and SLT_WRN lines of the builds
b4748, b6301, b7079, b7827, b9093, b9247, b9873, b10435, b11434 and b11549.
"""

import re
from collections.abc import Callable
from typing import Final

from planner.core.logs.formats._llama_clock import Clock
from planner.core.logs.formats._llama_tasks import Running, Tasks
from planner.core.logs.log import Log
from planner.core.logs.marks import MOST, thinned
from planner.core.logs.record import Notice, SlotChoice

_MS: Final = rb"(\d{1,12}[.,]\d{1,3}|nan|-nan|inf) ms / {1,9}(\d{1,9})"
_DRAFTS: Final = rb"draft acceptance (?:rate )?= [\d.,]{1,9} \( {0,9}(\d{1,9}) accepted / {1,9}(\d{1,9}) generated"

# Each alternative ends with a group of its own: `lastindex` says which it was. The most frequent ones stand first.
_SLOT: Final = re.compile(
    rb"\| task (-?\d{1,10}) \|(?: (?:"
    rb"n_[a-z]{3,7} = {1,9}(\d{1,9}), tg"  # 2
    rb"|prompt processing, n_tokens = {1,9}(\d{1,9}), "  # 3
    rb"|prompt eval time = {1,12}" + _MS + rb" tokens"  # 4, 5
    rb"| {6,8}eval time = {1,12}" + _MS + rb" tokens"  # 6, 7
    rb"|( {3,7}(?:total time|graphs reused) =)"  # 8
    rb"|stop processing: n_(?:tokens|past) = (\d{1,9}), truncated = (\d)"  # 9, 10
    rb"|(processing task)"  # 11
    rb"|selected slot by (?:(?:lcs|LCP) similarity, (?:lcs_len = \d{1,9}, )?(?:f_)?sim(?:_best|ilarity)? = (\d\.\d{1,9})|(\w{1,3})\b)"  # 12, 13
    rb"|(?:(?:cached )?n_tokens = (\d{1,9}), memory_seq_rm|kv cache rm \[(\d{1,9}), end)"  # 14, 15
    rb"|new prompt, n_ctx_slot = \d{1,9}, n_keep = -?\d{1,9}, (?:task\.n_tokens|n_prompt_tokens) = (\d{1,9})"  # 16
    rb"|" + _DRAFTS +  # 17, 18
    rb"|(slot context shift|forcing full prompt re-processing|erasing old context checkpoint|need to evaluate at least 1 token)"  # 19
    rb"|input truncated, n_ctx = \d{1,9}, n_keep = -?\d{1,9}, n_left = -?\d{1,9}, n_prompt_tokens = (\d{1,9})"  # 20
    rb"|new slot,? n_ctx(?:_slot)? = (\d{1,9})"  # 21
    rb"|(sampler |init sampler|prompt (?:processing )?(?:progress|done)|n_past was set| - (?:skipping|checking)|saving idle slot"
    rb"|launching slot|created context checkpoint|restored context checkpoint|erased invalidated|\d{1,9} tokens since last checkpoint"
    rb"|speculative decoding|n_gen = \d|n_decoded = \d|slot decode token|stopped by|trying to reuse|after context reuse|main/do_checkpoint"
    rb"|accepted )"  # 22
    rb")|( {0,4}(?:\n|\\n))"  # 23: the summary follows on lines of its own
    rb"|())"  # 24: what nobody knows
)  # fmt: skip
_NUMBER = 1
_GENERATED, _READ, _PROMPT_TIME, _EVAL_TIME, _SILENT, _RELEASED, _LAUNCHED = 2, 3, 5, 7, 8, 10, 11
_SIMILAR, _CHOSEN, _PASS, _OLD_PASS, _NEW_PROMPT, _DRAFTED, _TROUBLE, _TRUNCATED, _NEW_SLOT, _KNOWN, _HEADER, _UNKNOWN = (
    12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24,
)  # fmt: skip
_OF_THE_SLOT: Final = frozenset({_LAUNCHED, _SIMILAR, _CHOSEN, _NEW_SLOT})
_SAYS_NOTHING: Final = frozenset({_SILENT, _KNOWN})
_PROGRESS: Final = frozenset({_GENERATED, _READ})
_TELLS: Final = _PROGRESS | {
    _PROMPT_TIME, _EVAL_TIME, _RELEASED, _PASS, _OLD_PASS, _NEW_PROMPT, _DRAFTED, _TROUBLE, _TRUNCATED, _HEADER,
}  # fmt: skip
# Where the seconds of `05.720.093 I slot print_timing: id  3 ` stand before the anchor, for slots of at most two digits.
_STAMP_AT: Final = 38
_STAMP_END: Final = 28

_TROUBLES: Final = {
    b"slot context shift": "context_shift",
    b"forcing full prompt re-processing": "full_reprocess",
    b"erasing old context checkpoint": "checkpoint_erased",
    b"need to evaluate at least 1 token": "whole_prompt_cached",
}
_CHOICES: Final[dict[bytes, SlotChoice]] = {b"LRU": "lru", b"lru": "lru", b"id": "id"}
_BARE: Final = re.compile(rb"(?:prompt eval time = {1,12}" + _MS + rb"|eval time = {1,12}" + _MS + rb") tokens")
_BARE_DRAFTS: Final = re.compile(_DRAFTS)


class SlotLines:
    """`line` (with `sweep`), `bare_time` and `bare_drafts` are handlers of a Rule. `launched` and `bare` are called when the first such line comes."""

    def __init__(
        self,
        log: Log,
        clock: Clock,
        tasks: Tasks,
        *,
        launched: Callable[[], None],
        bare: Callable[[], None],
        context: Callable[[int], None],
    ) -> None:
        self._log = log
        self._clock = clock
        self._tasks = tasks
        self._on_launch = launched
        self._on_bare = bare
        self._on_context = context
        self._summary_of: bytes = b""  # whose summary follows on lines of its own
        self._waiting: bytes | None = None  # released, and its summary may follow
        self.turned = False  # the rules have changed: set by whoever changes them
        self.says: set[str] = set()  # what of the forms that differ between builds was seen
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

    def line(self, block: bytes, start: int, at: int) -> None:
        self._read(block, start, at, _SLOT.match(block, at))

    def sweep(self, block: bytes, at: int, end: int, limit: int, passed: list[bytes]) -> tuple[int, int]:  # noqa: C901, PLR0912 - the one loop
        """Most lines of a log tell of progress or say nothing: they are done with here, without a call; all others by `_read`."""
        find, rfind, put = block.find, block.rfind, passed.append
        running, clock, axis = self._tasks.running, self._clock, self._log.axis
        said_minutes, minutes_s = b"none", 0.0
        self.turned = False
        for found in _SLOT.finditer(block, at, find(b"\n", limit) + 1 or len(block)):
            at = found.start()
            if at >= limit:
                return end, at
            if at < end:  # twice in one line
                continue
            start = rfind(b"\n", end - 1, at) + 1
            if start != end:
                put(block[end - 1 : start - 1])
            end = find(b"\n", at) + 1
            which = found.lastindex or _UNKNOWN
            if which in _SAYS_NOTHING and self._waiting is None:
                continue
            self._log.position = start
            task = running.get(found[_NUMBER])
            seconds = block[at - _STAMP_AT : at - _STAMP_END]
            micros = seconds.replace(b".", b"")
            minutes = block[start + clock.skip : at - _STAMP_AT - 1]
            plain = len(micros) == 8 and micros.isdigit() and (minutes == said_minutes or (minutes.isdigit() and len(minutes) < 10))
            if task is None or not plain or which not in _TELLS or self._waiting is not None:
                self._read(block, start, at, found)
                if self.turned:
                    limit = end
                    break
                continue
            # What `Clock.at` does: the minute, which changes seldom, is read once.
            if minutes != said_minutes:
                said_minutes, minutes_s = minutes, int(minutes) * 60
            moment = minutes_s + int(micros) * 1e-6 + axis.offset_s
            if moment >= axis.now_s:
                axis.now_s = moment
            else:
                moment = axis.at(minutes_s + int(micros) * 1e-6)
            if which not in _PROGRESS:
                self._rare[which](found, task, moment)
                if self.turned:
                    limit = end
                    break
                continue
            # What `Running.mark` does.
            points = task.points
            points.append((moment, int(found[which]), which == _READ))
            if len(points) >= MOST:
                task.points = thinned(points)
        at = find(b"| task ", max(end, limit))
        return end, at if at >= 0 else len(block)

    def _read(self, block: bytes, start: int, at: int, found: re.Match[bytes] | None) -> None:
        which = found.lastindex if found is not None else None
        if self._waiting is not None and not (which == _HEADER and found is not None and found[_NUMBER] == self._waiting):
            self.settle()
        if found is None or which is None or which == _UNKNOWN:
            self._log.not_understood(block, start)
        elif which in _SAYS_NOTHING:
            return
        elif which in _OF_THE_SLOT or found[_NUMBER] == b"-1":
            self._of_the_slot(block, start, at, found)
        elif (task := self._task(block, start, at, found)) is not None:
            at_s = self._clock.at(block, start, at)
            if which not in _PROGRESS:
                self._rare[which](found, task, at_s)
            elif at_s is not None:
                task.mark(at_s, int(found[which]), prefill=which == _READ)

    def _task(self, block: bytes, start: int, at: int, found: re.Match[bytes]) -> Running | None:
        """The line's request, begun here if the log did not show its launch."""
        number = found[_NUMBER]
        task = self._tasks.running.get(number)
        if task is not None or (found.lastindex == _HEADER and block.find(b"print_timing", start, at) < 0):
            return task
        slot = _slot_number(block, at)
        if slot is None:
            self._log.not_understood(block, start)
            return None
        return self._tasks.open(number, slot)

    def _of_the_slot(self, block: bytes, start: int, at: int, found: re.Match[bytes]) -> None:
        slot = _slot_number(block, at)
        if slot is None:
            self._log.not_understood(block, start)
        elif found.lastindex == _LAUNCHED:
            at_s = self._clock.at(block, start, at)
            self._on_launch()
            self._tasks.launch(found[_NUMBER], slot, at_s)
        elif found.lastindex == _SIMILAR:
            self._tasks.chosen(slot, "similarity", float(found[_SIMILAR]))
        elif found.lastindex == _CHOSEN and found[_CHOSEN] in _CHOICES:
            self._tasks.chosen(slot, _CHOICES[found[_CHOSEN]], None)
        elif found.lastindex == _NEW_SLOT:
            self._on_context(int(found[_NEW_SLOT]))

    def settle(self) -> None:
        """No summary followed the release, or the whole of it has been read."""
        if self._waiting is not None:
            self._tasks.end(self._waiting)
            self._waiting = None

    def _prompt_time(self, found: re.Match[bytes], task: Running, _: float | None) -> None:
        task.prefill_s, task.computed = _seconds(found[_PROMPT_TIME - 1]), int(found[_PROMPT_TIME])

    def _eval_time(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        task.generate_s, task.output, task.summary_s = _seconds(found[_EVAL_TIME - 1]), int(found[_EVAL_TIME]), at_s

    def _released(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        task.released, task.released_s = True, at_s
        task.slot_tokens = int(found[_RELEASED - 1])
        task.truncated = task.truncated or found[_RELEASED] == b"1"
        if task.generate_s is None and not (task.cancelled or task.refused or task.failed):
            self._waiting = found[_NUMBER]
        else:
            self._tasks.end(found[_NUMBER])

    def _pass(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        """A pass over the prompt begins: the first says how much was cached, the others how much has been read."""
        tokens = int(found[_PASS] or found[_OLD_PASS])
        if task.base is None:
            task.base = tokens
        elif at_s is not None:
            task.mark(at_s, max(tokens - task.base, 0), prefill=True)

    def _new_prompt(self, found: re.Match[bytes], task: Running, _: float | None) -> None:
        task.prompt = int(found[_NEW_PROMPT])

    def _drafted(self, found: re.Match[bytes], task: Running, _: float | None) -> None:
        task.accepted, task.drafted = int(found[_DRAFTED - 1]), int(found[_DRAFTED])

    def _trouble(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        code = _TROUBLES[found[_TROUBLE]]
        if code == "context_shift":
            task.shifted = task.truncated = True
        self._log.put(Notice(code=code, line=self._log.line, at_s=at_s, task=task.number))

    def _truncated(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        self._log.put(Notice(code="truncated_input", line=self._log.line, at_s=at_s, task=task.number, value=task.prompt))
        task.prompt, task.truncated = int(found[_TRUNCATED]), True

    # Before b9247 the summary was one message of several lines; until about b7000 it followed the release.

    def _header(self, found: re.Match[bytes], task: Running, at_s: float | None) -> None:
        self._summary_of = found[_NUMBER]
        task.summary_s = at_s
        self.says.add("release first" if task.released else "bare summary")
        self._on_bare()

    def bare_time(self, block: bytes, _: int, at: int) -> None:
        prompt = block[at - 7 : at] == b"prompt "
        found = _BARE.match(block, at - 7 if prompt else at)
        task = self._tasks.running.get(self._summary_of)
        if found is None or task is None:
            self._log.counts.other_lines += 1
        elif prompt:
            task.prefill_s, task.computed = _seconds(found[1]), int(found[2])
        else:
            task.generate_s, task.output = _seconds(found[3]), int(found[4])

    def bare_drafts(self, block: bytes, _: int, at: int) -> None:
        found = _BARE_DRAFTS.match(block, at)
        task = self._tasks.running.get(self._summary_of)
        if found and task:
            task.accepted, task.drafted = int(found[1]), int(found[2])
        else:
            self._log.counts.other_lines += 1


def _slot_number(block: bytes, at: int) -> int | None:
    """The slot's: `id %2d ` stands right before the task's."""
    digits = block[at - 4 : at].strip()
    return int(digits) if digits.isdigit() else None


def _seconds(text: bytes) -> float | None:
    """None for what is no number: the first token never came."""
    return float(text.replace(b",", b".")) / 1e3 if text[:1].isdigit() else None
