"""The curves around a run: the same server and load with another batch size, with fewer or more users, with fewer or more slots."""

from typing import Final

from planner.core.request import MAX_USERS
from planner.core.simulating.runs import Axis, Trial

# A pass of fewer tokens costs more in overhead than it can win, one of more is longer than the contexts people use.
_SMALLEST_BATCH: Final = 64
_LARGEST_BATCH: Final = 65_536
# llama-server serves no more (LLAMA_MAX_SEQ); beyond this the curve of any engine is flat.
_MOST_SLOTS: Final = 256
_PASSES: Final = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
_PEOPLE: Final = (1 / 4, 1 / 2, 3 / 4, 1, 3 / 2, 2, 3)
_SLOTS: Final = (1 / 4, 1 / 2, 3 / 4, 1, 5 / 4, 3 / 2, 2)


def axes_around(trial: Trial) -> tuple[Axis, ...]:
    """Batch size, users and slots, each from well below to well above the run's own value, which is among them."""
    server, people = trial.set_up.scheduler, trial.set_up.traffic.people
    return (
        _axis("batch", server.batch_tokens, _PASSES, least=max(_SMALLEST_BATCH, server.slots), most=_LARGEST_BATCH),
        _axis("users", people, _PEOPLE, least=1, most=MAX_USERS),
        _axis("slots", server.slots, _SLOTS, least=1, most=min(_MOST_SLOTS, server.batch_tokens)),
    )


def held(trial: Trial) -> dict[str, str | int]:
    """The options that keep the run's engine, slots and batch size where an option beside them changes."""
    server = trial.set_up.scheduler
    return {"engine": trial.set_up.engine, "slots": server.slots, "batch": server.batch_tokens}


def _axis(option: str, own: int, factors: tuple[float, ...], *, least: int, most: int) -> Axis:
    near = {round(own * factor) for factor in factors}
    return Axis(option, tuple(str(value) for value in sorted({own, *(value for value in near if least <= value <= most)})))
