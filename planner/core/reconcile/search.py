"""Which causes explain which printed figures: those the lines state first, then as few guesses as will do."""

from collections.abc import Mapping, Sequence
from typing import Final

from planner.core.engines.contract import Cause, Printed
from planner.core.reconcile.trials import Trials

# Guesses that may be behind a difference together with what the lines say.
_MOST_GUESSES: Final = 2


class Search:
    """Which causes explain which printed figures: those the lines state first, then as few guesses as will do."""

    def __init__(self, printed: Mapping[str, Printed], causes: tuple[Cause, ...], trials: Trials) -> None:
        self.reader, self.plan, self._trials, self._printed = trials.reader, trials.plan, trials, printed
        self.stated = tuple(cause for cause in causes if cause.key is not None)
        self._guessed = self._guess([cause for cause in causes if cause.key is None])

    def _agreeing(self, causes: Sequence[Cause]) -> tuple[frozenset[str], int]:
        """The figures that are as expected under `causes` or within what an estimate allows, and how many are exactly so."""
        world = self._trials.world(causes)
        if world is None:
            return frozenset(), 0
        figures = self._printed.values()
        return frozenset(each.key for each in figures if world.has(each) or world.allows(each)), sum(world.has(each) for each in figures)

    def _guess(self, guesses: Sequence[Cause]) -> tuple[Cause, ...]:
        """The guesses with which, beside what is stated, the most figures agree; none unless it adds some and takes none away."""
        chosen: tuple[Cause, ...] = ()
        for _ in range(_MOST_GUESSES):
            before, _exact = self._agreeing((*self.stated, *chosen))
            if len(before) == len(self._printed):
                break
            found = self._best(before, chosen, guesses)
            if found is None:
                break
            chosen = (*chosen, found)
        return chosen

    def _best(self, before: frozenset[str], chosen: tuple[Cause, ...], guesses: Sequence[Cause]) -> Cause | None:
        best, most = None, (len(before), 0)
        for guess in guesses:
            agreeing, exact = self._agreeing((*self.stated, *chosen, guess))
            if agreeing > before and (len(agreeing), exact) > most:
                best, most = guess, (len(agreeing), exact)
            if exact == len(self._printed):
                break
        return best

    def explaining(self, figure: Printed) -> tuple[Cause, ...]:
        """The fewest causes under which the plan expects the figure; none where no combination does.

        What is measured at start is not explained by the measurement itself, nor by what does not move it.
        """
        measured = figure.key in self.reader.measured
        causes = [cause for cause in (*self.stated, *self._guessed) if not (measured and cause.key == figure.key)]
        causes.sort(key=lambda cause: cause.key != figure.key)
        for cause in causes:
            if self._moves(figure, (cause,)):
                return (cause,)
        if not self._moves(figure, causes):
            return ()
        for cause in tuple(causes):
            fewer = [other for other in causes if other is not cause]
            if self._moves(figure, fewer):
                causes = fewer
        return tuple(causes)

    def has(self, figure: Printed, causes: Sequence[Cause]) -> bool:
        """Whether the plan expects exactly the figure under `causes`."""
        world = self._trials.world(causes)
        return world is not None and world.has(figure)

    def _moves(self, figure: Printed, causes: Sequence[Cause]) -> bool:
        world, plan = self._trials.world(causes), self.plan
        if not causes or world is None:
            return False
        return world.has(figure) or (world.allows(figure) and world.low.get(figure.key) != plan.low.get(figure.key))
