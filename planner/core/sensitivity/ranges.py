"""The range of every input in which a plan's verdict holds, and what is beyond its ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core import weights as weighing
from planner.core.draft import Outline, Source
from planner.core.errors import InputError
from planner.core.plan import Plan, Verdict
from planner.core.sensitivity.held import Held, held
from planner.core.sensitivity.inputs import Input, Unit, inputs, shown
from planner.core.sensitivity.search import Flip, flip

VERDICT_WORDS: Final[dict[Verdict, str]] = {"fits": "fits", "tight": "is tight", "does_not_fit": "does not fit"}
_FORMATS_TRIED: Final = 2
_HOLDS: Final = "The verdict holds as far as this input goes."


@dataclass(frozen=True, slots=True)
class End:
    """One end of a range. `last` still has the plan's verdict; `beyond` is the next value, with the verdict it has and why.

    `beyond` None: the verdict holds as far as the input goes. `verdict` None beside a value: the engine refuses it, `why` says how.
    `fails` is the first value farther on that does not fit, where the next one is tight.
    """

    last: float
    beyond: float | None
    verdict: Verdict | None
    why: str
    fails: float | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """An input between its two ends. `distance` is the share of its value by which it must change to move the verdict; None: it cannot.

    `step` is the distance between neighbours on the grid it was varied on. `monotone` False: between the plan's value and a farther one
    with the same verdict there are values with another; the ends are the nearest ones found.
    `in_doubt`: the value is an estimate, and a break point lies within its range.
    """

    field: str
    title: str
    unit: Unit
    value: float
    step: float
    down: End
    up: End
    monotone: bool
    distance: float | None
    low: float | None
    high: float | None
    in_doubt: bool


@dataclass(frozen=True, slots=True)
class Swap:
    """Another choice where nothing can be counted. None: the engine refuses it, `why` says how."""

    field: str
    title: str
    value: str
    own: bool
    verdict: Verdict | None
    slots_that_fit: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """`ranges` with the input first that is nearest to a change; `swaps` of cache and weight formats; `held` says what stayed."""

    verdict: Verdict
    slots_needed: int
    slots_that_fit: int
    engine: str
    held: str
    ranges: tuple[Range, ...]
    swaps: tuple[Swap, ...]

    @property
    def movers(self) -> tuple[Range, ...]:
        return tuple(found for found in self.ranges if found.distance is not None)


def sensitivity(plan: Plan, source: Source) -> Sensitivity:
    """What moves the plan's verdict. Engine and passes stay as they are planned."""
    kept = held(plan, source)
    own = kept.outline({})
    ranges = [found for each in inputs(kept, own) if (found := _range(kept, own, each)) is not None]
    ranges.sort(key=lambda found: (found.distance is None, found.distance or 0.0))
    return Sensitivity(
        verdict=own.outcome.verdict,
        slots_needed=own.outcome.slots_needed,
        slots_that_fit=own.outcome.slots_that_fit,
        engine=plan.engine.title,
        held=f"One input changes at a time; {plan.engine.title} {plan.engine.version} and passes of {own.batch_tokens:,} tokens stay.",
        ranges=tuple(ranges),
        swaps=tuple(_swaps(kept, own)),
    )


def _verdict(kept: Held, own: Outline, varied: Input, n: int) -> Verdict | None:
    """None where the engine refuses it."""
    try:
        return kept.beside(own, varied.changes(varied.steps(n))).outcome.verdict
    except InputError:
        return None


def _range(kept: Held, own: Outline, varied: Input) -> Range | None:
    """None where the input, stated as a number, already gives another verdict than left to the plan: it is another plan then."""
    verdict = own.outcome.verdict
    if _verdict(kept, own, varied, 0) != verdict:
        return None
    known: dict[int, Verdict | None] = {}

    def same(n: int) -> bool:
        if n not in known:
            known[n] = _verdict(kept, own, varied, n)
        return known[n] == verdict

    fewer, more = (flip(same, start=0, end=end) for end in (-varied.most_down, varied.most_up))
    down = _end(kept, own, varied, walk=fewer, end=-varied.most_down)
    up = _end(kept, own, varied, walk=more, end=varied.most_up)
    beyond = [end.beyond for end in (down, up) if end.beyond is not None]
    step = varied.size / varied.per
    return Range(
        field=varied.field,
        title=varied.title,
        unit=varied.unit,
        value=varied.value,
        step=step,
        down=down,
        up=up,
        monotone=fewer.monotone and more.monotone,
        distance=min((abs(value - varied.value) / max(varied.value, step) for value in beyond), default=None),
        low=varied.low,
        high=varied.high,
        in_doubt=_in_doubt(varied.low, varied.high, beyond),
    )


def _in_doubt(low: float | None, high: float | None, beyond: list[float]) -> bool:
    return low is not None and high is not None and any(low <= value <= high for value in beyond)


def _end(kept: Held, own: Outline, varied: Input, *, walk: Flip, end: int) -> End:
    if walk.first is None:
        return End(varied.steps(walk.last), None, None, _HOLDS)
    value = varied.steps(walk.first)
    try:
        planned = kept.beside(own, varied.changes(value))
    except InputError as refusal:
        return End(varied.steps(walk.last), value, None, str(refusal))
    verdict = planned.outcome.verdict
    fails = _fails(kept, own, varied, start=walk.first, end=end) if verdict == "tight" else None
    return End(varied.steps(walk.last), value, verdict, reason(planned), fails)


def _fails(kept: Held, own: Outline, varied: Input, *, start: int, end: int) -> float | None:
    """The first value on from `start`, which is tight, that does not fit."""
    first = flip(lambda n: _verdict(kept, own, varied, n) not in {"does_not_fit", None}, start=start, end=end, probes=0).first
    return None if first is None else varied.steps(first)


def reason(planned: Outline) -> str:
    """The comparison that decides a verdict, in its numbers."""
    found = planned.outcome
    needed, fit = found.slots_needed, found.slots_that_fit
    if fit == 0:
        return f"Not one conversation of {planned.context_tokens:,} tokens finds room."
    if found.slots > fit:
        return f"{units.counted(found.slots, 'slot')} are asked for, and {fit:,} find room."
    counts = f"{units.counted(needed, 'slot')} {'is' if needed == 1 else 'are'} needed, and {fit:,} {'fits' if fit == 1 else 'fit'}"
    if found.slots >= needed:
        return f"{counts}: {'none' if fit == needed else f'{fit - needed:,}'} to spare."
    wait, patience = _apart(found.chosen.mean_wait_seconds, planned.request.patience)
    word = "within" if found.verdict == "tight" else "beyond"
    return f"{counts}; people wait {wait} on average, {word} their patience of {patience}."


def _apart(left: float, right: float) -> tuple[str, str]:
    """Two durations to be compared, in milliseconds more where they would look the same."""
    shown_left, shown_right = units.seconds(left), units.seconds(right)
    return (f"{left:,.3f} s", f"{right:,.3f} s") if shown_left == shown_right and left != right else (shown_left, shown_right)


def _swaps(kept: Held, own: Outline) -> Iterator[Swap]:
    engine, job = kept.engine, own.job
    types = engine.cache_types(job)
    eight_bit = engine.eight_bit_cache(job.node.device)
    for name in dict.fromkeys((types[0], eight_bit or types[0])):
        changes = {"cache_type": name, "cache_type_k": None, "cache_type_v": None}
        yield _swap(kept, "cache_type", "Cache type", name, changes, own=types == (name, name))
    if kept.request.weights_size is None and kept.source.weights_format is None:
        smaller = list(weighing.smaller_formats(job.weights.format, gguf=engine.serves_gguf))[:_FORMATS_TRIED]
        for name in (job.weights.format, *smaller):
            yield _swap(kept, "weights_quant", "Weight format", name, {"weights_quant": name}, own=name == job.weights.format)


def _swap(kept: Held, field: str, title: str, name: str, changes: dict[str, str | None], *, own: bool) -> Swap:
    try:
        planned = kept.outline({} if own else changes)
    except InputError as refusal:
        return Swap(field, title, name, own, None, None, str(refusal))
    return Swap(field, title, name, own, planned.outcome.verdict, planned.outcome.slots_that_fit, reason(planned))


def said(found: Range) -> str:
    """The range as one sentence: `Holds up to 36 users; at 37 users it does not fit: …`."""
    down, up = found.down, found.up
    if down.beyond is None and up.beyond is None:
        return "Does not move the verdict."
    low, high = shown(found.unit, down.last), shown(found.unit, up.last)
    if down.beyond is None:
        holds = f"Holds up to {high}"
    elif up.beyond is None:
        holds = f"Holds from {low} on"
    else:
        holds = f"Holds from {low} to {high}"
    ends = " ".join(_beyond(found.unit, end) for end in (down, up) if end.beyond is not None)
    doubt = " The value is an estimate whose range reaches beyond this: measure it." if found.in_doubt else ""
    waves = "" if found.monotone else " Farther away the verdict is the same again: what is shown is the nearest change found."
    return f"{holds}. {ends}{doubt}{waves}"


def _beyond(unit: Unit, end: End) -> str:
    value = shown(unit, end.beyond or 0.0)
    if end.verdict is None:
        return f"At {value} it is refused: {end.why}"
    fails = "" if end.fails is None else f" At {shown(unit, end.fails)} it does not fit any more."
    return f"At {value} it {VERDICT_WORDS[end.verdict]}: {end.why}{fails}"
