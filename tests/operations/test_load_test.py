"""The load test notices what is lost or doubled, and its people plan and save like a browser does."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import load_test
from benchmarks.load_test import Client, Sent, lost_or_doubled, p95
from scripts.services import own_addresses

# Of each version its plan, number and title, and the head of its plan.
GOOD = [("a", 1, "first", 3), ("a", 2, "x", 3), ("a", 3, "y", 3), ("b", 1, "first", 1)]


def complaints(rows: list[tuple[str, int, str, int]], acknowledged: list[str]) -> str:
    web: Any = SimpleNamespace(manage=lambda *_: json.dumps(rows))
    clients = [Client(0, "", "a", 0, acknowledged=acknowledged), Client(0, "", "b", 1)]
    return "; ".join(lost_or_doubled(web, clients))


def test_what_was_acknowledged_and_is_there_is_fine() -> None:
    assert complaints(GOOD, ["x", "y"]) == ""
    assert complaints(GOOD, ["x"]) == "", "saved, and the answer was lost on the way"


@pytest.mark.parametrize(
    ("rows", "acknowledged", "told"),
    [
        (GOOD, ["x", "y", "z"], "“z” is there 0 times"),
        ([*GOOD[:2], ("a", 3, "x", 3), GOOD[3]], ["x"], "“x” is there 2 times"),
        ([GOOD[0], GOOD[2], GOOD[3]], ["y"], "versions [1, 3]"),
        ([(*row[:3], 4) if row[0] == "a" else row for row in GOOD], [], "head 4"),
    ],
)
def test_what_is_lost_or_doubled_is_told(rows: list[tuple[str, int, str, int]], acknowledged: list[str], told: str) -> None:
    assert told in complaints(rows, acknowledged)


def test_p95_is_the_nearest_rank() -> None:
    sent = [Sent("plan", 0.0, float(each), 200) for each in range(1, 101)]
    assert p95(sent) == 95.0
    assert p95(sent[:1]) == 1.0


@pytest.mark.database
def test_a_person_of_the_load_test_plans_saves_and_opens(tmp_path: Path) -> None:
    addresses = own_addresses()
    with load_test.site(addresses["DATABASE_URL"], addresses["CACHE_URL"], tmp_path, workers=1) as web:
        (person,) = load_test.people(web, 1)
        for _ in range(6):
            person.step()
        assert [(each.kind, each.status) for each in person.sent] == [("save", 302), ("plan", 200), ("planner", 200)] * 2
        assert len(person.acknowledged) == 2
        person.base = 1
        person.save()
        assert (person.sent[-2].status, person.base) == (409, 3), "told that somebody was faster, it looks at what is newest"
        assert lost_or_doubled(web, [person]) == []
