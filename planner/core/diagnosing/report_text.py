"""A diagnosis as a terminal shows it: the figures, the findings, what was ruled out, what a change would do."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.diagnosing.diagnosis import GROUPS, Comparison, Diagnosis, Finding, Group, GroupFigures, Spread
from planner.core.diagnosing.told import not_read, nothing_found
from planner.core.errors import one_line

_CAUSES: Final = {
    "other_adapter": "another adapter (inferred)",
    "same_adapter": "another prompt before it (inferred)",
    "slots_full": "a free slot (inferred)",
    "nothing": "nothing that ran",
}


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The whole diagnosis for a terminal."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield from _head(diagnosis)
    if diagnosis.findings:
        for number, finding in enumerate(diagnosis.findings, 1):
            yield ""
            yield from _finding(number, finding)
    else:
        yield ""
        yield nothing_found(diagnosis)
    yield from _section("Ruled out", [f"{each.hypothesis}: {each.evidence}" for each in diagnosis.ruled_out])
    yield from _section("What if", [each.text for each in diagnosis.what_if])
    yield from _purposes(diagnosis)
    if diagnosis.comparison is not None:
        yield from _comparison(diagnosis.comparison)
    if diagnosis.query:
        yield ""
        yield f"These speeds in a plan: /?{diagnosis.query}"
    yield from _section("Notes", [remark.message for remark in (*diagnosis.warnings, *not_read(diagnosis))])


def _head(diagnosis: Diagnosis) -> Iterator[str]:
    facts, counts = diagnosis.facts, diagnosis.counts
    version = facts.values.get("version")
    named = f"{facts.engine}{f' {one_line(str(version))[:40]}' if version else ''}"
    span = f" over {units.seconds(diagnosis.span_s)}" if diagnosis.span_s else ""
    yield (
        f"{named}: {units.counted(diagnosis.tasks, 'task')}{span} ({diagnosis.finished:,} finished, {diagnosis.cancelled:,} cancelled, {diagnosis.refused:,} refused), "
        f"{counts.lines:,} lines, {counts.unparsed_lines:,} of them not understood"
    )
    if diagnosis.busy_share is not None and diagnosis.two_or_more_share is not None:
        yield (
            f"Busy {units.percent(diagnosis.busy_share)} of the time, two or more tasks at once {units.percent(diagnosis.two_or_more_share)}, "
            f"at most {diagnosis.in_flight_max or 0:,} in flight"
        )
    rates = diagnosis.rates
    if rates.prefill and rates.decode:
        speeds = f"prefill {units.significant(rates.prefill)} tokens/s, decode {units.significant(rates.decode)} tokens/s"
        known = rates.given or rates.cost
        yield (
            f"Alone: {speeds} ({'given' if rates.given else 'fitted to this log'})"
            if known
            else f"With whatever ran beside, at best: {speeds}"
        )
    if diagnosis.breakdown is not None:
        whole = diagnosis.breakdown
        parts = (
            ("own generation", whole.own_generation_s),
            ("own prefill", whole.own_prefill_s),
            ("contention", whole.contention_s),
            ("waiting", whole.waiting_s),
        )
        yield f"Of {units.seconds(whole.total_s)} of processing: " + ", ".join(
            f"{name} {units.percent(whole.share(value))}" for name, value in parts
        )
    yield ""
    yield f"{'':24}{'p50':>12}{'p90':>12}{'p95':>12}{'max':>12}"
    for title, spread in (
        ("Time to first token", diagnosis.ttft),
        ("Gap between tokens", diagnosis.itl),
        ("Wait for the first pass", diagnosis.wait),
    ):
        yield f"{title:24}{_cells(spread)}"
    during, otherwise = diagnosis.during_long_prefill, diagnosis.otherwise
    if during.median is not None and otherwise.median is not None:
        yield f"A stream beside a long prefill: {during.median:.2f} tokens/s ({during.n:,} overlaps), otherwise {otherwise.median:.1f} ({otherwise.n:,} answers)"
    waited = [
        f"{_CAUSES[each.cause]}: {each.count:,}" + (f", {units.seconds(each.total_s)}" if each.total_s else "")
        for each in diagnosis.waits
        if each.count
    ]
    if waited:
        yield f"Waited for {'; '.join(waited)}"


def _cells(spread: Spread | None) -> str:
    if spread is None:
        return f"{'not known':>12}"
    return "".join(f"{units.seconds(each):>12}" for each in (spread.p50, spread.p90, spread.p95, spread.max))


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield f"{number}. {finding.title} ({finding.severity}{', inferred' if finding.inferred else ''})"
    yield f"   {finding.evidence}"
    for example in finding.examples:
        at = f"at {units.seconds(example.at_s)}: " if example.at_s is not None else ""
        yield f"   - {at}{example.text}"
    yield f"   Why: {finding.cause}"
    yield f"   Fix: {finding.fix}"
    for file in finding.files:
        yield f"   File: {file.path}"
        yield from (f"     {line}" for line in file.content.rstrip("\n").split("\n"))
    if finding.effect is not None:
        yield f"   Expected: {finding.effect.text}"
    elif finding.fix:
        yield "   Expected: not tried on this log: what its lines say is not enough to send its requests again with that changed."


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield f"{title}:"
        yield from (f"- {line}" for line in lines)


def _purposes(diagnosis: Diagnosis) -> Iterator[str]:
    if not diagnosis.purposes:
        return
    yield ""
    yield f"{'Purpose':28}{'calls':>8}{'tasks':>8}{'TTFT p50':>12}{'queue p95':>12}{'gate p95':>12}"
    for each in diagnosis.purposes:
        cells = [
            units.seconds(value) if value is not None else "–"
            for value in (_of(each.ttft, "p50"), _of(each.queue, "p95"), _of(each.gate, "p95"))
        ]
        yield f"{each.name[:27]:28}{each.calls:>8,}{each.tasks:>8,}" + "".join(f"{cell:>12}" for cell in cells)


def _of(spread: Spread | None, name: str) -> float | None:
    return None if spread is None else float(getattr(spread, name))


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield ""
    yield f"{'Before → after':44}{'turns':>16}{'TTFT p50':>22}{'tokens/s p50':>20}{'pause p95':>22}"
    for row in comparison.rows:
        yield f"{_group_title(row.group):44}" + "".join(
            f"{text:>{width}}" for text, width in zip(_compared(row.before, row.after), (16, 22, 20, 22), strict=True)
        )
    yield from _section("Changed between the two", list(comparison.changed))
    yield from _section("Before you compare", [each.message for each in comparison.warnings])


def _group_title(group: Group) -> str:
    return GROUPS[group]


def _compared(before: GroupFigures, after: GroupFigures) -> Iterator[str]:
    yield f"{before.count:,} → {after.count:,}"
    yield f"{_seconds(_of(before.ttft, 'p50'))} → {_seconds(_of(after.ttft, 'p50'))}"
    yield f"{_rate(_of(before.rate, 'p50'))} → {_rate(_of(after.rate, 'p50'))}"
    yield f"{_seconds(_of(before.pause, 'p95'))} → {_seconds(_of(after.pause, 'p95'))}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else units.seconds(value)


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
