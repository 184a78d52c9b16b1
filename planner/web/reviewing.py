"""A pasted configuration held against the plan that came along, in the words of the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from planner.answer import answer
from planner.core.engines import engines
from planner.core.request import read_request
from planner.core.review import Item, Review, engine_in, review
from planner.core.review.compare import Kind
from planner.web import site
from planner.web.carried import Carried

_FORMS: Final = {
    "unit": "a unit", "drop_in": "a drop-in", "exports": "exports of a shell", "variables": "an environment file",
    "compose": "a Compose file", "docker": "a docker run line", "config": "a file for --config", "command": "a command line",
}  # fmt: skip
_TITLES: Final[Mapping[Kind, str]] = {"wrong": "Wrong", "changed": "The plan changes", "added": "The plan adds", "kept": "Kept"}
_WITHOUT: Final[Mapping[Kind, str]] = {
    "wrong": "Nothing here fails to do what it says.",
    "changed": "No value differs.",
    "added": "Nothing is missing.",
    "kept": "Nothing stays as it is.",
}


@dataclass(frozen=True, slots=True)
class Section:
    """The items of one kind, and what to say where there are none."""

    kind: Kind
    title: str
    items: tuple[Item, ...]
    without: str


@dataclass(frozen=True, slots=True)
class Reviewed:
    """`read_as` says what the text was taken for, `address` leads to the plan it was held against.

    `other_engine` is the engine the plan had asked for, where the text is for another one.
    """

    review: Review
    title: str
    read_as: str
    address: str
    other_engine: str
    sections: tuple[Section, ...]

    @property
    def verdict(self) -> str:
        wrong = len(self.review.of("wrong"))
        if wrong:
            return "1 thing does not do what it should." if wrong == 1 else f"{wrong} things do not do what they should."
        differs = len(self.review.of("changed")) + len(self.review.of("added"))
        return "Nothing is wrong, and some of it could fit the plan better." if differs else "It is what the plan would write."


def reviewed(text: str, plan: Carried) -> Reviewed:
    """The review of `text`. The plan is worked out for the engine that the text is for.

    Raises InputError: with field "text" for text that cannot be reviewed, else for a plan that cannot be made.
    """
    engine = engine_in(text)
    made = answer(read_request(plan.changed(engine, {})), site.hub())
    done = review(text, made.plan, made.hand_over)
    return Reviewed(
        review=done,
        title=engines()[engine].title,
        read_as=_FORMS.get(done.form, "a configuration"),
        address=plan.with_(engine, {}),
        other_engine=engines()[plan.engine].title if plan.engine not in {"", engine} else "",
        sections=tuple(Section(kind, _TITLES[kind], done.of(kind), _WITHOUT[kind]) for kind in get_args(Kind)),
    )
