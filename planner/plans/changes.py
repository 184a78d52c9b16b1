"""What is different from one version to the next, in words: `users 20 → 35`, `slots needed 6 → 9`."""

from collections.abc import Iterator, Mapping
from typing import Final

from planner.core.errors import InputError
from planner.core.request import FIELDS, PlanRequest, read_request
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
    was, now = _meant(before), _meant(after)
    for field in FIELDS:
        if was.get(field) != now.get(field):
            yield Difference(input_name(field), shown_input(before, field), shown_input(after, field))


def _meant(inputs: Mapping[str, str]) -> Mapping[str, object]:
    """What the inputs stand for; as they were typed where a later release does not read them any more."""
    try:
        return read_request(inputs).model_dump()
    except InputError:
        return inputs


def changed_labels(name: str, before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[str]:
    added, gone = [each for each in after if each not in before], [each for each in before if each not in after]
    if added or gone:
        yield f"{name} " + ", ".join([*(f"+ {each}" for each in added), *(f"− {each}" for each in gone)])


def changed_results(before: Json, after: Json) -> Iterator[Difference]:
    return differences(before, after, MAIN)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
