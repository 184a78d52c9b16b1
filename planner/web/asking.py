"""From a query string to an answer, or to the sentences that say what to change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from planner.answer import Answer, answer
from planner.core import catalog
from planner.core.attention.config import BY_HAND
from planner.core.errors import InputError
from planner.core.planning import slots_by_context
from planner.core.request import FIELDS, PlanRequest, RequestError, read_request
from planner.sources import find_model
from planner.web import site
from planner.web.address import EXAMPLE, given


@dataclass(frozen=True, slots=True)
class Outcome:
    """`typed` is what was given, as it was typed; exactly one of `answer` and `errors` is there.

    `errors` maps an input's name to its sentence; "" stands for the request as a whole. `by_hand`: bytes per
    token entered by hand would give an answer.
    """

    typed: Mapping[str, str]
    answer: Answer | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    by_hand: bool = False


def ask(values: Mapping[str, str]) -> Outcome:
    """The answer to a query string. Nothing given at all asks for the worked example."""
    typed = given(values) or dict(EXAMPLE)
    try:
        return Outcome(typed, answer=_answered(read_request(typed)))
    except RequestError as refused:
        return Outcome(typed, errors=refused.errors)
    except InputError as refused:
        return Outcome(typed, errors={_field(refused, typed): str(refused)}, by_hand=BY_HAND in str(refused))


def _answered(request: PlanRequest) -> Answer:
    if request.config or (not request.revision and catalog.model(request.model)):
        return _of_facts(request, frozenset(request.model_fields_set))
    return answer(request, site.hub())


@lru_cache(maxsize=128)
def _of_facts(request: PlanRequest, named: frozenset[str]) -> Answer:  # noqa: ARG001 (a name that was given counts, also where it is the default)
    """An answer from the request and this release's facts alone never changes: the page's files, its curve and saving ask for it again."""
    return answer(request, None)


def _field(refused: InputError, typed: Mapping[str, str]) -> str:
    """The input a refusal stands at: a config.json that nobody gave is the model's."""
    if refused.field == "config" and "config" not in typed:
        return "model"
    return refused.field if refused.field in FIELDS else ""


def curve_points(request: PlanRequest) -> list[tuple[int, int]]:
    """(context tokens, slots that fit) for a request that has an answer."""
    return slots_by_context(request, find_model(request, site.hub()))
