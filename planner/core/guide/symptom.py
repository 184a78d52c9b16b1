"""What a symptom of the guide consists of: what you see, why, the commands that confirm it, and the settings to change."""

from collections.abc import Mapping
from dataclasses import dataclass

# What a setting is in the planner: inputs by name, None for one that is taken out.
Inputs = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Check:
    """A command that confirms the cause or rules it out, and what to look for in what it prints."""

    command: str
    look_for: str


@dataclass(frozen=True, slots=True)
class Change:
    """A setting to change. `name` is the flag or variable as the engine's version table has it.

    `value` is what to give it, as it would be typed or in words, "" for a bare switch. `inputs` bring it about in the planner:
    none of them where every plan for this engine has it already, None where the planner does not choose it.
    """

    name: str
    value: str
    why: str
    inputs: Inputs | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """A symptom under one engine: what is particular to it, two commands, and the settings, the most likely first."""

    engine: str
    note: str
    checks: tuple[Check, Check]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A measurement or report that shows the cause. `source` names it; `url` is where it can be read."""

    sentence: str
    source: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that people see. `words` are further ones it is found by, `related` the slugs of symptoms that look alike."""

    slug: str
    title: str
    seen: str
    cause: str
    advice: tuple[Advice, ...]
    evidence: tuple[Evidence, ...] = ()
    words: str = ""
    related: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Whether every word of `text` stands somewhere in what is seen, its cause or its further words."""
        own = f"{self.title} {self.seen} {self.cause} {self.words}".lower()
        return all(word in own for word in text.lower().split())


@dataclass(frozen=True, slots=True)
class Group:
    """Symptoms that are looked for together."""

    title: str
    symptoms: tuple[Symptom, ...]
