"""The ledger as the JSON object of a script and as lines for a terminal."""

from collections.abc import Iterator
from typing import Any

from planner.core import units
from planner.core.ledger.entries import Entry, Ledger
from planner.core.ledger.peaks import Peak


def ledger_json(found: Ledger) -> dict[str, Any]:
    return {
        "slots_alone": found.slots_alone,
        "slots_needed": found.slots_needed,
        "users_alone": found.users_alone,
        "users": found.users,
        "base_bytes": found.base_bytes,
        "total_bytes": found.total_bytes,
        "verdict": found.verdict,
        "entries": [_entry(each) for each in found.entries],
        "peaks": [peak_json(each) for each in found.peaks],
        "notes": list(found.notes),
    }


def _entry(each: Entry) -> dict[str, Any]:
    tenant = each.tenant
    return {
        "name": tenant.name,
        "bytes": tenant.size_bytes,
        "low": tenant.low_bytes,
        "high": tenant.high_bytes,
        "grade": tenant.grade,
        "source": tenant.source,
        "slots_lost": each.slots_lost,
        "slots_lost_range": [each.slots_lost_low, each.slots_lost_high],
        "slots_left": each.slots_left,
        "verdict": each.verdict,
    }


def peak_json(each: Peak) -> dict[str, Any]:
    return {
        "name": each.name,
        "outlook": each.outlook,
        "low": each.low_bytes,
        "high": each.high_bytes,
        "total": each.total_bytes,
        "sentence": each.sentence,
        "fix": each.fix or None,
        "grade": each.grade,
        "source": each.source,
    }


def ledger_text(found: Ledger) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Ledger) -> Iterator[str]:
    yield f"Alone: {units.counted(found.slots_alone, 'slot')} for {units.counted(found.users_alone, 'user')}; {found.slots_needed:,} slots are needed."
    if found.base_bytes:
        yield f"{units.size(found.base_bytes)} are left to others already."
    for each in found.entries:
        yield ""
        yield f"{each.tenant.name}: {size_words(each)}, costs {lost_words(each)} by itself; {units.counted(each.slots_left, 'slot')} left so far ({each.verdict.replace('_', ' ')})"
        yield f"    {each.tenant.source}"
    yield ""
    yield f"With all of it: {units.counted(found.users, 'user')} ({found.verdict.replace('_', ' ')})."
    for peak in found.peaks:
        yield ""
        yield f"{peak.name}: {peak.sentence}{f' {peak.fix}' if peak.fix else ''}"
        yield f"    {'Estimate: ' if peak.grade == 'estimated' else ''}{peak.source}"
    yield ""
    yield from found.notes


def size_words(each: Entry) -> str:
    tenant = each.tenant
    if tenant.low_bytes == tenant.high_bytes:
        return units.size(tenant.size_bytes)
    return f"about {units.size(tenant.size_bytes)} ({units.size(tenant.low_bytes)} to {units.size(tenant.high_bytes)})"


def lost_words(each: Entry) -> str:
    lost = units.counted(each.slots_lost, "slot")
    if each.slots_lost_low == each.slots_lost_high:
        return lost
    return f"{lost} ({each.slots_lost_low} to {each.slots_lost_high})"
