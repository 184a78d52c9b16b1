"""The verdict as people say it: one sentence, what people will feel, and what binds."""

from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.plan import Fit, Limit, Plan, Verdict

_WORDS: Final[dict[Verdict, str]] = {"fits": "Fits", "tight": "Tight", "does_not_fit": "Does not fit"}
_BINDS: Final[dict[Limit, str]] = {"memory": "Memory binds", "users": "Your users set the number", "engine": "The engine binds"}


@dataclass(frozen=True, slots=True)
class Headline:
    """`state` picks icon and colour, `word` says the same, `sentence` completes it; `felt` is what people will notice."""

    state: Verdict
    word: str
    sentence: str
    felt: str
    binds: str
    inequality: str

    @property
    def text(self) -> str:
        """All of it for a terminal: `Tight: 4 of the 6 slots you want. 29 % of turns will wait, 1.8 s on average …`"""
        return f"{self.word}: {self.sentence} {self.felt}"


def headline(plan: Plan) -> Headline:
    fit = plan.fit
    # Where people set the number, what memory bears is not the reason but how far it goes.
    inequality = f"No more than {fit.slots_that_fit:,} fit: {fit.inequality}" if fit.limit == "users" else fit.inequality
    return Headline(fit.verdict, _WORDS[fit.verdict], _sentence(fit), _felt(fit), _BINDS[fit.limit], inequality)


def _slots(count: int) -> str:
    return f"{count:,} slot" if count == 1 else f"{count:,} slots"


def _sentence(fit: Fit) -> str:
    if fit.slots_that_fit == 0:
        return f"not one conversation of {fit.context_per_slot:,} tokens finds room."
    if fit.slots > fit.slots_that_fit:
        return f"you ask for {_slots(fit.slots)}, and {fit.slots_that_fit:,} find room."
    if fit.slots < fit.slots_needed:
        return f"{fit.slots:,} of the {_slots(fit.slots_needed)} you want."
    if fit.slots_that_fit == fit.slots_needed:
        return f"all {_slots(fit.slots_needed)} you want, and none to spare."
    return f"the {_slots(fit.slots)} you want, and room for {fit.slots_that_fit:,}."


def _felt(fit: Fit) -> str:
    if fit.slots_that_fit == 0:
        return "Nobody can be served as it stands."
    if not fit.chosen.wait_probability:
        return "Nobody waits: there is a slot for everyone."
    share, wait = units.percent(fit.chosen.wait_probability), units.seconds(fit.chosen.mean_wait_seconds)
    return f"{share} of turns will wait, {wait} on average over all turns."
