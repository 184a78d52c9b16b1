"""Turns that are alike by what ran beside them, so that one log can be held against another."""

from typing import Final

from planner.core.diagnosing.diagnosis import GROUPS, Group, GroupFigures
from planner.core.diagnosing.gathering import Values
from planner.core.diagnosing.life import Clocks, Life

# Beside a task in flight for less than this share of its time, a turn counts as alone.
_BESIDE: Final = 0.05


class Groups:
    def __init__(self) -> None:
        self._ttft = {group: Values() for group in GROUPS}
        self._rate = {group: Values() for group in GROUPS}
        self._pause = {group: Values() for group in GROUPS}
        self._count = dict.fromkeys(GROUPS, 0)

    def add(self, life: Life, clocks: Clocks) -> None:
        group = _group(life, clocks)
        self._count[group] += 1
        self._ttft[group].add(life.first - life.launched)
        steps = (life.task.output_tokens or 0) - 1
        if steps > 0 and life.last > life.first:
            self._rate[group].add(steps / (life.last - life.first))
            self._pause[group].add(life.pause_s)

    def figures(self) -> tuple[GroupFigures, ...]:
        return tuple(
            GroupFigures(
                group=group,
                count=self._count[group],
                ttft=self._ttft[group].spread(),
                rate=self._rate[group].spread(),
                pause=self._pause[group].spread(),
            )
            for group in GROUPS
        )


def _group(life: Life, clocks: Clocks) -> Group:
    seconds = life.last - life.launched
    if life.long:
        return "long_prompt"
    if clocks.reading_long - life.at_launch.reading_long > _BESIDE * seconds:
        return "beside_long"
    return "overlapping" if clocks.two - life.at_launch.two > _BESIDE * seconds else "alone"
