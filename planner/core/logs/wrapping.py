"""Lines that a terminal broke at its width before somebody copied them: put together again."""

import re
from collections import Counter
from itertools import pairwise
from typing import Final

# Narrower terminals break a line's beginning too.
_NARROWEST: Final = 60
# So many lines must be broken at one width before it is taken for that.
_ENOUGH: Final = 3


def wrapped_at(head: bytes, own: re.Pattern[bytes]) -> int | None:
    """The width at which lines of an engine (`own`, as of a Format) are broken in `head`, if none is longer than that."""
    lines = head.split(b"\n")[1:-1]
    theirs = [own.match(b"\n" + line) is not None for line in lines]
    broken = Counter(
        len(line)
        for (line, begins), (_, follows) in pairwise(zip(lines, theirs, strict=True))
        if begins and not follows and len(line) >= _NARROWEST
    )
    width = max(map(len, lines), default=0)
    return width if broken[width] >= _ENOUGH else None


def unwrapped(block: bytes, width: int, own: re.Pattern[bytes]) -> bytes:
    """Each line that is `width` long continues in the next one, unless that is a line of its own."""
    return re.sub(rb"(?<=\n)([^\n]{%d})(?!%s)\n(?!\Z)" % (width, own.pattern), rb"\1", block)
