"""Prompts that were read from their beginning although a conversation of about that length had been there before."""

from bisect import bisect_left, insort
from collections import deque
from typing import Final

from planner.core import units
from planner.core.diagnosing.gathering import Worst
from planner.core.diagnosing.life import Life

# A prompt is read again where less than this share of it was found in the cache, and it is worth mentioning from this many tokens on.
_FOUND: Final = 0.1
_LEAST: Final = 512
# Conversations that are remembered.
_HISTORIES: Final = 64


class Rereads:
    def __init__(self) -> None:
        self.worst = Worst()
        self.tokens = 0
        self._lengths: list[int] = []  # in order
        self._recent: deque[int] = deque()

    def look(self, life: Life) -> bool:
        """Whether a conversation that had been here before was read from its beginning: an earlier one ended about where it stands."""
        task = life.task
        prompt, cached = task.prompt_tokens or 0, task.cached_tokens or 0
        again = prompt >= _LEAST and cached < _FOUND * prompt and self._was_here(prompt)
        if again:
            self.tokens += prompt - cached
            self.worst.add(
                at_s=life.launched,
                task=task.number,
                seconds=life.first - life.began,
                text=lambda: (
                    f"Task {task.number} read {prompt - cached:,} of {prompt:,} prompt tokens in {units.seconds(life.first - life.began)}."
                ),
            )
        if prompt:
            self._remember(prompt + (task.output_tokens or 1) - 1)
        return again

    def _was_here(self, prompt: int) -> bool:
        """Whether a conversation has ended with between half of its tokens and all of them."""
        at = bisect_left(self._lengths, prompt / 2)
        return at < len(self._lengths) and self._lengths[at] <= prompt * 1.02

    def _remember(self, length: int) -> None:
        insort(self._lengths, length)
        self._recent.append(length)
        if len(self._recent) > _HISTORIES:
            del self._lengths[bisect_left(self._lengths, self._recent.popleft())]
