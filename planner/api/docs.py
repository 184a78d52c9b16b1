"""The description of the API: as JSON for programs, and as a page for people."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from planner.accounts.scopes import Scope
from planner.api.calls import ABOUT, api
from planner.api.described import Schema, operations, schema
from planner.api.replies import reply

_REF: Final = "#/components/schemas/"
_WORDS: Final = {"string": "text", "date-time": "time", "binary": "file", None: "anything"}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a type's name; `model` where it is one that the page describes."""

    text: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    kind: tuple[Part, ...]
    required: bool
    default: str
    about: str


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    about: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    method: str
    path: str
    title: str
    about: str
    scope: str
    public: bool
    parameters: tuple[Field, ...]
    body: tuple[Part, ...]
    body_type: str
    answers: tuple[tuple[str, str, tuple[Part, ...]], ...]


@api.get("/openapi.json", url_name="openapi", include_in_schema=False)
def openapi(request: HttpRequest) -> JsonResponse:  # noqa: ARG001 (ninja passes it)
    return reply(schema())


def docs(request: HttpRequest) -> HttpResponse:
    told = schema()
    calls = [(call["tags"][0], _call(path, method, call)) for path, method, call in operations(told)]
    context = {
        "nav": "api",
        "about": ABOUT,
        "scopes": Scope.choices,
        "groups": [(tag, [call for _, call in found]) for tag, found in groupby(calls, key=lambda each: each[0])],
        "models": [_model(name, each) for name, each in sorted(told["components"]["schemas"].items())],
    }
    return render(request, "api/docs.html", context)


def _call(path: str, method: str, call: Schema) -> Call:
    body_type, body = next(iter(call.get("requestBody", {"content": {"": {}}})["content"].items()))
    return Call(
        id=call["operationId"],
        method=method.upper(),
        path=path,
        title=call["summary"],
        about=call.get("description", ""),
        scope=call.get("x-scope", ""),
        public={} in call["security"],
        parameters=tuple(
            _field(each["name"], each["schema"] | {"description": each.get("description", "")}, required=each["required"])
            for each in call["parameters"]
        )
        + (_fields(body["schema"]) if "properties" in body.get("schema", {}) else ()),
        body=_kind(body["schema"]) if "$ref" in body.get("schema", {}) else (),
        body_type=body_type,
        answers=tuple(_answer(status, each) for status, each in call["responses"].items()),
    )


def _answer(status: str, told: Schema) -> tuple[str, str, tuple[Part, ...]]:
    """Status, what it means, and the type of what comes."""
    if "$ref" in told:
        told = schema()["components"]["responses"][told["$ref"].rpartition("/")[2]]
    content = next(iter(told.get("content", {}).values()), None)
    return status, told["description"], _kind(content["schema"]) if content else ()


def _model(name: str, told: Schema) -> Model:
    return Model(name, told.get("description", ""), _fields(told))


def _fields(told: Schema) -> tuple[Field, ...]:
    required = set(told.get("required", ()))
    return tuple(_field(name, each, required=name in required) for name, each in told.get("properties", {}).items())


def _field(name: str, told: Schema, *, required: bool) -> Field:
    default = told.get("default")
    return Field(name, _kind(told), required, "" if default in (None, "", [], {}) else str(default), told.get("description", ""))


def _kind(told: Schema) -> tuple[Part, ...]:
    return tuple(_parts(told))


def _parts(told: Schema) -> Iterator[Part]:
    several = told.get("anyOf") or told.get("allOf")
    if "$ref" in told:
        name = told["$ref"].removeprefix(_REF)
        yield Part(name, name)
    elif several:
        for number, each in enumerate(several):
            if number:
                yield Part(" or ")
            yield from _parts(each)
    elif "enum" in told:
        yield Part(", ".join(map(str, told["enum"])))
    elif "const" in told:
        yield Part(str(told["const"]))
    elif told.get("type") == "array":
        yield Part("list of ")
        yield from _parts(told.get("items", {}))
    elif isinstance(told.get("additionalProperties"), dict):
        yield Part("object of ")
        yield from _parts(told["additionalProperties"])
    else:
        yield Part(_word(told))


def _word(told: Schema) -> str:
    kind = told.get("format") or told.get("type")
    low, high = told.get("minimum"), told.get("maximum")
    bounds = f" {low:,} to {high:,}" if low is not None and high is not None else ""
    return f"{_WORDS.get(kind, kind)}{bounds}"
