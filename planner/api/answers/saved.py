"""What the calls about saved plans answer."""

from datetime import datetime

from pydantic import BaseModel, Field

from planner.api.answers.common import Json
from planner.core.plan import Verdict


class TeamName(BaseModel):
    id: str
    name: str


class PlanHead(BaseModel):
    """A saved plan as lists have it: what its newest version says. `version` is what a change begins with; `role` is yours on it."""

    id: str
    url: str
    title: str
    tags: list[str]
    owned: list[str]
    team: TeamName | None
    role: str
    version: int
    created_at: datetime
    updated_at: datetime
    verdict: Verdict
    headline: str


class PlanVersion(BaseModel):
    """What was saved at one time. `result` is the answer then: the keys of POST /plan without files and reasons; it is never recomputed.

    `inputs` are the request's as they were typed, `changes` in words what is different from the version before.
    """

    version: int
    author: str | None
    created_at: datetime
    title: str
    notes: str
    tags: list[str]
    owned: list[str]
    inputs: dict[str, str]
    result: Json
    application: str
    catalog: str
    engine: str
    changes: list[str]
    restored_from: int | None
    approved_by: str | None
    approved_at: datetime | None


class SavedPlanAnswer(PlanHead):
    """A saved plan and its newest version."""

    newest: PlanVersion


class VersionHead(BaseModel):
    version: int
    author: str | None
    created_at: datetime
    title: str
    changes: list[str]
    approved_by: str | None


class PlanPage(BaseModel):
    """`count` is how many there are in all, `next` the address of the following page."""

    count: int
    next: str | None
    items: list[PlanHead]


class VersionPage(BaseModel):
    count: int
    next: str | None
    items: list[VersionHead]


class LinkHead(BaseModel):
    """A shared link. Its address is told once, when it is made."""

    id: int
    label: str
    made_by: str | None
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    has_password: bool


class LinkList(BaseModel):
    """The links that work."""

    items: list[LinkHead]


class MadeLink(LinkHead):
    url: str = Field(description="Whoever has it reads the plan. It is not told again.")
