"""Start-up reports from other people's machines against what the engine expects for the same model and settings."""

import pytest

from planner.core.accuracy.llama_server import compute_comparison, report_comparison
from planner.records import read_records

TABLE = read_records().llama_reports


@pytest.mark.parametrize("report", TABLE["report"], ids=lambda report: report["name"])
def test_caches_states_and_outputs_are_those_that_were_printed(report):
    assert report_comparison(report).misses == []


@pytest.mark.parametrize("report", [report for report in TABLE["report"] if "compute" in report], ids=lambda report: report["name"])
def test_compute_buffers_are_near_those_that_were_printed_and_within_their_range(report):
    found = compute_comparison(report)
    assert found.misses == []
    assert found.in_range


def test_every_exception_has_its_source_and_its_cause() -> None:
    assert all(entry["source"] and entry["cause"].endswith(".") for entry in TABLE["exception"])
