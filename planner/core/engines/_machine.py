"""Lines of a budget that say the same under every engine."""

from planner.core.plan import MemoryLine


def others_line(size_bytes: int) -> MemoryLine:
    """What the user leaves to the desktop and other programs."""
    return MemoryLine(
        name="Left to the desktop and others",
        kind="reserved",
        size_bytes=size_bytes,
        why="You said that this much is not free: a desktop, a browser or another program keeps it.",
        grade="measured",
        source="reserved memory, as entered",
    )
