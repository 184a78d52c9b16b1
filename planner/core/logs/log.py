"""What a reader of a format writes to: found items in the order of the file, the line it is at, and what it did not understand."""

from typing import Final

from planner.core.logs.axis import Axis
from planner.core.logs.record import Counts, Facts, Notice, Sample, Task
from planner.core.logs.redacted import redacted

Item = Task | Sample | Notice

_EXAMPLES: Final = 6


class Log:
    """`position` is where the line that is being read begins in the block, `line` its number, from 1. `put` adds an item."""

    __slots__ = ("_block", "_counted", "_line", "axis", "counts", "facts", "items", "position", "put")

    def __init__(self, engine: str) -> None:
        self.axis = Axis()
        self.facts = Facts(engine=engine)
        self.counts = Counts()
        self.items: list[Item] = []
        self.put = self.items.append
        self.position = self._counted = self._line = 0
        self._block = b""

    def begin(self, block: bytes) -> None:
        """`block` is what is read from here on. It begins with a newline."""
        self._block, self._line = block, self.counts.lines
        self.position = self._counted = 0

    @property
    def line(self) -> int:
        # Counted when somebody asks: most lines are read without their number.
        if self.position > self._counted:
            self._line += self._block.count(b"\n", self._counted, self.position)
            self._counted = self.position
        return self._line

    @line.setter
    def line(self, number: int) -> None:
        self._line = number

    def not_understood(self, block: bytes, start: int) -> None:
        """The engine's own line at `start` says something that no rule knows."""
        self.counts.unparsed_lines += 1
        examples = self.counts.unparsed_examples
        if len(examples) < _EXAMPLES:
            example = redacted(block[start : block.find(b"\n", start)])
            if example not in examples:
                examples.append(example)
