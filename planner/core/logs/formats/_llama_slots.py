"""What llama-server says of its slots: which request got which, how far it is, its summary, its end.

Source of the formats: llama.cpp tools/server/server-context.cpp (server.cpp until b7000): SLT_INF and SLT_WRN lines of the builds
b4748, b6301, b7079, b7827, b9093, b9247, b9873, b10435, b11434 and b11549.
"""

import re
from collections.abc import Callable
from typing import Final

from planner.core.logs.formats._llama_clock import STAMP, Clock
from planner.core.logs.formats._llama_tasks import Running, Tasks
from planner.core.logs.log import Log
from planner.core.logs.marks import MOST, thinned
from planner.core.logs.record import Notice, SlotChoice

_MS: Final = rb"(\d{1,12}[.,]\d{1,3}|nan|-nan|inf) ms / {1,9}(\d{1,9})"
_DRAFTS: Final = rb"draft acceptance (?:rate )?= [\d.,]{1,9} \( {0,9}(\d{1,9}) accepted / {1,9}(\d{1,9}) generated"

# Each alternative ends with a group of its own: `lastindex` says which it was. The most frequent ones stand first.
_SLOT: Final = re.compile(
    rb"(?:" + STAMP + rb"[IWED] )?(?:[IWED] )?slot .{12}: id {1,3}(\d{1,4}) \| task (-?\d{1,10}) \|(?: (?:"  # 1 to 5
    rb"n_[a-z]{3,7} = {1,9}(\d{1,9}), tg"  # 6
    rb"|prompt processing, n_tokens = {1,9}(\d{1,9}), "  # 7
    rb"|prompt eval time = {1,12}" + _MS + rb" tokens"  # 8, 9
    rb"| {6,8}eval time = {1,12}" + _MS + rb" tokens"  # 10, 11
    rb"|( {3,7}(?:total time|graphs reused) =)"  # 12
    rb"|stop processing: n_(?:tokens|past) = (\d{1,9}), truncated = (\d)"  # 13, 14
    rb"|(processing task)"  # 15
    rb"|selected slot by (?:(?:lcs|LCP) similarity, (?:f_)?sim(?:_best|ilarity)? = (\d\.\d{1,6})|(\w{1,3})\b)"  # 16, 17
    rb"|(?:(?:cached )?n_tokens = (\d{1,9}), memory_seq_rm|kv cache rm \[(\d{1,9}), end)"  # 18, 19
    rb"|new prompt, n_ctx_slot = \d{1,9}, n_keep = -?\d{1,9}, (?:task\.n_tokens|n_prompt_tokens) = (\d{1,9})"  # 20
    rb"|" + _DRAFTS +  # 21, 22
    rb"|(slot context shift|forcing full prompt re-processing|erasing old context checkpoint|need to evaluate at least 1 token)"  # 23
    rb"|input truncated, n_ctx = \d{1,9}, n_keep = -?\d{1,9}, n_left = -?\d{1,9}, n_prompt_tokens = (\d{1,9})"  # 24
    rb"|new slot,? n_ctx(?:_slot)? = (\d{1,9})"  # 25
    rb"|(sampler |init sampler|prompt (?:processing )?(?:progress|done)|n_past was set| - (?:skipping|checking)|saving idle slot"
    rb"|launching slot|created context checkpoint|restored context checkpoint|erased invalidated|\d{1,9} tokens since last checkpoint"
    rb"|speculative decoding|n_gen = \d|n_decoded = \d|slot decode token|stopped by|trying to reuse|after context reuse|main/do_checkpoint"
    rb"|accepted )"  # 26
    rb")|( {0,4}(?:\n|\\n)))"  # 27: the summary follows on lines of its own
)  # fmt: skip
_ID, _NUMBER = 4, 5
_GENERATED, _READ, _PROMPT_TIME, _EVAL_TIME, _SILENT, _RELEASED, _LAUNCHED = 6, 7, 9, 11, 12, 14, 15
_SIMILAR, _CHOSEN, _PASS, _OLD_PASS, _NEW_PROMPT, _DRAFTED, _TROUBLE, _TRUNCATED, _NEW_SLOT, _KNOWN, _HEADER = (
    16, 17, 18, 19, 20, 22, 23, 24, 25, 26, 27,
)  # fmt: skip
_OF_THE_SLOT: Final = frozenset({_LAUNCHED, _SIMILAR, _CHOSEN, _NEW_SLOT})
_SAYS_NOTHING: Final = frozenset({_SILENT, _KNOWN})
_EASY: Final = frozenset({_GENERATED, _READ, _SILENT, _KNOWN})

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
        self._read(block, start, at, _SLOT.match(block, start + self._clock.skip))

    def sweep(self, block: bytes, at: int, end: int, limit: int, passed: list[bytes]) -> tuple[int, int]:
        """Most lines of a log tell of progress or say nothing: they are done with here, without a call; all others by `_read`."""
        find, rfind, match, size = block.find, block.rfind, _SLOT.match, len(block)
        running, clock, axis = self._tasks.running, self._clock, self._log.axis
        self.turned = False
        while at < limit and not self.turned:
            start = rfind(b"\n", end - 1, at) + 1
            if start != end:
                passed.append(block[end - 1 : start - 1])
            found = match(block, start + clock.skip)
            which = found.lastindex if found is not None else None
            if found is not None and which in _EASY and self._waiting is None:
                if which not in _SAYS_NOTHING:
                    minutes, seconds, micros, number, tokens = found.group(1, 2, 3, _NUMBER, which)
                    if minutes is None or number not in running:
                        self._log.position = start
                        self._read(block, start, at, found)
                    else:
                        # As `Clock.stamped` and `Running.mark` do.
                        moment = int(minutes) * 60 + float(seconds) + int(micros) * 1e-6 + axis.offset_s
                        if moment >= axis.now_s:
                            axis.now_s = moment
                        else:
                            moment = clock.stamped(minutes, seconds, micros)
                        points = running[number].points
                        points.append((moment, int(tokens), which == _READ))
                        if len(points) >= MOST:
                            running[number].points = thinned(points)
            else:
                self._log.position = start
                self._read(block, start, at, found)
            end = find(b"\n", at) + 1
            at = find(b"| task ", end)
            if at < 0:
                return end, size
        return end, at

    def _read(self, block: bytes, start: int, at: int, found: re.Match[bytes] | None) -> None:
        found = found or self._after_prefix(block, start, at)
        which = found.lastindex if found is not None else None
        if self._waiting is not None and not (which == _HEADER and found is not None and found[_NUMBER] == self._waiting):
            self.settle()
        if found is None or which is None:
            self._log.not_understood(block, start)
        elif which in _SAYS_NOTHING:
            return
        elif which in _OF_THE_SLOT or found[_NUMBER] == b"-1":
            self._of_the_slot(block, start, at, found)
        elif (task := self._task(block, start, at, found)) is not None:
            at_s = self._at(block, start, at, found)
            if which not in _EASY:
                self._rare[which](found, task, at_s)
            elif at_s is not None:
                task.mark(at_s, int(found[which]), prefill=which == _READ)

    def _after_prefix(self, block: bytes, start: int, at: int) -> re.Match[bytes] | None:
        """The line read from where the server's own text begins; the next ones are looked at there first."""
        begins = block.rfind(b"slot ", start, at)
        if begins < 0:
            return None
        self._clock.skip = self._clock.stamp_before(block, start, begins) - start
        return _SLOT.match(block, start + self._clock.skip)

    def _at(self, block: bytes, start: int, at: int, found: re.Match[bytes]) -> float | None:
        minutes, seconds, micros = found.group(1, 2, 3)
        return self._clock.at(block, start, at) if minutes is None else self._clock.stamped(minutes, seconds, micros)

    def _task(self, block: bytes, start: int, at: int, found: re.Match[bytes]) -> Running | None:
        """The line's request, begun here if the log did not show its launch."""
        number = found[_NUMBER]
        task = self._tasks.running.get(number)
        if task is None and not (found.lastindex == _HEADER and block.find(b"print_timing", start, at) < 0):
            task = self._tasks.open(number, int(found[_ID]))
        return task

    def _of_the_slot(self, block: bytes, start: int, at: int, found: re.Match[bytes]) -> None:
        slot = int(found[_ID])
        if found.lastindex == _LAUNCHED:
            at_s = self._at(block, start, at, found)
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


def _seconds(text: bytes) -> float | None:
    """None for what is no number: the first token never came."""
    return float(text.replace(b",", b".")) / 1e3 if text[:1].isdigit() else None
