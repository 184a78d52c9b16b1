"""A pasted configuration beside a plan: what its options mean, and the words to say what is wrong with them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.core.engines import _systemd
from planner.core.engines._arguments import variable_value, words
from planner.core.engines._flags import Flag, VersionFlags
from planner.core.engines._pasted import Given, Pasted, is_false
from planner.core.engines._shell import command
from planner.core.engines.contract import Setting
from planner.core.plan import Plan

MAX_SHOWN: Final = 120
_TRUE: Final = frozenset({"1", "true", "on", "yes", "enabled"})


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something that does not do what its writer meant.

    `code` for scripts, `names` the options it is about, `evidence` the lines and numbers that show it, `reason` what happens,
    `replacement` what works instead, as it would be written; `adds` are settings it needs that the plan does not have.
    """

    code: str
    names: tuple[str, ...]
    evidence: str
    reason: str
    replacement: str
    adds: tuple[Setting, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """`wanted` are the plan's settings, `expect` what the engine will print for them, `known` the option behind each pasted spelling."""

    pasted: Pasted
    plan: Plan
    wanted: tuple[Setting, ...]
    flags: VersionFlags
    expect: Mapping[str, Any]
    known: Mapping[str, Flag | None]

    @property
    def engine(self) -> str:
        return self.plan.engine.title

    def flag(self, given: Given) -> Flag | None:
        return self.known[given.spelling]

    def name(self, given: Given) -> str:
        """The option's own name, whatever it was typed as."""
        flag = self.flag(given)
        return flag.name if flag else given.spelling

    def option(self, name: str) -> Given | None:
        """The option as it takes effect: a flag wins over a variable, the last one over earlier ones."""
        found = [given for given in self.pasted.given if self.name(given) == name]
        flags = [given for given in found if not given.is_variable]
        best = flags or found
        return best[-1] if best else None

    def number(self, name: str) -> int | None:
        """The option's whole number, None where it is not given or is none."""
        given = self.option(name)
        return whole(given.value) if given else None

    def meaning(self, given: Given) -> str:
        """The value as the engine reads it: on or off for a switch, else the text."""
        flag = self.flag(given)
        return meaning(flag, given.spelling, given.value)

    def planned(self, setting: Setting) -> str:
        """A setting's value as `meaning` gives that of a pasted one."""
        if setting.flag and len(words(setting)) > 2:
            return command(words(setting)[1:])
        return meaning(self.flags.find(setting.flag or setting.env or ""), setting.flag or setting.env or "", setting.value)

    def setting(self, name: str) -> Setting | None:
        """What the plan sets this option to."""
        return next((setting for setting in self.wanted if self.name_of(setting) == name), None)

    def name_of(self, setting: Setting) -> str:
        flag = self.flags.find(setting.flag or setting.env or "")
        return flag.name if flag else setting.flag or setting.env or ""

    def write(self, name: str, value: str | int | None = None) -> str:
        """The option as it works, in the syntax it was pasted in: the plan's setting ("" where it has none), or `value`."""
        if value is None:
            setting = self.setting(name)
            return self.written(setting) if setting else ""
        return "\n".join(self.written(each) for each in self.flags.setting(name, value, why="", source="engine_args"))

    def written(self, setting: Setting) -> str:
        """A setting as a line of what was pasted: a variable where that is how the text sets things, else a flag."""
        by_variable = setting.env and (setting.flag is None or self._sets_variables(setting))
        if not by_variable or setting.env is None:
            return command(words(setting))
        return variable_line(self.pasted, setting.env, variable_value(setting))

    def _sets_variables(self, setting: Setting) -> bool:
        given = self.option(self.name_of(setting))
        if given is not None:
            return given.is_variable
        return self.pasted.form in {"drop_in", "exports", "variables"} and not self.pasted.program

    def complain(self, code: str, *given: Given | None, reason: str, replacement: str, numbers: str = "") -> Complaint:
        """A complaint about these options; `numbers` follow the lines they were given in."""
        there = [each for each in given if each is not None]
        evidence = "; ".join(dict.fromkeys(cite(each) for each in there))
        return Complaint(
            code=code,
            names=tuple(dict.fromkeys(self.name(each) for each in there)),
            evidence=f"{evidence}. {numbers}".strip(" .") + ".",
            reason=reason,
            replacement=replacement,
        )


def whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def meaning(flag: Flag | None, spelling: str, value: str | None) -> str:
    if flag is None or flag.type != "switch":
        return (value or "").strip()
    if spelling.startswith("-"):
        return "off" if flag.negative and (spelling == flag.negative or spelling.startswith(("--no-", "-no", "-nk"))) else "on"
    return "off" if is_false(value) else "on" if (value or "").lower() in _TRUE else (value or "")


def variable_line(pasted: Pasted, name: str, value: str) -> str:
    """A variable in the syntax of the text; an export becomes the line of a drop-in, because a service has no shell."""
    if pasted.form in {"unit", "drop_in", "exports"}:
        return f"Environment={_systemd.variable(name, value)}"
    if pasted.form == "docker":
        return command(["--env", f"{name}={value}"])
    return command([], {name: value}).strip()


def shown(text: str) -> str:
    """Pasted text, safe to print and short."""
    clean = "".join(c if c.isprintable() else "�" for c in text)
    return clean if len(clean) <= MAX_SHOWN else f"{clean[:MAX_SHOWN]}…"


def cite(given: Given) -> str:
    """Where it stands and what it says."""
    place = f"line {given.line}: " if given.line else f"{given.where} " if given.where.endswith(":") else ""
    return f"{place}{shown(given.shown)}"


def each_unit_line(case: Case, key: str) -> Iterator[tuple[int, str, str]]:
    """(line, section, value) of every assignment of `key` in a pasted unit."""
    yield from ((entry.line, entry.section, entry.value) for entry in case.pasted.entries if entry.key == key)
