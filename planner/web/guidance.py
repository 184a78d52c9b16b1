"""What the pages of the symptom guide show: a symptom's advice for one engine, with defaults and links into the planner."""

from dataclasses import dataclass, replace

from django.urls import reverse

from planner.core.engines import engines
from planner.core.engines._flags import version_key
from planner.core.engines._tables import flag_tables
from planner.core.guide import Advice, Change, Check, Symptom
from planner.web.address import address
from planner.web.carried import Carried


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
