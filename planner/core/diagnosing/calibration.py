"""The log as a planner's question: fitted speeds, observed users, duty cycle and lengths."""

from typing import Final
from urllib.parse import urlencode

from planner.core.diagnosing.case import Case
from planner.core.errors import InputError
from planner.core.request import PlanRequest, read_request

_LEAST_TASKS: Final = 5
_DAY_S: Final = 86_400.0


def calibrated(case: Case) -> PlanRequest | None:
    """The request that the observed load makes; None where the log has too little. Users are those in flight at most, if nobody says more."""
    values = _values(case)
    if values is None:
        return None
    try:
        return read_request(values)
    except InputError:
        return None


def query(case: Case) -> str | None:
    """The same as the planner's query string: only what the log tells, so that everything else stays as the user has it."""
    values = _values(case)
    return urlencode(values) if values and calibrated(case) else None


def _values(case: Case) -> dict[str, str] | None:
    found, rates = case.collected, case.rates
    totals, sweep = found.totals, found.sweep
    if rates.prefill is None or rates.decode is None or totals.finished - totals.untimed < _LEAST_TASKS or not totals.prompts:
        return None
    values = {
        "prefill_rate": f"{rates.prefill:.4g}",
        "decode_rate": f"{rates.decode:.4g}",
        "prompt_tokens": str(max(1, round(totals.prompt_tokens / totals.prompts))),
        "output_tokens": str(max(1, round(totals.output_tokens / max(1, totals.outputs)))),
    }
    if totals.prompt_tokens and totals.cached_tokens:
        values["cached_share"] = f"{totals.cached_tokens / totals.prompt_tokens:.3f}"
    users = max(1, sweep.in_flight_max)
    if sweep.busy_s and case.span_s and case.span_s > 0:
        # Each user in flight sends a turn every (span × users / turns) seconds and thinks for what remains beside the turn.
        turn = min(_DAY_S, case.span_s * users / totals.tasks)
        served = case.total_s / max(1, totals.finished)
        values["users"] = str(users)
        values["think_seconds"] = f"{max(0.0, turn - served):.4g}"
    context = case.whole("n_ctx_slot") or case.whole("max_model_len")
    if context:
        values["context"] = str(context)
    if case.engine in {"llama-server", "vllm", "ollama"}:
        values["engine"] = case.engine
    return values
