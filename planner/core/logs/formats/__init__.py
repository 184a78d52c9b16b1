"""The log formats Slotwise reads: one module per engine with a `FORMAT`, found here, and what such a module must offer."""

import importlib
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol, cast

from planner.core.logs.log import Log

Handler = Callable[[bytes, int, int], None]


class Sweep(Protocol):
    """Reads, in one go, the lines with the rule's anchor from the one at `at` on, up to `limit`: what `handle` would do line by line.

    `end` is where the line after the last one read begins. Lines in between are put into `passed`, each stretch from the newline
    before it to its last line's end without the newline. Returns the new `end` and where the anchor stands next. For the anchor that
    stands in nearly every line of a log.
    """

    def __call__(self, block: bytes, at: int, end: int, limit: int, passed: list[bytes]) -> tuple[int, int]: ...


class Rule(NamedTuple):
    """What to look for, and who reads it: `handle(block, start, at)`, where `start` is the line's first byte, `at` the anchor's.

    A line is handed to one rule only: the one whose anchor stands first in it. A block holds whole lines, the last one too ends
    with a newline, so a pattern is matched at `start` or `at` and never needs the line cut out. Choose anchors that are long
    and rare: each costs one pass over the log.
    """

    anchor: bytes
    handle: Handler
    sweep: Sweep | None = None


class State(Protocol):
    """One log's reading. `rules` may be replaced by a handler: from the next line on the new ones hold."""

    rules: tuple[Rule, ...]

    def finish(self) -> None:
        """The log is over: what is still open is put as cut."""
        ...


class Format(Protocol):
    """An engine's lines.

    `own` finds, among lines that no rule was handed, those that look like the engine's. It begins with a literal newline (the one
    before the line), and its only group takes part, with some text, where such a line is known and says nothing that is wanted. `wraps` are engines whose lines it prints too.
    """

    engine: str
    own: re.Pattern[bytes]
    wraps: frozenset[str]

    def sniff(self, head: bytes) -> int:
        """How many lines of `head` are surely this engine's. One that wraps another counts the other's lines with its own."""
        ...

    def start(self, log: Log) -> State: ...


@cache
def formats() -> dict[str, Format]:
    """Every format by the name of its engine."""
    found = [
        cast("Format", importlib.import_module(f"{__name__}.{module.name}").FORMAT)
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    ]
    return {one.engine: one for one in found}
