"""What a reader of a format writes to: found items in the order of the file, the line it is at, and what it did not understand."""

from typing import Final

from planner.core.logs.axis import Axis
from planner.core.logs.record import Counts, Facts, Notice, Sample, Task
from planner.core.logs.redacted import redacted

Item = Task | Sample | Notice

_EXAMPLES: Final = 6


class Log:
    """`line` is the number of the line that is being read, from 1. `items` wait to be taken; `put` adds one."""

    __slots__ = ("axis", "counts", "facts", "items", "line", "put")

    def __init__(self, engine: str) -> None:
        self.axis = Axis()
        self.facts = Facts(engine=engine)
        self.counts = Counts()
        self.line = 0
        self.items: list[Item] = []
        self.put = self.items.append

    def not_understood(self, block: bytes, start: int) -> None:
        """The engine's own line at `start` says something that no rule knows."""
        self.counts.unparsed_lines += 1
        examples = self.counts.unparsed_examples
        if len(examples) < _EXAMPLES:
            example = redacted(block[start : block.find(b"\n", start)])
            if example not in examples:
                examples.append(example)
