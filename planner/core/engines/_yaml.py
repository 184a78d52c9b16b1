"""YAML: an emitter whose every text is quoted and every line may carry its reason, and a reader with bounds for what people paste."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

from planner.core.engines import _systemd

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = "Scalar | Mapping[str, Value] | Sequence[Value] | Noted"

MAX_DEPTH: Final = 24
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
# Keys that YAML 1.1 readers take for something else than text.
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})
# What a YAML file may hold as it is. Source: YAML 1.2.2, 5.1 c-printable, without the byte order mark.
_UNPRINTABLE: Final = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Noted:
    """A value and the comment above it."""

    value: "Value"
    why: str


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def quote(text: str) -> str:
    """A double-quoted scalar. Raises ValueError for a control character or a line separator."""
    text = _systemd.printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_UNPRINTABLE.sub(_escaped, text)}"'


def _scalar(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    text = repr(value)
    # YAML 1.1 takes 1e-05 for text: a number with an exponent needs a point.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _key(text: str) -> str:
    if not _KEY.fullmatch(text) or text.lower() in _WORDS:
        raise ValueError(f"{text[:40]!r} is not a plain key")
    return text


def _comment(why: str, indent: str) -> Iterator[str]:
    for line in _systemd.comment([why]):
        yield f"{indent}{_UNPRINTABLE.sub(' ', line)}"


def _lines(value: Value, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _entry(f"{_key(key)}:", each, indent)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _item(each, indent)


def _entry(name: str, value: Value, indent: str) -> Iterator[str]:
    if isinstance(value, Noted):
        yield from _comment(value.why, indent)
        value = value.value
    if isinstance(value, str | int | float | bool):
        yield f"{indent}{name} {_scalar(value)}"
    elif isinstance(value, Mapping | Sequence) and not value:
        yield f"{indent}{name} {'{}' if isinstance(value, Mapping) else '[]'}"
    else:
        yield f"{indent}{name}"
        yield from _lines(value, indent + "  ")


def _item(value: Value, indent: str) -> Iterator[str]:
    if isinstance(value, Noted):
        yield from _comment(value.why, indent)
        value = value.value
    if isinstance(value, str | int | float | bool):
        yield f"{indent}- {_scalar(value)}"
        return
    first, *rest = list(_lines(value, indent + "  "))
    yield f"{indent}- {first.lstrip()}"
    yield from rest


def document(head: Sequence[str], content: Mapping[str, Value]) -> str:
    """The text of a file: `head` as comments, then the mapping. Raises ValueError for text that YAML cannot hold."""
    comments = [_UNPRINTABLE.sub(" ", line) for line in _systemd.comment(head)]
    return "\n".join([*comments, "", *_lines(content, ""), ""])


def read(text: str) -> Any:
    """What a document holds. Raises ValueError for one that is no YAML, nests too deeply, or repeats parts by reference.

    References are refused because a short text can stand for a huge one with them.
    """
    if any(unicodedata.category(character) == "Cs" for character in text):
        raise ValueError("half of a character")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise ValueError("a reference (*name)")  # noqa: TRY004 - it is the text that is wrong
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise ValueError(f"more than {MAX_DEPTH} levels")
        return yaml.safe_load(text)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ValueError(f"no YAML{where}") from None
