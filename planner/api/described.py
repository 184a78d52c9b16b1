"""The OpenAPI description of the calls: what ninja reads from their types, and what holds for all of them."""

from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any, Final

from django.urls import resolve, reverse

from planner.accounts.keys import PUBLIC_LENGTH, PublicId
from planner.accounts.scopes import Scope
from planner.api.answers.common import Problem
from planner.api.calls import api
from planner.api.idempotency import HEADER, LASTS
from planner.operations.problems import TYPE
from planner.permissions import RULES, Rule
from planner.web.simulating.inputs import GROUPS

Schema = dict[str, Any]
METHODS: Final = ("get", "post", "put", "delete")
# pydantic's words on a number that is also read from text, and JSON Schema's for them.
_BOUNDS: Final = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
_NUMBERS: Final = frozenset({"integer", "number"})
_TEXT: Final = {"type": "string"}
_INPUTS: Final = {each.name: (each.label, each.unit, each.hint) for group in GROUPS for each in group.inputs}
# Something for each name in a path, to find its rule by.
_PLACES: Final = {"plan_id": "A" * PUBLIC_LENGTH, "number": "1", "link_id": "1"}
_HEADERS: Final = {
    "RateLimit": ("How many requests are left in this window, and its seconds (draft-ietf-httpapi-ratelimit-headers).", _TEXT),
    "RateLimit-Policy": ("The limit that is counted.", _TEXT),
    "X-Request-ID": ("The id of this call in the log.", _TEXT),
    "Retry-After": ("Seconds until it may be tried again.", {"type": "integer"}),
    "WWW-Authenticate": ("What kind of token it takes (RFC 6750).", _TEXT),
    "Allow": ("The methods this address has.", _TEXT),
    "Location": ("The address of what was made.", _TEXT),
    "ETag": ("The version, in quotes.", _TEXT),
    "Idempotency-Replayed": ("“true” where this is the answer to the first call with this key.", {"type": "string", "const": "true"}),
}
_ALWAYS: Final = ("RateLimit", "RateLimit-Policy", "X-Request-ID")
_BESIDE: Final = {401: ("WWW-Authenticate",), 403: ("WWW-Authenticate",), 405: ("Allow",), 429: ("Retry-After",), 503: ("Retry-After",)}
_WITH: Final = {("plans", "201"): ("Location", "ETag", "Idempotency-Replayed"), ("saved-plan", "200"): ("ETag",)}
_ONCE: Final = frozenset({("plans", "post")})
_KEY: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": f"Within {LASTS // timedelta(hours=1)} hours the same call with the same key saves nothing new and has the same answer.",
    "schema": {**_TEXT, "pattern": "^[!-~]{1,255}$"},
}
_WHY: Final = {
    400: "What was sent cannot be read.",
    401: "The token is missing, has ended or was revoked.",
    403: "The token’s scopes, or your role, do not allow it.",
    404: "It is not there, or not yours to see.",
    405: "The address has no such method.",
    409: "Somebody saved meanwhile, or the key was used for something else.",
    413: "The body is too large.",
    415: "The body is of another type than this call takes.",
    422: "An input cannot be used; `errors` says which and why.",
    429: "Too many requests.",
    503: "The database does not answer just now.",
}


@cache
def schema() -> Schema:
    """The whole description. The same for everybody, and for as long as the process lives."""
    told: Schema = _plain(dict(api.get_openapi_schema(path_prefix=reverse("api:api-root"))))
    told["components"]["schemas"] |= {"Problem": _plain(Problem.model_json_schema(ref_template="#/components/schemas/{model}"))}
    told["components"]["schemas"] |= told["components"]["schemas"]["Problem"].pop("$defs")
    told["components"]["headers"] = {name: {"description": why, "schema": kind} for name, (why, kind) in _HEADERS.items()}
    told["components"]["responses"] = {f"Refused{status}": _refusal(status) for status in _WHY}
    told["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token of your account’s page. " + _scopes()}
    }
    for name in ("PlanRequest", "CompareRequest", "SimulateRequest"):
        _say_what_inputs_are(told["components"]["schemas"][name]["properties"])
    for path, method, call in operations(told):
        _complete(call, path, method)
    return told


def _say_what_inputs_are(properties: Schema) -> None:
    """In the words that stand beside them on the pages."""
    for name, each in properties.items():
        if name in _INPUTS and "description" not in each:
            label, unit, hint = _INPUTS[name]
            each["description"] = ": ".join(filter(None, (f"{label}, {unit}" if unit else label, hint)))


def operations(told: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Path, method in lower case, operation."""
    for path, item in told["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _complete(call: Schema, path: str, method: str) -> None:
    """What the call's rule and its address say beside its types."""
    name = resolve(path.format(**_PLACES)).url_name or ""
    rule = RULES[f"api:{name}"]
    call["security"] = [{"token": []}] if rule.personal else [{}, {"token": []}]
    if scope := (rule.scopes or {}).get(method.upper()):
        call["x-scope"] = scope.value
    if (name, method) in _ONCE:
        call["parameters"].append(_KEY)
    for parameter in call["parameters"]:
        if parameter["name"] == "plan_id":
            parameter["schema"] = {**_TEXT, "pattern": f"^{PublicId.regex}$"}
    if "requestBody" in call:
        call["requestBody"]["required"] = True
    answers = {str(status): answer for status, answer in call["responses"].items()}
    for status, answer in answers.items():
        answer["headers"] = _headers(*_ALWAYS, *_WITH.get((name, status), ()))
    refusals = sorted(_statuses(rule, method, name, body="requestBody" in call))
    call["responses"] = answers | {str(status): {"$ref": f"#/components/responses/Refused{status}"} for status in refusals}


def _statuses(rule: Rule, method: str, name: str, *, body: bool) -> set[int]:
    found = {400, 401, 403, 405, 422, 429, 503}
    if rule.find:
        found.add(404)
    if body:
        found |= {413, 415}
    if method == "put" or (name, method) in _ONCE:
        found.add(409)
    return found


def _refusal(status: int) -> Schema:
    content = {TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": _WHY[status], "content": content, "headers": _headers(*_ALWAYS, *_BESIDE.get(status, ()))}


def _headers(*names: str) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _scopes() -> str:
    return " ".join(f"`{scope.value}`: {scope.label[0].lower()}{scope.label[1:]}." for scope in Scope)


def _plain(node: Any, *, names: bool = False) -> Any:
    """JSON Schema in its own words, and without the titles that only repeat names. `names`: the keys are a model's."""
    if isinstance(node, list | tuple):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {str(key): _plain(value, names=key in {"properties", "paths", "schemas"}) for key, value in node.items()}
    if names:
        return found
    if isinstance(found.get("title"), str) and "version" not in found:  # the description itself has a title and a version
        del found["title"]
    bounds = {name: found.pop(word) for word, name in _BOUNDS.items() if word in found}
    for kind in [found, *found.get("anyOf", [])]:
        if kind.get("type") in _NUMBERS:
            kind.update(bounds)
    return found
