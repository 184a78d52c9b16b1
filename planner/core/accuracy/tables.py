"""The tables of the page “How right is it?”: one row per engine and kind of record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.core.accuracy import cases, llama_server, parameters, vllm
from planner.core.accuracy.comparison import Comparison, summary

Record = Mapping[str, Any]
LLAMA: Final = "llama-server, Ollama"


@dataclass(frozen=True, slots=True)
class Records:
    """The repository's own records, as they stand in its files: two tables of reports, and two lists of rows."""

    vllm_reports: Record
    llama_reports: Record
    llama_caches: Sequence[Record]
    parameters: Sequence[Record]

    @property
    def causes(self) -> dict[str, str]:
        """The written cause of every public report that is not reproduced, by its number."""
        found = {each["case"]: each["cause"] for each in self.vllm_reports["exception"]}
        return found | {number: each["cause"] for each in self.llama_reports["exception"] for number in each.get("cases", ())}

    def of_vllm(self) -> list[Comparison]:
        models = self.vllm_reports["model"]
        return [vllm.report_comparison(report, models) for report in self.vllm_reports["report"]]

    def of_llama_server(self) -> list[Comparison]:
        return [llama_server.report_comparison(report) for report in self.llama_reports["report"]]

    def of_compute_buffers(self) -> list[Comparison]:
        return [llama_server.compute_comparison(report) for report in self.llama_reports["report"] if "compute" in report]


def own_tables(records: Records) -> list[dict[str, object]]:
    """What the repository's records alone say."""
    reports = records.of_vllm()
    published = [each for each in reports if each.case]
    return [
        summary("vLLM", "start-ups that people published: blocks, tokens, concurrency, refusals", published),
        summary("vLLM", "its own planner, one record for each rule", [each for each in reports if not each.case]),
        summary(LLAMA, "start-ups that people published: caches, states, outputs, cells", records.of_llama_server()),
        summary(LLAMA, "start-ups that people published: compute buffers", records.of_compute_buffers(), estimates=True),
        summary(LLAMA, "a real server, one start for each rule", [llama_server.cache_comparison(each) for each in records.llama_caches]),
        summary("Weights", "elements of published checkpoints", [parameters.comparison(row) for row in records.parameters]),
    ]


def truth_tables(
    records: Records, *, vllm_rows: Iterable[Record], llama_rows: Sequence[Record], reports: Iterable[Record]
) -> list[dict[str, object]]:
    """What larger collections say, which are not part of the repository: rows of both engines, and public reports."""
    read = {
        reader: [c for row in llama_rows if (c := llama_server.row_comparison(row, reader)) is not None] for reader in ("hf_config", "gguf")
    }
    return [
        summary("vLLM", "its own planner on real config.json files", map(vllm.row_comparison, vllm_rows)),
        summary(LLAMA, "a real server on real models, planned from config.json", read["hf_config"]),
        summary(LLAMA, "a real server on real models, planned from GGUF metadata", read["gguf"]),
        summary("All engines", "public reports whose figures follow from architecture and flags", report_comparisons(records, reports)),
    ]


def report_comparisons(records: Records, reports: Iterable[Record]) -> list[Comparison]:
    """Every check of a public report that a planner can answer, beside our record of it."""
    held = [*records.of_vllm(), *records.of_llama_server(), *records.of_compute_buffers()]
    return [cases.comparison(case, name, check, held, records.causes) for case in reports for name, check in cases.checks(case)]
