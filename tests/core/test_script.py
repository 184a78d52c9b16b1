"""Shell scripts: a shell that runs them starts exactly the words and variables that were put in."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.engines._script import start_script, words
from planner.core.engines._systemd import Argument

HOSTILE = ["$(id)", "`id`", "a'b", 'a"b', "%n", "a;b", "a && b", "*", "-rf", "", " a ", "ü\U0001f600", "$HOME", "\\", "#x", "!x", "~"]


def started(text: str, tmp_path: Path) -> list[str]:
    """The words and the variable that a stub engine was started with."""
    stub = tmp_path / "stub-engine"
    stub.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\nprintf "%s" "${GIVEN-}"\n')
    stub.chmod(0o755)
    done = subprocess.run(
        ["sh", "-s"], input=text.encode(), env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, check=True
    )  # fmt: skip
    assert done.stderr == b""
    return done.stdout.decode().split("\0")


def test_a_shell_starts_the_very_words_that_were_put_in(tmp_path: Path) -> None:
    arguments = [Argument(("--value", text), f"why {text}") for text in HOSTILE]
    text = start_script(["head $(id)"], ["stub-engine"], arguments, {"GIVEN": ("$(id) 'x'", "because `id`")})
    assert started(text, tmp_path) == [word for text in HOSTILE for word in ("--value", text)] + ["$(id) 'x'"]


@settings(max_examples=40, deadline=None)
@given(value=st.text(max_size=50), why=st.text(max_size=50))
def test_any_text_is_the_same_word_or_refused(value: str, why: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        text = start_script([why], ["stub-engine"], [Argument((value,), why)], {"GIVEN": (value, why)})
    except ValueError:
        return
    assert started(text, tmp_path_factory.mktemp("run")) == [value, value]


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "a\u2028b", "\ud800", "x" * 100_000])
def test_text_that_no_line_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"control character|longer than"):
        words([text])


@pytest.mark.parametrize("name", ["A B", "1A", "A;id", ""])
def test_a_name_that_is_no_variable_s_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a variable"):
        start_script([], ["x"], [], {name: ("1", "")})
