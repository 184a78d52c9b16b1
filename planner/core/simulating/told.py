"""A simulated run in a sentence or two: what people will feel, and whether it stays within the limits they set."""

from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.plan import Verdict
from planner.core.simulating.hardship import Breach, breaches
from planner.core.simulating.runs import Trial
from planner.core.simulation import policies
from planner.core.simulation.results import Felt

_ARRIVALS: Final = {
    "closed": "each sends, reads, thinks and sends again",
    "poisson": "sending independently of each other",
    "agents": "who send again at once, as agents do",
}
_NOBODY: Final = "Nobody sends anything in so short a time: simulate a longer one."


@dataclass(frozen=True, slots=True)
class Told:
    """`state` picks icon and colour, `word` says the same, `sentence` is what people feel, `limits` how it stands to what they set.

    `load` says what was simulated.
    """

    state: Verdict
    word: str
    sentence: str
    limits: str
    load: str


def told(trial: Trial) -> Told:
    felt = trial.run.everyone
    if not felt.turns + felt.rejected + felt.failed:
        return Told(state="tight", word="Nothing to judge", sentence="not one turn is sent.", limits=_NOBODY, load=_load(trial))
    broken = tuple(breaches(felt, trial.set_up.request))
    return Told(
        state="does_not_fit" if broken else "fits",
        word="Beyond your limits" if broken else "Within your limits",
        sentence=_sentence(felt),
        limits=_limits(trial, broken),
        load=_load(trial),
    )


def _sentence(felt: Felt) -> str:
    if felt.ttft is None:
        return "not one turn is answered."
    first = f"half of the first tokens come within {units.seconds(felt.ttft.p50)}, 95\u00a0% within {units.seconds(felt.ttft.p95)}"
    if felt.pause is None:
        return f"{first}; no answer has a second token to wait for."
    return f"{first}; in 95\u00a0% of the answers no pause is longer than {units.seconds(felt.pause.p95)}."


def _limits(trial: Trial, broken: tuple[Breach, ...]) -> str:
    if broken:
        return " ".join(breach.message for breach in broken)
    request = trial.set_up.request
    return (
        f"In 95 of 100 cases a turn starts within the {units.seconds(request.patience)} of patience, and no pause is longer than the "
        f"{units.seconds(request.pause_target)} you set. {_refused(trial.run.everyone)}"
    )


def _refused(felt: Felt) -> str:
    lost = felt.rejected + felt.failed
    return (
        f"{units.counted(lost, 'turn')} of {felt.turns + lost:,} {'is' if lost == 1 else 'are'} refused." if lost else "Nobody is refused."
    )


def _load(trial: Trial) -> str:
    ready, server = trial.set_up, trial.set_up.scheduler
    traffic = ready.traffic
    if trial.replayed:
        sent = f"{units.counted(trial.replayed, 'recorded request')}, sent at the recorded times"
    else:
        people = units.counted(traffic.people, "user")
        lengths = f"turns of {traffic.kinds[0].prompt.mean:,} prompt and {traffic.kinds[0].output.mean:,} answer tokens on average"
        sent = f"{people} for {units.seconds(traffic.duration_s)}, {_ARRIVALS[traffic.arrivals]}; {lengths}"
    return f"{sent}. {policies()[server.policy].title} with {units.counted(server.slots, 'slot')}, {server.batch_tokens:,} tokens a pass at most."
