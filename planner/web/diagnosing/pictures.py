"""The pictures of a diagnosis: for each a figure, the same in a sentence, and a table that needs no picture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.core import units
from planner.core.diagnosing.diagnosis import Bar, Diagnosis, GenerationRate, Lane, Moment, Spread
from planner.web import charts
from planner.web.charts import Bin, Stroke

# Rows of a table beside a picture.
_ROWS: Final = 12
# A task that is shown first has so much around it, in its own lengths; a log of so many such stretches is not shown whole first.
_AROUND: Final = 8
_CROWDED: Final = 3
# A time axis is in seconds up to here, then in minutes, then in hours.
_IN_SECONDS: Final = 180.0
_IN_MINUTES: Final = 7_200.0


@dataclass(frozen=True, slots=True)
class Picture:
    """`description` says what the figure shows, `head` and `rows` are the table.

    A `wide` one takes the whole width; where it is `zoomable` the time axis can be drawn out.
    """

    id: str
    title: str
    note: str
    figure: dict[str, Any]
    description: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: bool = False
    zoomable: bool = False


def pictures(diagnosis: Diagnosis) -> tuple[Picture, ...]:
    """Those that the log has something for, in the order of the page."""
    return tuple(
        picture
        for picture in (
            _slots(diagnosis),
            _generation(diagnosis.during_long_prefill, diagnosis.otherwise),
            _distribution("ttft-bars", "Time to first token", diagnosis.ttft_bars, diagnosis.ttft),
            _distribution("wait-bars", "Wait for the first pass", diagnosis.wait_bars, diagnosis.wait),
            _in_flight(diagnosis.in_flight, diagnosis.span_s),
        )
        if picture is not None
    )


def _axis(span_s: float) -> tuple[str, float]:
    """The unit of a time axis, and its seconds."""
    if span_s <= _IN_SECONDS:
        return "seconds", 1.0
    return ("minutes", 60.0) if span_s <= _IN_MINUTES else ("hours", 3600.0)


def _slots(diagnosis: Diagnosis) -> Picture | None:
    lanes = diagnosis.lanes
    if not lanes:
        return None
    first, last = min(lane.launched_s for lane in lanes), max(lane.ended_s for lane in lanes)
    unit, seconds = _axis(last)
    worst = sorted(lanes, key=lambda lane: (-_stalled_s(lane), lane.launched_s - lane.ended_s))[:_ROWS]
    strokes = [stroke for lane in lanes for stroke in _strokes(lane, seconds)]
    slots = {lane.slot for lane in lanes}
    opens = _opens_at(worst[0], last - first)
    stalled = [lane for lane in lanes if lane.stalls]
    stands = f"{units.counted(len(stalled), 'answer')} stood still beside somebody else’s prompt" if stalled else "No answer stood still"
    thinned = " These are the busiest tasks one after another; the whole log has more." if diagnosis.lanes_thinned else ""
    beginning = f" It opens at the worst task, at {units.seconds(worst[0].launched_s)}." if opens else ""
    return Picture(
        id="slots",
        title="Slots over time",
        note=f"{units.counted(len(lanes), 'task')} in {units.counted(len(slots), 'slot')}",
        figure=charts.slots_over_time(strokes, unit=unit, shown=opens and (opens[0] / seconds, opens[1] / seconds)),
        description=f"What each slot did from {units.seconds(first)} to {units.seconds(last)} of the log. {stands}. The table has the worst tasks.",
        caption=f"Each bar is a task: thin where it waits for its first pass, then its prompt, then its answer; the thin line inside is where it "
        f"stood still.{thinned}{beginning} Drag over a stretch to see it closer; two clicks show all.",
        head=("Task", "Slot", "Launched at", "Waited", "Prompt read in", "Answer in", "Stood still", "Prompt", "Answer", "Ended"),
        rows=tuple(_lane_row(lane) for lane in worst),
        wide=True,
        zoomable=True,
    )


def _opens_at(lane: Lane, span_s: float) -> tuple[float, float] | None:
    """The stretch around a task that is shown first, where all of the log at once would make each task a hair."""
    around = max(_AROUND * (lane.ended_s - lane.launched_s), 1.0)
    middle = (lane.launched_s + lane.ended_s) / 2
    return (middle - around / 2, middle + around / 2) if span_s > _CROWDED * around else None


def _strokes(lane: Lane, seconds: float) -> Iterator[Stroke]:
    tokens = f"{_tokens(lane.prompt_tokens)} prompt, {_tokens(lane.output_tokens)} answer tokens"
    parts: tuple[tuple[charts.StrokeKind, float, float, str], ...] = (
        ("waits", lane.launched_s, lane.started_s, "waits"),
        ("prompt", lane.started_s, lane.first_token_s, "reads its prompt"),
        ("answer", lane.first_token_s, lane.ended_s, "answers"),
        *(("stalled", stall.start_s, stall.end_s, "stands still") for stall in lane.stalls),
    )
    for kind, start, end, does in parts:
        if end > start:
            said = f"task {lane.task} {does} for {units.seconds(end - start)} ({tokens})"
            yield Stroke(kind, lane.slot, round(start / seconds, 5), round(end / seconds, 5), said)


def _lane_row(lane: Lane) -> tuple[str, ...]:
    return (
        f"{lane.task:,}",
        f"{lane.slot:,}",
        units.seconds(lane.launched_s),
        units.seconds(max(0.0, lane.started_s - lane.launched_s)),
        units.seconds(max(0.0, lane.first_token_s - lane.started_s)),
        units.seconds(max(0.0, lane.ended_s - lane.first_token_s)),
        units.seconds(_stalled_s(lane)),
        _tokens(lane.prompt_tokens),
        _tokens(lane.output_tokens),
        lane.ending,
    )


def _stalled_s(lane: Lane) -> float:
    return sum(stall.end_s - stall.start_s for stall in lane.stalls)


def _tokens(count: int | None) -> str:
    return "not known" if count is None else f"{count:,}"


def _generation(during: GenerationRate, otherwise: GenerationRate) -> Picture | None:
    cases = (("beside a long prefill", during, "overlap"), ("otherwise", otherwise, "answer"))
    known = [(name, rate, noun) for name, rate, noun in cases if rate.median is not None and rate.mean is not None]
    if len(known) < len(cases):
        return None
    shown = {name: _rate(rate.median or 0.0) for name, rate, _ in known}
    return Picture(
        id="generation",
        title="Speed beside long prompts",
        note=f"{units.counted(during.n, 'overlap')}",
        figure=charts.rates_beside([(name, rate.median or 0.0, f"{shown[name]} tokens/s") for name, rate, _ in known]),
        description="The median speed of one stream: " + ", ".join(f"{shown[name]} tokens per second {name}" for name, _, _ in known) + ".",
        caption="Medians: half of the streams got less. The means are all tokens over all seconds.",
        head=("A stream", "Tokens/s, half", "Tokens/s, mean", "Counted"),
        rows=tuple((name.capitalize(), shown[name], _rate(rate.mean or 0.0), units.counted(rate.n, noun)) for name, rate, noun in known),
        wide=True,
    )


def _rate(value: float) -> str:
    return units.trimmed(value, 2 if value < 10 else 1)


def _distribution(name: str, title: str, bars: Sequence[Bar], spread: Spread | None) -> Picture | None:
    bins = _bins(bars)
    if sum(each.count > 0 for each in bins) < 2:
        return None  # one column shows nothing that the table has not
    told = (
        f" Half of {spread.count:,} lie within {units.seconds(spread.p50)}, 95 % within {units.seconds(spread.p95)}, "
        f"all within {units.seconds(spread.max)}."
        if spread
        else ""
    )
    return Picture(
        id=name,
        title=f"{title}: how often how long",
        note=f"{units.counted(sum(bar.count for bar in bars), 'task')}",
        figure=charts.distribution(bins, title=title.lower()),
        description=f"How many tasks had which {title.lower()}.{told}",
        caption="Each column is about a quarter longer than the one before it, so that short and long ones are seen together.",
        head=(title, "Tasks"),
        rows=tuple((each.name, f"{each.count:,}") for each in bins if each.count),
    )


def _bins(bars: Sequence[Bar]) -> list[Bin]:
    """Bins that read alike are one."""
    found: dict[str, Bin] = {}
    for bar in bars:
        high = units.gap(bar.high)
        name = high if bar.low == bar.high else f"{units.gap(bar.low)} to {high}"
        found[name] = Bin(name, high, bar.count + (found[name].count if name in found else 0))
    return list(found.values())


def _in_flight(moments: Sequence[Moment], span_s: float | None) -> Picture | None:
    if len(moments) < 2 or not span_s:
        return None
    unit, seconds = _axis(span_s)
    most = max(moments, key=lambda moment: moment.most)
    return Picture(
        id="load",
        title="In flight over time",
        note=f"at most {most.most:,}",
        figure=charts.in_flight_over_time(
            [round(moment.at_s / seconds, 4) for moment in moments],
            [round(moment.mean, 3) for moment in moments],
            [moment.most for moment in moments],
            unit=unit,
        ),
        description=f"Tasks in flight over {units.seconds(span_s)}: at most {most.most:,}, around {units.seconds(most.at_s)}.",
        caption="The filled line is the mean of each stretch, the thin one the most at any moment of it.",
        head=("From", "On average", "At most"),
        rows=tuple(_grouped(moments)),
        wide=True,
    )


def _grouped(moments: Sequence[Moment]) -> Iterator[tuple[str, ...]]:
    size = -(-len(moments) // _ROWS)
    for start in range(0, len(moments), size):
        group = moments[start : start + size]
        mean = sum(moment.mean for moment in group) / len(group)
        yield units.seconds(group[0].at_s), units.trimmed(mean, 2), f"{max(moment.most for moment in group):,}"
