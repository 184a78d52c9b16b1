"""YAML both ways: what is written reads back the same, and what people paste is read within bounds."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.core.engines import _yaml
from planner.core.engines._yaml import Noted

TEXTS = st.text(max_size=60)
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True).filter(lambda key: key.lower() not in _yaml._WORDS)
SCALARS = TEXTS | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12)


@given(head=st.lists(st.text(max_size=200), max_size=2), content=st.dictionaries(KEYS, VALUES, max_size=4), why=st.text(max_size=200))
def test_what_is_written_reads_back_the_same(head: list[str], content: dict, why: str) -> None:
    noted = {key: Noted(value, why) for key, value in content.items()}
    try:
        text = _yaml.document(head, noted)
    except ValueError:
        return
    assert (yaml.safe_load(text) or {}) == content


@pytest.mark.parametrize("text", ["a\nb: c", "\x00", "\u2028", "\u0085", "\ud800", "x" * 100_000])
def test_text_that_a_line_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"control character|longer than"):
        _yaml.document([], {"key": text})


@pytest.mark.parametrize("text", ["yes", "null", "0x10", "1e3", "~", "- a", "a: b", "#c", "&a", "*a", "!!python/object", "%n", "\ufeff", "\U0001f600", "\\", '"'])  # fmt: skip
def test_text_stays_text_whatever_it_looks_like(text: str) -> None:
    assert yaml.safe_load(_yaml.document(["# \ufffe"], {"key": [text]})) == {"key": [text]}


@pytest.mark.parametrize("key", ["a b", "yes", "", "a:b", "é", "1a"])
def test_a_key_that_would_need_quotes_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="plain key"):
        _yaml.document([], {key: "value"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [1]\nb: *x", "reference"),
        ("[" * 40 + "]" * 40, "levels"),
        ("a: 'open", "no YAML at line"),
        ("a: !!python/object/apply:os.system [id]", "no YAML"),
        ("\ud800", "half of a character"),
        ("a: \x00", "no YAML"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        _yaml.read(text)


def test_a_pasted_file_is_read() -> None:
    assert _yaml.read("services:\n  a:\n    command: [--model, x]\n") == {"services": {"a": {"command": ["--model", "x"]}}}
