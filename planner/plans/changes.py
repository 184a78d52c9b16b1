"""What is different from one version to the next, in words: `users 20 → 35`, `slots needed 6 → 9`."""

from collections.abc import Iterator, Mapping
from typing import Final

from planner.core.request import FIELDS, PlanRequest, RequestError, read_request
from planner.plans.record import MAIN, Difference, Json, differences

NOT_GIVEN: Final = "not given"
_LONGEST: Final = 80


def input_name(field: str) -> str:
    return field.replace("_", " ")


def shown_input(inputs: Mapping[str, str], field: str) -> str:
    """An input as it was typed, or the default that stands for it."""
    if field in inputs:
        return _short(inputs[field])
    default = PlanRequest.model_fields[field].default
    return NOT_GIVEN if default in (None, "") else str(default)


def changed_inputs(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    """The inputs that mean something else: `8k` and `8192` are the same."""
    was, now = meant(before), meant(after)
    for field in FIELDS:
        if was[field] != now[field]:
            yield Difference(input_name(field), shown_input(before, field), shown_input(after, field))


def meant(inputs: Mapping[str, str]) -> Mapping[str, object]:
    """What each input stands for; as it was typed where a later release does not read it any more."""
    known = {name: text for name, text in inputs.items() if name in FIELDS}
    try:
        return read_request(known).model_dump()
    except RequestError as refused:
        rest = {name: text for name, text in known.items() if name not in refused.errors}
        return {**meant(rest), **{name: known[name] for name in refused.errors if name in known}}


def changed_labels(name: str, before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[str]:
    added, gone = [each for each in after if each not in before], [each for each in before if each not in after]
    if added or gone:
        yield f"{name} " + ", ".join([*(f"+ {each}" for each in added), *(f"− {each}" for each in gone)])


def changed_results(before: Json, after: Json) -> Iterator[Difference]:
    return differences(before, after, MAIN)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
