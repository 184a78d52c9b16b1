"""Version tables: which options an engine's version knows, under which name, with which default."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from planner.core.engines.contract import Setting
from planner.core.errors import InputError

# `list` is one word with commas in it; `words` are several words that follow each other.
FlagType = Literal["integer", "number", "size", "duration", "switch", "choice", "text", "list", "words", "json"]

Value = TypeVar("Value")

# The most of a pasted --version that is read.
MAX_PRINTED: Final = 4_096

_DIGITS: Final = re.compile(r"\d{1,9}")
_COMMIT: Final = re.compile(r"[(+].*", re.DOTALL)


@lru_cache(maxsize=1024)
def version_key(version: str) -> tuple[int, ...]:
    """What versions are ordered by: `b11434` → (11434,), `0.11.2.post2` → (0, 11, 2, 2). What follows `(` or `+` does not count."""
    return tuple(int(part) for part in _DIGITS.findall(_COMMIT.sub("", version[:80]))[:6])


def _reaches(version: str, bound: str) -> bool:
    """Whether `version` is `bound` or younger."""
    return version_key(version) >= version_key(bound)


def _past(version: str, bound: str) -> bool:
    """Whether `version` is younger than every release of `bound`: 0.17.1 is not past 0.17."""
    key = version_key(bound)
    return version_key(version)[: len(key)] > key


def _latest(changes: tuple[tuple[str, Value], ...], version: str, otherwise: Value) -> Value:
    """What holds in `version` of something that changed in some versions, oldest first."""
    return next((value for since, value in reversed(changes) if _reaches(version, since)), otherwise)


@dataclass(frozen=True, slots=True)
class Flag:
    """One option. `name` is its long command-line name, or the variable's where no flag exists (then `env` equals it).

    `negative` is the name that switches it off. `envs` are its variable's names, each from a version on. `since` and `until` are the first and the last version seen to know it:
    between two versions that were looked at, an option counts as unknown. `defaults` and `allowed` begin at a version each;
    an empty default is not known or depends on the machine, which `default_by_device` then says.
    `replaced_by` is what does the job in versions that do not know it, written as it would be typed; "" means nothing is needed.
    `breaks` is what to know before using it, where a plan never chooses it; `meaning` is empty where it decides no capacity.
    """

    name: str
    aliases: tuple[str, ...]
    negative: str | None
    envs: tuple[tuple[str, str], ...]
    type: FlagType
    defaults: tuple[tuple[str, str], ...]
    allowed: tuple[tuple[str, tuple[str, ...]], ...]
    default_by_device: str
    meaning: str
    since: str
    until: str | None
    replaced_by: str | None
    breaks: str = ""

    def known_to(self, version: str) -> bool:
        return _reaches(version, self.since) and (self.until is None or not _past(version, self.until))

    def env(self, version: str) -> str | None:
        """Its environment variable, None where it has none."""
        return _latest(self.envs, version, "") or None

    def default(self, version: str) -> str | None:
        """The default as it would be typed, None where it is unset, unknown or depends on the machine."""
        return _latest(self.defaults, version, "") or None

    def values(self, version: str) -> tuple[str, ...]:
        """The values it accepts, empty where it is not a choice."""
        return _latest(self.allowed, version, ())

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.name, *self.aliases, *((self.negative,) if self.negative else ()))


@dataclass(frozen=True, slots=True)
class FlagTable:
    """The options of one engine from version `first` to `newest`."""

    engine: str
    first: str
    newest: str
    flags: tuple[Flag, ...]
    printed: tuple[re.Pattern[str], ...] = ()

    def version_in(self, text: str) -> str:
        """The version in what a person types or the program prints for `--version`, as this table writes it.

        Raises InputError where there is none, or more than one.
        """
        for pattern in self.printed:
            found = {match[1] for match in pattern.finditer(text[:MAX_PRINTED])}
            if len(found) == 1:
                return f"{'b' if self.newest.startswith('b') else ''}{found.pop()}"
            if found:
                break
        shown = " ".join(text.split())[:40]
        raise InputError(
            f"“{shown}” is not known here as a version of {self.engine}: give one such as {self.newest}, or what its --version prints.",
            field="engine_version",
        )

    def at(self, version: str) -> "VersionFlags":
        """The options of one version. Raises InputError for a version from before the table; a younger one is read as the newest."""
        if not version_key(version):
            raise InputError(f"“{version[:40]}” is not a version of {self.engine}: give one such as {self.newest}.", field="engine_version")
        if not _reaches(version, self.first):
            raise InputError(
                f"{self.engine} {version[:40]} is not known here: the options are recorded from {self.first} to {self.newest}.",
                field="engine_version",
            )
        return VersionFlags(self, version if _reaches(self.newest, version) else self.newest)


@dataclass(frozen=True, slots=True)
class VersionFlags:
    """The options of one engine in one version. Nothing that the version does not know leaves it."""

    table: FlagTable
    version: str

    def find(self, spelling: str) -> Flag | None:
        """The option with this name, alias, negative name or variable, if this version knows it."""
        return next((flag for flag in self.table.flags if self._named(flag, spelling) and flag.known_to(self.version)), None)

    def removed(self, spelling: str) -> Flag | None:
        """The option with this spelling that other versions know and this one does not."""
        if self.find(spelling):
            return None
        return next((flag for flag in reversed(self.table.flags) if self._named(flag, spelling)), None)

    def _named(self, flag: Flag, spelling: str) -> bool:
        return spelling in (*flag.spellings, flag.env(self.version))

    def setting(
        self, name: str, value: str | int | None, *, why: str, breaks: str = "", source: str = "", more: tuple[str, ...] = ()
    ) -> Iterator[Setting]:
        """The setting under the name this version has for it; nothing where the version has no such option.

        `value` is None for a bare switch, `more` the further words of an option that takes several.
        Raises InputError for a value that the version does not accept.
        """
        text = None if value is None else str(value)
        flag, spelling = self.find(name), name
        if flag is None:
            flag = self._older_spelling(name, text)
            if flag is None:
                return
            spelling, text = flag.name, None if flag.type == "switch" else text
        allowed = flag.values(self.version)
        if text is not None and allowed and text not in allowed:
            raise InputError(
                f"{self.table.engine} {self.version} does not accept “{text[:40]}” for {spelling}: choose one of {', '.join(allowed)}.",
                field=source or None,
            )
        yield Setting(
            flag=spelling if spelling.startswith("-") else None,
            value=text,
            more=more,
            env=flag.env(self.version),
            default=flag.default(self.version),
            why=why,
            breaks=breaks,
            source=source,
        )

    def _older_spelling(self, name: str, value: str | None) -> Flag | None:
        """The option of this version that `name` (with `value`) replaced later."""
        wanted = {name, f"{name} {value}"}
        return next((flag for flag in self.table.flags if flag.replaced_by in wanted and flag.known_to(self.version)), None)


def _by_version(value: str | Sequence[str] | Mapping[str, Any], since: str) -> tuple[tuple[str, Any], ...]:
    """A value that holds from `since`, or a table of the versions it changed in, oldest first."""
    if isinstance(value, Mapping):
        return tuple(sorted(value.items(), key=lambda item: version_key(item[0])))
    return ((since, value),) if value else ()


def _flag(record: Mapping[str, Any], first: str) -> Flag:
    since = record.get("since", first)
    allowed = _by_version(record.get("allowed", ()), since)
    return Flag(
        name=record["name"],
        aliases=tuple(record.get("aliases", ())),
        negative=record.get("negative"),
        envs=_by_version(record.get("env", ""), since),
        type=record["type"],
        defaults=_by_version(record.get("default", ""), since),
        allowed=tuple((version, tuple(values)) for version, values in allowed),
        default_by_device=record.get("default_by_device", ""),
        meaning=record["meaning"],
        since=since,
        until=record.get("until"),
        replaced_by=record.get("replaced_by"),
        breaks=record.get("breaks", ""),
    )


# How an option of the short list is typed, by the key it stands under.
_OTHER_TYPES: Final[Mapping[str, FlagType]] = {"toggles": "switch", "switches": "switch", "values": "text", "words": "words"}


def _other(line: str, kind: str, since: str) -> Flag:
    """An option of the short list, `--name -n LLAMA_ARG_NAME`: it decides no capacity and is only kept as it is pasted."""
    name, *rest = line.split()
    env = rest.pop() if rest and not rest[-1].startswith("-") else ""
    return Flag(
        name=name,
        aliases=tuple(rest),
        negative=f"--no-{name[2:]}" if kind == "toggles" else None,
        envs=_by_version(env, since),
        type=_OTHER_TYPES[kind],
        defaults=(),
        allowed=(),
        default_by_device="",
        meaning="",
        since=since,
        until=None,
        replaced_by=None,
    )


def _others(record: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[Flag]:
    for since, kinds in record.items():
        for kind, lines in kinds.items():
            yield from (_other(line, kind, since) for line in lines)


def load_flags(path: Path) -> FlagTable:
    """The table in a `flags.toml`."""
    record = tomllib.loads(path.read_text(encoding="utf-8"))
    first = record["first"]
    return FlagTable(
        engine=record["engine"],
        first=first,
        newest=record["newest"],
        flags=(*(_flag(flag, first) for flag in record["flag"]), *_others(record.get("others", {}))),
        printed=tuple(re.compile(pattern, re.ASCII | re.IGNORECASE | re.MULTILINE) for pattern in record["printed"]),
    )
