"""Unit files: whatever value goes in, systemd reads exactly that value back; what a file cannot hold never gets in."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.engines import _env_file, _systemd
from planner.core.engines._systemd import Argument, Command, Entry, Section

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: apt-get install systemd")

# Every printable character, those with a meaning to systemd or a shell more often.
PRINTABLE = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
VALUES = st.text(st.one_of(st.sampled_from(list("%$\"'\\;#{}~=:@-+! nh")), PRINTABLE), max_size=40)
UNPRINTABLE = ["a\nExecStartPre=/bin/x", "a\r\nUser=root", "a\x00b", "a\u2028b", "a\u2029b", "a\x85b", "a\x1bb", "a\ud800b", "a" * 20_000]


def one_unit(arguments: list[str], variables: list[str]) -> str:
    entries = (
        Entry("Type", "exec"),
        *(Entry("Environment", _systemd.variable(f"V{n}", value), why=f"why {value}") for n, value in enumerate(variables)),
        Command("ExecStart", ("/bin/true", "serve"), tuple(Argument((value,), why=f"because of {value} \\") for value in arguments)),
    )
    return _systemd.unit(["head \\"], (Section("Service", entries),))


@given(arguments=st.lists(VALUES, max_size=6), variables=st.lists(VALUES, max_size=4))
def test_our_reader_gives_back_what_was_written(arguments: list[str], variables: list[str]) -> None:
    read = _systemd.parse_unit(one_unit(arguments, variables))
    assert [key for _, key, _ in read] == ["Type", *["Environment"] * len(variables), "ExecStart"]
    assert [_systemd.parse_words(value) for _, key, value in read if key == "Environment"] == [
        [f"V{n}={value}"] for n, value in enumerate(variables)
    ]
    assert _systemd.parse_words(read[-1][2], command_line=True) == ["/bin/true", "serve", *arguments]


def systemd_reads(text: str) -> tuple[list[str], list[str]]:
    """(words of the command line, variables) as systemd's own parser has them: its debug log dumps the unit it read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.service"
        path.write_text(text)
        environment = {**os.environ, "SYSTEMD_LOG_LEVEL": "debug", "LC_ALL": "C.UTF-8"}
        dump = subprocess.run([ANALYZE, "verify", path], capture_output=True, text=True, check=False, env=environment).stdout
    line = re.search(r"Command Line: (.*)", dump)
    assert line, dump[-500:]
    words = [
        bare or re.sub(r'\\(["\\`$])', r"\1", quoted) for quoted, bare in re.findall(r'"((?:[^"\\]|\\.)*)"|([^ \t"]+)', line[1], re.DOTALL)
    ]
    # A service's process gets `$$` as `$`: systemd.service(5), "Command lines".
    return [word.replace("$$", "$") for word in words], re.findall(r"\n\t\tEnvironment: (.*)", dump)


@needs_systemd
@settings(max_examples=40, deadline=None)
@given(
    arguments=st.lists(VALUES, min_size=1, max_size=8),
    variables=st.lists(VALUES, min_size=1, max_size=4),
)
def test_systemd_s_own_parser_gives_back_what_was_written(arguments: list[str], variables: list[str]) -> None:
    words, environment = systemd_reads(one_unit(arguments, variables))
    assert words == ["/bin/true", "serve", *arguments]
    assert environment == [f"V{n}={value}" for n, value in enumerate(variables)]


@pytest.mark.parametrize("text", UNPRINTABLE)
def test_what_a_line_cannot_hold_is_refused(text: str) -> None:
    for quote in (_systemd.word, _systemd.argument, _systemd.plain):
        with pytest.raises(ValueError, match=r"control character|longer"):
            quote(text)
    with pytest.raises(ValueError, match=r"control character|longer"):
        _env_file.env_file([], [_env_file.Variable("KEY", text, "why")])


@pytest.mark.parametrize("text", UNPRINTABLE)
def test_a_comment_stays_a_comment_whatever_is_in_it(text: str) -> None:
    for line in _systemd.comment([text + " \\"]):
        assert line.startswith("#")
        assert not line.endswith("\\")
        assert "\n" not in line
        assert "\u2028" not in line


@given(values=st.lists(VALUES, max_size=5))
def test_an_environment_file_gives_back_what_was_written(values: list[str]) -> None:
    variables = [_env_file.Variable(f"V{n}", value, "why \\") for n, value in enumerate(values)]
    text = _env_file.env_file(["head \\"], variables)
    assert _env_file.parse_env_file(text) == {f"V{n}": value for n, value in enumerate(values)}


@settings(max_examples=30, deadline=None)
@given(values=st.lists(VALUES, max_size=5))
def test_a_shell_reads_an_environment_file_alike(values: list[str]) -> None:
    """The file follows the shell's rules for double quotes, as systemd.exec(5) says of EnvironmentFile=."""
    text = _env_file.env_file([], [_env_file.Variable(f"V{n}", value, "why") for n, value in enumerate(values)])
    script = text + "".join(f"printf '%s\\0' \"$V{n}\"\n" for n in range(len(values)))
    shown = subprocess.run(["/bin/sh"], input=script.encode(), capture_output=True, check=True).stdout
    assert shown.decode().split("\0")[:-1] == values


@pytest.mark.parametrize("name", ["A B", "A=B", "1A", "", "A\nB", "Ä"])
def test_a_name_that_is_no_variable_s_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not the name"):
        _systemd.variable(name, "x")
    with pytest.raises(ValueError, match="not the name"):
        _env_file.env_file([], [_env_file.Variable(name, "x", "why")])


def test_a_secret_without_a_value_is_a_comment_to_fill_in() -> None:
    text = _env_file.env_file(["head"], [_env_file.Variable("LLAMA_API_KEY", None, "why")])
    assert "#LLAMA_API_KEY=" in text
    assert _env_file.parse_env_file(text) == {}
