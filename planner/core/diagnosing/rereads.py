"""Prompts that were read from their beginning although a conversation of about that length had been there before."""

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
        self._histories: list[int] = []

    def look(self, life: Life) -> bool:
        """Whether a conversation that had been here before was read from its beginning: an earlier one ended about where it stands."""
        task = life.task
        prompt, cached = task.prompt_tokens or 0, task.cached_tokens or 0
        again = prompt >= _LEAST and cached < _FOUND * prompt and any(prompt / 2 <= told <= prompt * 1.02 for told in self._histories)
        if again:
            self.tokens += prompt - cached
            self.worst.add(
                at_s=life.launched,
                task=task.number,
                seconds=life.first - life.began,
                text=f"Task {task.number} read {prompt - cached:,} of {prompt:,} prompt tokens in {units.seconds(life.first - life.began)}.",
            )
        if prompt:
            self._histories.append(prompt + (task.output_tokens or 1) - 1)
            del self._histories[:-_HISTORIES]
        return again
