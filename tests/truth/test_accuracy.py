"""The figures of the page “How right is it?” are those of a comparison made now, and every difference in them has its cause."""

import json
from pathlib import Path

import pytest

from planner.core.accuracy.comparison import Comparison, Figure, summary
from planner.core.accuracy.tables import report_comparisons
from planner.records import measure, read_records
from planner.web.accuracy import FILE

TRUTH = Path(__file__).resolve().parents[2].parent / "shared" / "truth"
WRITE = "run: manage.py accuracy --write (with --truth for the larger collections)"


def test_the_file_of_the_page_is_not_stale() -> None:
    written = json.loads(FILE.read_text(encoding="utf-8"))
    truth = TRUTH if TRUTH.is_dir() else None
    for part, tables in json.loads(json.dumps(measure(read_records(), truth))).items():
        assert written[part] == tables, WRITE


def test_every_difference_has_its_cause_written_down() -> None:
    written = json.loads(FILE.read_text(encoding="utf-8"))
    worst = [each for part in written.values() for table in part for each in table["worst"]]
    assert worst
    assert [each["name"] for each in worst if not each["cause"].endswith(".")] == []


@pytest.mark.skipif(not TRUTH.is_dir(), reason="the collection of public reports is not here")
def test_every_public_report_that_follows_from_architecture_and_flags_is_held_or_has_a_cause() -> None:
    reports = [json.loads(line) for line in (TRUTH / "cases.jsonl").read_text().splitlines()]
    records = read_records()
    found = report_comparisons(records, reports)
    assert len(found) == 110
    assert [each.name for each in found if each.refused and each.refused not in records.causes.values()] == []
    assert [each.name for each in found if not each.refused and not each.exact and not each.cause] == []


def compared(name: str, *figures: Figure, cause: str = "", refused: str = "") -> Comparison:
    return Comparison(name, "somewhere", "1.2", figures, cause=cause, refused=refused)


def test_equal_near_and_within_range_are_told_apart() -> None:
    table = summary(
        "engine",
        "kind",
        [
            compared("equal", Figure("a", 100, 100.004, tolerance=0.005)),
            compared("a rounded input", Figure("a", 100, 90, low=85, high=101)),
            compared("near", Figure("a", 100, 100.4), cause="Rounding."),
            compared("an estimate", Figure("a", 100, 120, low=90, high=150, estimate=True), cause="Estimated."),
            compared("another estimate", Figure("a", 100, 110, low=90, high=150, estimate=True), cause="Estimated."),
            compared("beyond", Figure("a", 100, 120, low=110, high=150, estimate=True), cause="Not known."),
            compared("refused", refused="No."),
        ],
        estimates=True,
    )
    assert (table["cases"], table["exact"], table["near"], table["in_range"]) == (7, 2, 3, 4)
    assert [(each["name"], each["alike"], each["off"]) for each in table["worst"]] == [
        ("refused", 0, None), ("an estimate", 1, 0.2), ("beyond", 0, 0.2), ("near", 0, 0.004),
    ]  # fmt: skip
