"""The user's own command line: its options win over the plan's, under the names the version has for them; what cannot be kept is named."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from planner.core.engines import _systemd
from planner.core.engines._flags import Flag, VersionFlags
from planner.core.engines.contract import Setting
from planner.core.errors import InputError
from planner.core.plan import Remark

MAX_VALUE: Final = 1_024

# What a plan has inputs of its own for, and what must never stand on a command line.
_ELSEWHERE: Final = frozenset({
    "--model", "--model-url", "--hf-repo", "--hf-file", "--docker-repo", "--alias", "--served-model-name", "--revision",
    "--host", "--port", "--uds", "OLLAMA_HOST", "OLLAMA_MODELS", "HF_HOME",
})  # fmt: skip
_SECRETS: Final = frozenset({"--api-key", "--api-key-file", "--hf-token"})
_FLAG: Final = re.compile(r"--?[A-Za-z][\w.-]*", re.ASCII)
_ASSIGNMENT: Final = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.ASCII | re.DOTALL)
_WHY: Final = "Your own command line has it."


@dataclass(frozen=True, slots=True)
class Given:
    """`settings` are the options kept; `left_out` says of every other one why it is not; `replaced` what took a removed one's place."""

    settings: tuple[Setting, ...] = ()
    left_out: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[Remark, ...]:
        return (
            *(Remark("option_replaced", text, "engine_args") for text in self.replaced),
            *(Remark("option_left_out", text, "engine_args") for text in self.left_out),
        )


def read_given(words: Sequence[str], flags: VersionFlags) -> Given:
    """The options of a command line, `NAME=value` words included; other words belong to the program and are passed over.

    Raises InputError (field "engine_args") for a value that is missing or that a file could not hold.
    """
    settings: list[Setting] = []
    left_out: list[str] = []
    replaced: list[str] = []
    for spelling, value in options(words, flags):
        kept = list(_kept(spelling, value, flags))
        settings += kept
        if not kept:
            left_out.append(_reason(spelling, flags))
        elif flags.find(spelling) is None:
            replaced.append(f"{spelling} of your command line became {_shown(kept[0])}, its equal in {flags.table.engine} {flags.version}.")
    return Given(tuple(settings), tuple(dict.fromkeys(left_out)), tuple(dict.fromkeys(replaced)))


def _shown(setting: Setting) -> str:
    return " ".join(part for part in (setting.flag or setting.env, setting.value) if part)


def override(chosen: Iterable[Setting], given: Given) -> tuple[Setting, ...]:
    """The plan's settings with the given ones in their place, and those it has none for after them."""
    latest = {_key(setting): setting for setting in given.settings}
    merged = []
    for setting in chosen:
        own = latest.pop(_key(setting), None)
        if own is not None:
            same = (own.flag, own.value) == (setting.flag, setting.value)
            plans = setting.why if same else f"The plan would take {setting.value or setting.flag}."
            own = replace(own, why=f"{_WHY} {plans}", breaks=setting.breaks)
        merged.append(own or setting)
    return (*merged, *latest.values())


def _key(setting: Setting) -> str:
    return re.sub(r"^--no-", "--", setting.flag or setting.env or "")


def options(words: Sequence[str], flags: VersionFlags) -> Iterator[tuple[str, str | None]]:
    """(spelling, value) of every option; the value of a bare switch is None, several words are joined as a shell would take them."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment:
            yield assignment[1], assignment[2]
            continue
        name, equals, value = word.partition("=")
        if not _FLAG.fullmatch(name):
            continue
        spelling = name.replace("_", "-") if name.startswith("--") else name
        flag = flags.find(spelling) or flags.removed(spelling)
        if equals:
            yield spelling, value
        elif flag is not None and flag.type == "words":
            several = list(takewhile(lambda each: not _FLAG.match(each), rest))
            del rest[: len(several)]
            yield spelling, shlex.join(several) or None
        elif rest and not _FLAG.match(rest[0]) and (flag is None or flag.type != "switch"):
            yield spelling, rest.pop(0)
        else:
            yield spelling, None


def _kept(spelling: str, value: str | None, flags: VersionFlags) -> Iterator[Setting]:
    flag = flags.find(spelling)
    if flag is None:
        yield from _replacement(spelling, value, flags)
    elif flag.name not in _ELSEWHERE | _SECRETS:
        switch = flag.type == "switch" and spelling != flag.env(flags.version)
        name = flag.negative if flag.negative and _is_negative(spelling, flag) else flag.name
        given = () if switch else _words(spelling, value, flag, flags)
        why = f"{_WHY} {flag.meaning}".strip()
        yield from flags.setting(name, given[0] if given else None, more=given[1:], why=why, breaks=flag.breaks, source="engine_args")


def _is_negative(spelling: str, flag: Flag) -> bool:
    return spelling == flag.negative or spelling.startswith(("--no-", "-no", "-nk"))


def _words(spelling: str, value: str | None, flag: Flag, flags: VersionFlags) -> tuple[str, ...]:
    text = _value(spelling, value, flag, flags)
    return tuple(shlex.split(text)) if flag.type == "words" else (text,)


def _value(spelling: str, value: str | None, flag: Flag, flags: VersionFlags) -> str:
    """The option's value; an on/off option that stands alone means on, as it did in earlier versions."""
    if value is None and "on" in flag.values(flags.version):
        return "on"
    try:
        if value and len(value) <= MAX_VALUE and _systemd.printable(value):
            return value
    except ValueError:
        pass
    raise InputError(f"{spelling} needs a value of at most {MAX_VALUE:,} printable characters.", field="engine_args")


def _replacement(spelling: str, value: str | None, flags: VersionFlags) -> Iterator[Setting]:
    """What does the job of an option that this version no longer knows."""
    removed = flags.removed(spelling)
    if removed is None or not removed.replaced_by:
        return
    name, _, replaced = removed.replaced_by.partition(" ")
    target = flags.find(name)
    if target is None:
        return
    if target.type != "switch" and (not replaced or "VALUE" in replaced):
        given = _value(spelling, value, target, flags)
        replaced = (replaced or "VALUE").replace("VALUE", json.dumps(given) if removed.type == "text" and replaced else given)
    why = f"It does what {removed.name} did, which {flags.table.engine} {flags.version} does not know."
    yield from flags.setting(name, replaced or None, why=why, source="engine_args")


def _reason(spelling: str, flags: VersionFlags) -> str:
    known = flags.find(spelling)
    if known and known.name in _SECRETS:
        return f"{spelling} of your command line is left out: keys belong in the environment file."
    if known:
        return f"{spelling} of your command line is left out: the plan has an input of its own for it."
    removed = flags.removed(spelling)
    version = f"{flags.table.engine} {flags.version}"
    if removed and removed.replaced_by == "":
        return f"{spelling} of your command line is left out: {version} does not know it, and nothing is needed in its place."
    return f"{spelling[:60]} of your command line is left out: it is not an option known here for {version}."
