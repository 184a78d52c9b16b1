"""A diagnosis in two sentences: the first finding with its number, or that there is none."""

from dataclasses import replace

import pytest

from planner.core.diagnosing import Diagnosis, diagnose
from planner.core.diagnosing.diagnosis import Breakdown, Finding, Spread
from planner.core.diagnosing.report import diagnosis_json
from planner.core.diagnosing.report_text import diagnosis_text
from planner.core.diagnosing.told import not_read, told
from planner.core.logs.reading import read
from tests.log_writer import write
from tests.schedules import random_schedule


@pytest.fixture(scope="module")
def slow() -> Diagnosis:
    return diagnose(read([write(random_schedule(27)).text.encode()]))


def finding(evidence: str, lost_s: float = 0.0) -> Finding:
    return Finding(code="x", severity="medium", title="It rains", evidence=evidence, cause="", fix="", lost_s=lost_s)


def test_what_it_cost_is_told_against_everybody_s_seconds(slow: Diagnosis) -> None:
    assert slow.breakdown is not None
    said = told(replace(slow, findings=(finding("It did.", lost_s=slow.breakdown.total_s / 4),)))
    assert said.severity == "medium"
    assert said.sentence.startswith("It rains: ")
    assert said.sentence.endswith("25 % of what all turns took together.")


# The evidence of a finding that cost no known seconds, and what of it is told.
@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        ("28 preemptions of 25 requests; the cache was 92 % full.", "It rains: 28 preemptions of 25 requests."),
        ("2 of 5 were refused. The longest had 8,692 tokens.", "It rains: 2 of 5 were refused."),
        ("1.5 GiB went to the disk.", "It rains: 1.5 GiB went to the disk."),
    ],
)
def test_without_seconds_the_first_statement_of_the_evidence_is_told(slow: Diagnosis, evidence: str, sentence: str) -> None:
    assert told(replace(slow, findings=(finding(evidence),))).sentence == sentence


def test_nothing_found_is_told_from_nothing_to_be_seen(slow: Diagnosis) -> None:
    quiet = replace(slow, findings=(), breakdown=None, wait=None)
    assert told(quiet).sentence == "Nothing was found that went wrong."
    shared = replace(quiet, breakdown=Breakdown(6.0, 2.0, 2.0, 0.0), wait=Spread(9, 3.8, 5.0, 6.0, 7.0))
    assert "20 % of what all turns took together" in told(shared).sentence
    assert "Half of the requests waited 3.8 s or longer" in told(shared).sentence
    assert "without times" in told(replace(slow, findings=(), busy_share=None)).sentence
    assert "No request" in told(replace(slow, findings=(), finished=0, in_flight_max=None)).sentence


def test_what_the_server_did_meanwhile_is_told_where_it_is_known(slow: Diagnosis) -> None:
    assert "busy" in told(slow).meanwhile
    assert told(replace(slow, busy_share=None)).meanwhile == ""


def test_what_was_left_out_is_told(slow: Diagnosis) -> None:
    assert not list(not_read(slow))
    facts, counts = replace(slow.facts, values={"also": ["vllm"]}), replace(slow.counts, cut_lines=2)
    partly = replace(slow, facts=facts, counts=counts)
    assert [remark.code for remark in not_read(partly)] == ["cut_lines", "other_engines"]
    assert "Of 2 lines longer than 64 KiB" in diagnosis_text(partly)
    assert "Lines of vllm stand among those of llama-server" in diagnosis_text(partly)
    assert {"cut_lines", "other_engines"} <= {each["code"] for each in diagnosis_json(partly)["warnings"]}
