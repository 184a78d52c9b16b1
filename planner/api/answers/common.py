"""What several answers have, and what every refusal is."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from planner.core.plan import Grade


class Warned(BaseModel):
    """A remark. Every figure that is null has one."""

    code: str
    message: str


class RateFigure(BaseModel):
    """A rate of a single stream with its range and where it comes from."""

    value: float
    grade: Grade
    low: float | None
    high: float | None
    source: str


class FieldProblem(BaseModel):
    """One input that was refused; `field` is empty for the request as a whole."""

    field: str
    message: str


class Problem(BaseModel):
    """A refusal (RFC 9457)."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str = Field(description="What to do about it.")
    errors: list[FieldProblem] | None = Field(default=None, description="The inputs it is about, where it is about inputs.")
    code: str | None = Field(default=None, description="Why the Hub did not give a model.")
    newest: int | None = Field(default=None, description="The version that is the newest now, where somebody saved meanwhile.")


Json = dict[str, Any]
