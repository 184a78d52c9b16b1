"""A log of any size, read once: its requests, samples and notices as they end, then its facts and counts."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from planner.core.errors import InputError
from planner.core.logs.blocks import blocks
from planner.core.logs.formats import Format, Rule, State, formats
from planner.core.logs.log import Item, Log
from planner.core.logs.record import Counts, Facts
from planner.core.logs.wrapping import unwrapped, wrapped_at

_HEAD: Final = 1 << 18
_GLANCE: Final = 1 << 12
# So few lines of another engine may be quoted in a message.
_FEW: Final = 3


def read(chunks: Iterable[bytes], *, engine: str | None = None) -> "Reading":
    """The log that the `chunks` make up, of the `engine` named, or of the one its lines show.

    Raises InputError when iterated: for what is no text, is empty, or has no line of an engine known here.
    """
    if engine is not None and engine not in formats():
        raise InputError(f"No log of “{engine}” can be read: there are {', '.join(sorted(formats()))}.", field="engine")
    return Reading(chunks, engine)


class Reading:
    """Iterate it once, for Task, Sample and Notice in the order of the file, requests when they end.

    `facts` and `counts` are complete when it is exhausted. Memory is bounded by a block and the requests that run at a time.
    """

    def __init__(self, chunks: Iterable[bytes], engine: str | None) -> None:
        self._chunks = chunks
        self._format = formats()[engine] if engine else None
        self._log = Log(engine or "")
        self._width: int | None = None

    @property
    def facts(self) -> Facts:
        return self._log.facts

    @property
    def counts(self) -> Counts:
        return self._log.counts

    def __iter__(self) -> Iterator[Item]:
        log, state = self._log, None
        others: set[str] = set()
        for block in blocks(self._chunks, log.counts):
            if state is None:
                state = self._begin(block)
            if state is None or self._format is None:
                log.counts.other_lines += block.count(b"\n") - 1
                continue
            others |= _others(block, self._format)
            own = self._format.own
            _scan(unwrapped(block, self._width, own) if self._width else block, state, own, log)
            yield from log.items
            log.items.clear()
        if state is None:
            raise InputError(_nothing(log.counts))
        state.finish()
        log.counts.backwards = log.axis.backwards
        if others:
            log.facts.values["also"] = sorted(others)
        yield from log.items
        log.items.clear()

    def _begin(self, block: bytes) -> State | None:
        if self._format is None:
            self._format = _speaks_in(block[:_HEAD]) or _speaks_in(block)
            if self._format is None:
                return None
        self._log.facts.engine = self._format.engine
        self._width = wrapped_at(block[:_HEAD], self._format.own)
        return self._format.start(self._log)


def _speaks_in(text: bytes) -> Format | None:
    """Whose lines these are, by how many are surely theirs."""
    scores = [(one.sniff(text), one) for one in formats().values()]
    best, found = max(scores, key=lambda score: score[0])
    return found if best else None


def _nothing(counts: Counts) -> str:
    if not counts.bytes:
        return "The log is empty."
    known = ", ".join(sorted(formats()))
    return (
        f"None of the {counts.lines:,} lines is one that {known} write: give the server's own log (what it prints), not the application's."
    )


def _others(block: bytes, chosen: Format) -> set[str]:
    """Engines whose lines stand among those of the `chosen` one: only its own are read."""
    glance = block[:_GLANCE]
    mine = chosen.sniff(glance)
    return {
        one.engine
        for one in formats().values()
        if one is not chosen and one.engine not in chosen.wraps and one.sniff(glance) - (mine if chosen.engine in one.wraps else 0) > _FEW
    }


def _scan(block: bytes, state: State, own: re.Pattern[bytes], log: Log) -> None:
    """Hand each line with an anchor to its rule, in the order of the lines, and count the others."""
    find, rfind = block.find, block.rfind
    size = len(block)
    end = 1  # the first byte that no line handed over so far has
    passed: list[bytes] = []
    rules: tuple[Rule, ...] = ()
    nexts: list[int] = []
    log.begin(block)
    while True:
        if state.rules is not rules:
            rules = state.rules
            nexts = [find(rule.anchor, end) % (size + 1) for rule in rules]
        at = min(nexts, default=size)
        if at == size:
            break
        which = nexts.index(at)
        anchor, handle, sweep = rules[which]
        nexts[which] = size
        limit = min(nexts)
        if sweep is not None:
            end, at = sweep(block, at, end, limit, passed)
        else:
            while at < limit:
                start = rfind(b"\n", end - 1, at) + 1
                if start != end:
                    passed.append(block[end - 1 : start - 1])
                log.position = start
                handle(block, start, at)
                end = find(b"\n", at) + 1
                at = find(anchor, end) % (size + 1)
                if state.rules is not rules:
                    break
        nexts[which] = at
        for other, position in enumerate(nexts):
            if position < end:
                nexts[other] = find(rules[other].anchor, end) % (size + 1)
    passed.append(block[end - 1 : size - 1])
    _count(b"".join(passed), own, log)


def _count(lines: bytes, own: re.Pattern[bytes], log: Log) -> None:
    """`lines`, each with the newline before it, were handed to no rule."""
    theirs = own.findall(lines)
    log.counts.other_lines += lines.count(b"\n") - len(theirs)
    if b"" in theirs:
        ended = lines + b"\n"
        for found in own.finditer(lines):
            if not found[1]:
                log.not_understood(ended, found.start() + 1)
