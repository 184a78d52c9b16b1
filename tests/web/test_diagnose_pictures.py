"""The pictures of a diagnosis: what is drawn is what the log has, and every picture can be read without being seen."""

import json
from dataclasses import replace
from functools import cache

import pytest

from planner.core.diagnosing import Diagnosis, diagnose
from planner.core.diagnosing.diagnosis import Bar, GenerationRate, Lane, Moment, Stall
from planner.core.logs.reading import read
from planner.web.diagnosing.pictures import Picture, pictures
from tests.log_writer import write
from tests.schedules import random_schedule


@cache
def slow() -> Diagnosis:
    return diagnose(read([write(random_schedule(27)).text.encode()]))


def of(diagnosis: Diagnosis, name: str) -> Picture:
    (found,) = (picture for picture in pictures(diagnosis) if picture.id == name)
    return found


def lane(number: int, *, at_s: float, seconds: float = 10.0, stalls: tuple[Stall, ...] = ()) -> Lane:
    return Lane(
        task=number, slot=number % 2, ending="finished", launched_s=at_s, started_s=at_s + 1, first_token_s=at_s + 2, ended_s=at_s + seconds,
        prompt_tokens=100, output_tokens=None, stalls=stalls,
    )  # fmt: skip


def drawn_s(picture: Picture, kind: str, unit_s: float) -> float:
    """Seconds that the strokes of one kind cover."""
    (trace,) = (trace for trace in picture.figure["data"] if trace["name"] == kind)
    return sum(end - start for start, end in zip(trace["x"][::3], trace["x"][1::3], strict=True)) * unit_s


def test_the_strokes_cover_what_the_tasks_took() -> None:
    lanes = slow().lanes
    picture = of(slow(), "slots")
    assert picture.figure["layout"]["xaxis"]["title"]["text"] == "minutes since the log began"
    for kind, seconds in (
        ("waits for its first pass", sum(each.started_s - each.launched_s for each in lanes)),
        ("prompt is read", sum(each.first_token_s - each.started_s for each in lanes)),
        ("answer is written", sum(each.ended_s - each.first_token_s for each in lanes)),
        ("stands still", sum(stall.end_s - stall.start_s for each in lanes for stall in each.stalls)),
    ):
        assert drawn_s(picture, kind, 60) == pytest.approx(seconds, abs=0.1), kind


def test_a_crowded_log_opens_at_its_worst_task_and_another_one_whole() -> None:
    stalled = lane(7, at_s=40_000, stalls=(Stall(40_003, 40_008),))
    crowded = of(replace(slow(), lanes=(lane(1, at_s=10), stalled, lane(2, at_s=80_000))), "slots")
    start, end = crowded.figure["layout"]["xaxis"]["range"]
    assert start * 3600 < 40_000
    assert end * 3600 > 40_010
    assert (end - start) * 3600 == pytest.approx(80)
    assert "It opens at the worst task, at 11.1 h." in crowded.caption
    whole = of(replace(slow(), lanes=(lane(1, at_s=10), lane(2, at_s=30))), "slots")
    assert "range" not in whole.figure["layout"]["xaxis"]


def test_the_table_has_the_worst_first_and_no_empty_cell() -> None:
    lanes = tuple(lane(number, at_s=20 * number, stalls=(Stall(20 * number + 3, 20 * number + 3 + number / 5),)) for number in range(20))
    rows = of(replace(slow(), lanes=lanes), "slots").rows
    assert [row[0] for row in rows] == [f"{number}" for number in range(19, 7, -1)]
    assert rows[0] == ("19", "1", "6 min 20 s", "1 s", "1 s", "8 s", "3.8 s", "100", "not known", "finished")


def test_bins_that_read_alike_are_one_column() -> None:
    bars = (Bar(0.0, 0.0, 4), Bar(0.00001, 0.00002, 3), Bar(0.00002, 0.00003, 2), Bar(1.0, 1.3, 1))
    picture = of(replace(slow(), wait_bars=bars), "wait-bars")
    (trace,) = picture.figure["data"]
    assert sum(trace["y"]) == 10
    assert len(set(trace["x"])) == len(trace["x"])


def test_a_distribution_of_one_column_and_half_known_rates_are_no_pictures() -> None:
    bare = replace(
        slow(), wait_bars=(Bar(0.0, 0.0, 9),), otherwise=GenerationRate(None, None, 0), lanes=(), in_flight=(Moment(0.0, 1.0, 1),)
    )
    assert [picture.id for picture in pictures(bare)] == ["ttft-bars"]


def test_the_load_s_table_keeps_its_mean_and_its_most() -> None:
    moments = tuple(Moment(float(second), second % 5, second % 7) for second in range(1_000))
    rows = of(replace(slow(), in_flight=moments, span_s=1_000.0), "load").rows
    assert len(rows) <= 12
    assert {row[2] for row in rows} == {"6"}
    assert all(float(row[1]) == pytest.approx(2, abs=0.05) for row in rows)


def test_every_picture_is_told_in_words_and_as_a_table_and_is_plain_data() -> None:
    for picture in pictures(slow()):
        assert picture.description.endswith(".")
        assert picture.rows
        assert {len(row) for row in picture.rows} == {len(picture.head)}
        assert all(cell for row in picture.rows for cell in row)
        json.dumps(picture.figure, allow_nan=False)
