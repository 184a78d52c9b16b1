"""Shell command lines: split again, they are the arguments they were made from."""

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.engines import _shell

WORDS = st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=30), min_size=1, max_size=6)


@given(words=WORDS)
def test_a_command_splits_into_its_arguments(words: list[str]) -> None:
    assert shlex.split(_shell.command(words)) == words


@settings(max_examples=30, deadline=None)
@given(words=WORDS, value=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=30))
def test_a_real_shell_passes_on_exactly_these_arguments_and_variables(words: list[str], value: str) -> None:
    line = _shell.command(["sh", "-c", 'printf "%s\\0" "$V" "$@"', "sh", *words], {"V": value})
    shown = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True).stdout
    assert shown.decode().split("\0")[:-1] == [value, *words]


def test_a_name_that_is_no_variable_s_is_refused() -> None:
    with pytest.raises(ValueError, match="not the name"):
        _shell.command(["x"], {"A;id": "1"})
