"""A plan that comes along to another page: its query string, checked before any link is made from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from django.http import HttpRequest
from django.urls import reverse

from planner.core.errors import InputError
from planner.core.request import FIELDS, PlanRequest, read_request
from planner.web.address import EXAMPLE, address, given, query

# A plan with a pasted config.json has a few thousand characters.
MAX_QUERY: Final = 65_536
# What belongs to one engine and means nothing to another.
_ENGINES_OWN: Final = ("engine_version", "cache_type", "cache_type_k", "cache_type_v", "cache_memory")


@dataclass(frozen=True, slots=True)
class Carried:
    """`values` are the plan's inputs as they were typed and `request` what they mean; nothing came along where both are empty.

    `refused` says why something that came along is not used.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    request: PlanRequest | None = None
    refused: str = ""

    @property
    def query(self) -> str:
        return query(self.values)

    @property
    def engine(self) -> str:
        """The engine the plan asks for, "" where it is left open."""
        return self.request.engine if self.request and self.request.engine != "auto" else ""

    def changed(self, engine: str, inputs: Mapping[str, str | None]) -> dict[str, str]:
        """The plan's inputs (the worked example's where none came along) for `engine`, with `inputs` changed.

        A pasted command line is left out: its values would win over the change.
        """
        base = self.values or EXAMPLE
        left_out: dict[str, str | None] = {} if base.get("engine") == engine else dict.fromkeys(_ENGINES_OWN)
        changed = {**base, "engine_args": None, **left_out, "engine": engine, **inputs}
        return given({name: value or "" for name, value in changed.items()})

    def with_(self, engine: str, inputs: Mapping[str, str | None]) -> str:
        """The address of the plan that `changed` describes."""
        return address(reverse("planner"), self.changed(engine, inputs))


def carried(text: str) -> Carried:
    """The plan in a query string. Only inputs of the planner, each once, that make a request are accepted."""
    if not text:
        return Carried()
    try:
        values = _inputs(text)
        return Carried(values, read_request(values))
    except InputError as refused:
        return Carried(refused=str(refused))


def _inputs(text: str) -> dict[str, str]:
    if len(text) > MAX_QUERY:
        raise InputError("The plan in the address is longer than any plan.")
    try:
        pairs = parse_qsl(text, strict_parsing=True, keep_blank_values=True, max_num_fields=len(FIELDS))
    except ValueError:
        raise InputError("The plan in the address is not one that the planner made.") from None
    values = dict(pairs)
    if len(values) < len(pairs) or not values.keys() <= set(FIELDS):
        raise InputError("The plan in the address has inputs that the planner does not know, or one of them twice.")
    return {name: value for name, value in values.items() if value.strip()}


def carried_by(request: HttpRequest) -> Carried:
    """The plan in `?plan=`, else the one on the planner's page that the reader came from."""
    return carried(request.GET["plan"] if "plan" in request.GET else _came_from(request))


def _came_from(request: HttpRequest) -> str:
    # The page's own link to here cannot know what was typed since it was loaded; the browser's address does.
    try:
        origin = urlsplit(request.headers.get("Referer", "")[:MAX_QUERY])
    except ValueError:  # it is no address
        return ""
    return origin.query if origin.netloc == request.get_host() and origin.path == reverse("planner") else ""
