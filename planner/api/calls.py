"""Every call of the API in one place: which there are, how they read what is sent, and how they refuse it."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, NoReturn

from django.core.exceptions import BadRequest, ObjectDoesNotExist, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationErrorContext
from ninja.parser import Parser

from planner.api import compute, links, saved
from planner.core.errors import InputError
from planner.core.request import RequestError, sentence
from planner.hub import HubError
from planner.operations.problems import problem
from planner.plans.saving import Conflict

ABOUT: Final = (
    "Plans, hardware tables, simulations and diagnoses for programs, and the plans you saved. All sizes are whole bytes, all times seconds, "
    "all rates tokens per second. What is not known is null and has an entry in `warnings`. Numbers may be sent as people write them: "
    "`8k`, `24GiB`, `5%`. Refusals are problem+json. Keys may be added at any time; none is renamed or dropped in v1."
)
_MULTIPART: Final = frozenset({"diagnose"})


class Json(Parser):
    """JSON as its standard has it: Python alone would take NaN and Infinity too."""

    def parse_body(self, request: HttpRequest) -> Any:
        return json.loads(request.body, parse_constant=_no_number)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


class Calls(NinjaAPI):
    """Says what is wrong with an input in the same sentences as the pages."""

    def validation_error_from_error_contexts(self, error_contexts: list[ValidationErrorContext[Any]]) -> Any:
        errors: dict[str, str] = {}
        for context in error_contexts:
            for error in context.pydantic_validation_error.errors(include_url=False, include_input=False):
                # The model's own name stands before the names in it.
                path = [str(step) for step in error["loc"]]
                path = path[1:] if context.model.__ninja_param_source__ == "body" else path
                field = ".".join(path)[:120]
                errors.setdefault(field, sentence(field, error) if field else "Send a JSON object.")
        return RequestError(errors)


api = Calls(
    title="Slotwise", version="1", description=ABOUT, urls_namespace="api", openapi_url=None, docs_url=None, parser=Json()
)  # the schema and its page are in `described` and `docs`


def _right_type(run: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """JSON and nothing else, or files where files are sent: what a form of another site could send is not taken."""

    @wraps(run)
    def checked(request: HttpRequest, *args: Any, **named: Any) -> HttpResponse:
        if request.method in {"POST", "PUT"}:
            match = request.resolver_match
            wanted = "multipart/form-data" if match and match.url_name in _MULTIPART else "application/json"
            if request.content_type != wanted:
                return problem(415, f"Send {wanted}, and say so in the field Content-Type.")
        return run(request, *args, **named)

    return checked


for calls in (compute.calls, saved.calls, links.calls):
    calls.add_decorator(_right_type, mode="view")
    api.add_router("", calls)


@api.exception_handler(InputError)
def _refused(request: HttpRequest, refusal: InputError) -> HttpResponse:  # noqa: ARG001 (ninja passes it)
    errors = refusal.errors if isinstance(refusal, RequestError) else {refusal.field or "": str(refusal)}
    more: dict[str, Any] = {"errors": [{"field": name, "message": message} for name, message in errors.items()]}
    if isinstance(refusal, HubError):
        more["code"] = refusal.code
    return problem(422, str(refusal), **more)


@api.exception_handler(Conflict)
def _too_late(request: HttpRequest, conflict: Conflict) -> HttpResponse:  # noqa: ARG001 (likewise)
    told = (
        f"Somebody saved version {conflict.newest.number} meanwhile, so nothing was saved. Read it, and send your change with it as base."
    )
    return problem(409, told, newest=conflict.newest.number)


@api.exception_handler(RequestDataTooBig)
def _too_large(request: HttpRequest, refusal: RequestDataTooBig) -> HttpResponse:  # noqa: ARG001 (likewise)
    return problem(413)


def _unreadable(request: HttpRequest, refusal: Exception | type[Exception]) -> HttpResponse:  # noqa: ARG001 (likewise)
    return problem(400)


def _not_there(request: HttpRequest, refusal: Exception | type[Exception]) -> HttpResponse:  # noqa: ARG001 (likewise)
    return problem(404)


def _on(request: HttpRequest, refusal: Exception | type[Exception]) -> NoReturn:  # noqa: ARG001 (likewise)
    """What is nobody's fault but ours is Django's to log."""
    raise refusal


for unreadable in (HttpError, BadRequest, SuspiciousOperation, MultiPartParserError):
    api.add_exception_handler(unreadable, _unreadable)
for not_there in (Http404, ObjectDoesNotExist):  # somebody may delete a plan while somebody else reads it
    api.add_exception_handler(not_there, _not_there)
api.add_exception_handler(Exception, _on)
