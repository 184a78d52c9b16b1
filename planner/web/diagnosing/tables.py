"""The tables of a diagnosis: each a row of cells as they are shown."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.diagnosing.diagnosis import GROUPS, Breakdown, Cause, Compared, Diagnosis, GroupFigures, Purpose, Rates, Spread, WhatIf
from planner.core.errors import one_line
from planner.core.logs.redacted import redacted

_CAUSES: Final[Mapping[Cause, str]] = {
    "other_adapter": "Another adapter",
    "same_adapter": "Another prompt before it",
    "slots_full": "A free slot",
    "nothing": "Nothing that ran",
}
_CHANGES: Final[Mapping[str, str]] = {
    "shorter_histories": "Shorter histories",
    "captions_instead_of_images": "Captions instead of images",
    "more_slots": "More slots",
    "smaller_batch": "Smaller passes",
}
_UNKNOWN: Final = "not known"
# The last range of batches has no end that anybody would set.
_ANY_BATCH: Final = 2**20


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the bar of all processing seconds, `x` and `width` in percent of it."""

    kind: str
    name: str
    seconds: float
    share: float
    x: float
    width: float
    why: str

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 2)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table, its cells as they are shown."""

    name: str
    cells: tuple[str, ...]


def words(text: str, *, shared: bool) -> str:
    """Words that came from outside: on the page of who brought them as they are, in what is shared without names of files and people."""
    return redacted(text.encode(errors="replace")) or "(hidden)" if shared else one_line(text)[:160]


def parts(whole: Breakdown) -> Iterator[Part]:
    each = (
        ("cache", "Own answer", whole.own_generation_s, "What the answers would have taken with nothing else running, by the fitted speed."),
        ("weights", "Own prompt", whole.own_prefill_s, "What reading the prompts would have taken with nothing else running, likewise."),
        ("overhead", "Contention", whole.contention_s, "What others in the same passes added: more sequences, and above all their prompts."),
        ("reserved", "Waiting", whole.waiting_s, "Between the slot and the first pass. A wait for a free slot comes before and is not in a log."),
    )  # fmt: skip
    x = 0.0
    for kind, name, seconds, why in each:
        share = whole.share(seconds)
        yield Part(kind, name, seconds, share, round(x, 2), round(100 * share, 2), why)
        x += 100 * share


def rates(found: Rates) -> Iterator[Row]:
    """Speeds of a single stream, and of prompts by how many tokens a pass took."""
    known = "given" if found.given else "fitted to this log" if found.cost else "with whatever ran beside, at best"
    for name, value in (("Prefill", found.prefill), ("Decode", found.decode)):
        yield Row(name, (f"{units.significant(value)} tokens/s" if value else _UNKNOWN, known if value else "too little in this log"))
    for each in found.by_batch:
        span = f"{each.low:,} and more" if each.high > _ANY_BATCH else f"{each.low:,} to {each.high:,}"
        note = f"with whatever ran beside; {each.count:,} measured"
        yield Row(f"Prefill, {span} tokens a pass", (f"{units.significant(each.rate)} tokens/s", note))


def felt(diagnosis: Diagnosis) -> Iterator[Row]:
    for name, spread, show in (
        ("Time to first token", diagnosis.ttft, units.seconds),
        ("Between two tokens", diagnosis.itl, units.gap),
        ("Wait for the first pass", diagnosis.wait, units.seconds),
    ):
        cells = (spread.p50, spread.p90, spread.p95, spread.max) if spread else ()
        yield Row(name, (*(show(cell) for cell in cells), f"{spread.count:,}") if spread else ())


def waits(diagnosis: Diagnosis) -> Iterator[Row]:
    for each in diagnosis.waits:
        if each.count:
            known = "inferred from who ran meanwhile" if each.inferred else "nothing else ran"
            yield Row(_CAUSES[each.cause], (f"{each.count:,}", _seconds(each.total_s), _seconds(each.max_s), known))


def purpose(purpose: Purpose, *, shared: bool) -> Row:
    cells = (
        f"{purpose.calls:,}",
        f"{purpose.tasks:,}",
        _seconds(_of(purpose.ttft, "p50")),
        _seconds(_of(purpose.ttft, "p95")),
        _seconds(_of(purpose.queue, "p95")),
        _seconds(_of(purpose.gate, "p95")),
        _seconds(_of(purpose.duration, "p50")),
    )
    return Row(words(purpose.name, shared=shared), cells)


def compared(row: Compared) -> Row:
    pairs = (
        (f"{row.before.count:,}", f"{row.after.count:,}"),
        *(tuple(_seconds(_of(side.ttft, "p50")) for side in (row.before, row.after)),),
        *(tuple(_rate(side) for side in (row.before, row.after)),),
        *(tuple(_seconds(_of(side.pause, share)) for side in (row.before, row.after)) for share in ("p50", "p95")),
    )
    return Row(GROUPS[row.group].capitalize(), tuple(f"{before} → {after}" for before, after in pairs))


def _rate(side: GroupFigures) -> str:
    value = _of(side.rate, "p50")
    return _UNKNOWN if value is None else units.significant(value)


def what_if(change: WhatIf) -> Row:
    saved = units.seconds(abs(change.seconds_a_day))
    cells = (f"{'saves' if change.seconds_a_day >= 0 else 'costs'} {saved} a day" if change.seconds_a_day else "nothing", change.text)
    return Row(_CHANGES.get(change.change, change.change.replace("_", " ").capitalize()), cells)


def _of(spread: Spread | None, name: str) -> float | None:
    return None if spread is None else float(getattr(spread, name))


def _seconds(value: float | None) -> str:
    return _UNKNOWN if value is None else units.seconds(value)
