"""What the pages of the symptom guide show: a symptom's advice for one engine, with defaults and links into the planner."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from django.urls import reverse

from planner.core.engines import engines
from planner.core.engines._flags import version_key
from planner.core.engines._tables import flag_tables
from planner.core.guide import Advice, Change, Check, Symptom
from planner.web.address import address
from planner.web.carried import Carried

# Symptoms that the server's own log can confirm, and what a diagnosis of it counts.
IN_A_LOG: Final[Mapping[str, str]] = {
    "stream-freezes": "how many answers stood still, beside whose prompts and for how long, and what smaller passes would do",
    "streams-stall-silently": "preemptions and the gaps they made, from vLLM’s log and its metrics",
    "cpu-box-collapses": "swapping and waits for the disk, from the output of vmstat beside the log",
    "processor-shows-cpu": "layers that were left on the CPU",
    "slow-after-a-summary": "prompts that were read again from the beginning, and what they cost",
    "waits-are-long": "tasks that started the moment a slot came free, and what more slots would do",
    "http-503": "refused requests",
    "one-in-ten-waits": "the distribution of waits and first tokens, and what the longest ones waited for",
    "slow-first-token": "how long prompts took to read, at which speed, and how much of them was in the cache",
    "lora-requests-wait": "waits for another adapter, which the engine’s own timings leave out",
    "out-of-memory-later": "a full pool, contexts that were exceeded, and when",
    "answers-are-cut-short": "prompts that were refused or cut, and answers that ended at the context",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting to change as a row. `since` is the first version that knows it, "" where all that are recorded do.

    `address` is the plan with it, "" where the planner does not choose it.
    """

    change: Change
    env: str
    default: str
    since: str
    address: str


@dataclass(frozen=True, slots=True)
class Tab:
    engine: str
    title: str
    address: str
    chosen: bool


def advice_for(symptom: Symptom, asked: str, plan: Carried) -> Advice:
    """The advice for the engine that was asked for, else for the plan's, else the first."""
    own = {advice.engine: advice for advice in symptom.advice}
    return own.get(asked) or own.get(plan.engine) or symptom.advice[0]


def tabs(symptom: Symptom, chosen: Advice, plan: Carried) -> list[Tab]:
    return [
        Tab(advice.engine, engines()[advice.engine].title, _address(symptom, plan, engine=advice.engine), advice is chosen)
        for advice in symptom.advice
    ]


def _address(symptom: Symptom, plan: Carried, **more: str) -> str:
    return address(reverse("symptom", args=[symptom.slug]), {}, **more, plan=plan.query)


def checks(advice: Advice, plan: Carried) -> list[Check]:
    """The commands with the port of the plan, where it is one for this engine."""
    table = flag_tables()[advice.engine]
    port, flag = plan.request.port if plan.request else None, table.at(table.newest).find("--port")
    if port is None or flag is None or plan.engine != advice.engine:
        return list(advice.checks)
    usual = flag.default(table.newest)
    return [replace(check, command=check.command.replace(f":{usual}/", f":{port}/")) for check in advice.checks]


def settings(advice: Advice, plan: Carried) -> list[Setting]:
    return [_setting(change, advice.engine, plan) for change in advice.changes]


def _setting(change: Change, engine: str, plan: Carried) -> Setting:
    table = flag_tables()[engine]
    flag = table.at(table.newest).find(change.name)
    if flag is None:
        raise LookupError(f"{engine} {table.newest} has no {change.name}")
    return Setting(
        change=change,
        env=(flag.env(table.newest) or "") if change.name == flag.name and change.name.startswith("-") else "",
        default=flag.default(table.newest) or flag.default_by_device or "not set",
        since=flag.since if version_key(flag.since) > version_key(table.first) else "",
        address=plan.with_(engine, change.inputs) if change.inputs is not None else "",
    )
