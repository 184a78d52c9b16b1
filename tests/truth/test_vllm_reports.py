"""What vLLM printed on real machines, and what its own planner computes, against the engine's answer: one record per fact."""

import pytest

from planner.core.accuracy.vllm import report_comparison
from planner.records import read_records

TABLE = read_records().vllm_reports


@pytest.mark.parametrize("report", TABLE["report"], ids=lambda report: f"{report['name']} {report['version']}")
def test_the_engine_reports_what_vllm_printed(report):
    assert report_comparison(report, TABLE["model"]).misses == []


def test_every_report_has_a_source_and_every_difference_its_cause() -> None:
    assert all(report["source"] and ("cause" in report or report_comparison(report, TABLE["model"]).exact) for report in TABLE["report"])
    assert all(entry["source"] and entry["cause"].endswith(".") for entry in TABLE["exception"])
