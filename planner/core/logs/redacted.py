"""A log line that may be shown to others: no prompt, path, address, key or name of a file in it."""

import re
from typing import Final

from planner.core.logs.envelope import PREFIX

_LONGEST: Final = 160
# Who wrote the line and when says nothing of what was not understood.
_BEFORE: Final = re.compile(PREFIX + rb"(?:\d{1,9}\.\d\d\.\d{3}\.\d{3} )?")
# What quotes, braces and template marks open may be anybody's words: nothing from there on is shown.
_OPENS_TEXT: Final = re.compile(r"[\"'`{<]")
_HIDDEN: Final = (
    (re.compile(r"\w{1,20}://\S{0,160}"), "(address)"),
    (re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?"), "(address)"),
    (re.compile(r"\S{0,160}@\S{0,160}"), "(address)"),
    (re.compile(r"\S{0,160}[/\\]\S{0,160}[/\\]\S{0,160}"), "(path)"),
    # A key by its beginning, which a cut leaves, or by its length.
    (re.compile(r"(?i)\b(?:sk|pk|hf|gh[a-z]|glpat|xox[a-z]|bearer|api[_-]?key)[-_=: ]{1,2}\S{4,160}"), "(…)"),
    (re.compile(r"[A-Za-z0-9_+=-]{24,160}"), "(…)"),
)


def redacted(line: bytes) -> str:
    """At most 160 characters of it, up to where somebody's text may begin."""
    said = _BEFORE.sub(b"", line[: 4 * _LONGEST], count=1)
    text = "".join(c if c.isprintable() else " " for c in said.decode("utf-8", "replace"))[:_LONGEST]
    if opening := _OPENS_TEXT.search(text):
        text = text[: opening.start()] + "…"
    for pattern, instead in _HIDDEN:
        text = pattern.sub(instead, text)
    return text.strip()
