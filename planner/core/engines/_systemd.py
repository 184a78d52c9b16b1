"""Unit files and drop-ins of systemd: quoting, comments, and a reader that gives back what was written.

Source: systemd 252, systemd.syntax(7), systemd.service(5) "Command lines", systemd.exec(5) `Environment=`.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 110
# systemd refuses lines above 1 MiB (LONG_LINE_MAX); ours stay far below.
MAX_VALUE: Final = 16_384

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@=,+-]+")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The space between a number and its unit, where a line should not break.
_UNIT_SPACE: Final = re.compile(r"(?<=\d) (?=[A-Za-z%])")
# Control characters, lone surrogates, and the separators of lines and paragraphs.
_UNPRINTED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"'}
_WORD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"\'\\]+)')


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a section. `value` is in systemd's own syntax (see `word`, `variable`, `Command`); `why` is the comment above it."""

    key: str
    value: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Argument:
    """One or two words of a command line that belong together, and the reason for them."""

    words: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line over several lines, each argument below its reason.

    systemd leaves out comment lines between continued lines (systemd.syntax(7)), so each reason stands where its argument is.
    """

    key: str
    program: tuple[str, ...]
    arguments: tuple[Argument, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    entries: tuple[Entry | Command, ...]


def printable(text: str) -> str:
    """`text`, unless it holds what a line of a file cannot: then ValueError."""
    if len(text) > MAX_VALUE:
        raise ValueError(f"longer than {MAX_VALUE:,} characters")
    if _UNPRINTED.search(text):
        raise ValueError("a control character or a line separator")
    return text


def word(text: str) -> str:
    """One word of a value, quoted: specifiers (`%`) and escapes taken literally."""
    text = printable(text).replace("%", "%%")
    if _PLAIN.fullmatch(text):
        return text
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def plain(text: str) -> str:
    """A value that systemd does not split into words: specifiers (`%`) taken literally."""
    return printable(text).replace("%", "%%")


def argument(text: str) -> str:
    """One word of a command line: as `word`, with variables (`$`) taken literally."""
    return word(text.replace("$", "$$"))


def variable(name: str, value: str) -> str:
    """A value of `Environment=`. Raises ValueError for a name that is no variable's."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a variable")
    return word(f"{name}={value}")


def comment(paragraphs: Iterable[str]) -> list[str]:
    """Comment lines, wrapped. A line never ends in a backslash, which older systemd reads as a continuation even here."""
    lines = []
    for paragraph in paragraphs:
        together = _UNIT_SPACE.sub("\u00a0", _UNPRINTED.sub(" ", paragraph))
        wrapped = textwrap.wrap(together, WIDTH - 2, break_long_words=False, break_on_hyphens=False) or [""]
        lines += [f"# {line}".replace("\u00a0", " ").rstrip(" \\") for line in wrapped]
    return lines


def _command_lines(command: Command) -> Iterator[str]:
    first = f"{command.key}={' '.join(argument(part) for part in command.program)}"
    yield first + (" \\" if command.arguments else "")
    for number, part in enumerate(command.arguments, 1):
        if part.why:
            yield from (f"  {line}" for line in comment([part.why]))
        end = " \\" if number < len(command.arguments) else ""
        yield f"  {' '.join(argument(text) for text in part.words)}{end}"


def unit(head: Sequence[str], sections: Sequence[Section]) -> str:
    """The text of a unit or drop-in: `head` as comments, then the sections, each line below its reason."""
    lines = comment(head)
    for section in sections:
        lines += ["", f"[{section.name}]"]
        for entry in section.entries:
            lines += comment([entry.why]) if entry.why else []
            lines += _command_lines(entry) if isinstance(entry, Command) else [f"{entry.key}={entry.value}"]
    return "\n".join([*lines, ""])


def parse_unit(text: str) -> list[tuple[str, str, str]]:
    """(section, key, value) of every assignment, in order, with comments left out and continued lines joined."""
    found, section, pending = [], "", ""
    for raw in text.split("\n"):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        joined = f"{pending} {line}".strip()
        if joined.endswith("\\"):
            pending = joined[:-1].rstrip()
            continue
        pending = ""
        if joined.startswith("["):
            section = joined[1:-1]
        else:
            key, _, value = joined.partition("=")
            found.append((section, key.strip(), value.strip()))
    return found


def parse_words(value: str, *, command_line: bool = False) -> list[str]:
    """The words of a value as systemd reads them. Raises ValueError for quoting that this module does not write."""
    words, rest = [], value.strip()
    while rest:
        match = _WORD.match(rest)
        if match is None or rest[match.end() : match.end() + 1].strip():
            raise ValueError(f"quoting not understood at {rest[:40]!r}")
        text = match[2] if match[1] is None else re.sub(r'\\(["\\])', r"\1", match[1])
        words.append((text.replace("$$", "$") if command_line else text).replace("%%", "%"))
        rest = rest[match.end() :].lstrip()
    return words
