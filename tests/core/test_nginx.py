"""The nginx front: its limits, and nothing from outside beyond a strict grammar."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.engines._nginx import Front, front_file

needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed: apt-get install nginx-light")


def front(**changes: object) -> str:
    given_front = {
        "name": "llama-server",
        "listen": "127.0.0.1:8081",
        "machines": ("127.0.0.1:8080",),
        "open_requests": 14,
        "limit_why": "4 running + 10 waiting.",
        "timeout_seconds": 600,
        "health": "/health",
    }
    return front_file(["A plan"], Front(**{**given_front, **changes}))  # type: ignore[arg-type]


def directives(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip() and not line.strip().startswith("#")]


def test_each_machine_and_all_together_have_their_limit() -> None:
    lines = directives(front(machines=("127.0.0.1:8080", "[::1]:8080"), more_machines=1))
    assert "least_conn;" in lines
    assert "server [::1]:8080 max_conns=14 max_fails=2 fail_timeout=10s;" in lines
    assert "limit_conn llama-server_open 28;" in lines
    assert "limit_conn_status 503;" in lines
    assert "proxy_buffering off;" in lines


def test_a_machine_that_is_not_there_yet_stands_as_a_comment() -> None:
    assert "    # server machine-2.example:8080 max_conns=14 max_fails=2 fail_timeout=10s;" in front(more_machines=1).split("\n")


HOSTILE = [
    "a;b:1",
    "a b:1",
    "$host:1",
    "a{:1",
    "a\n:1",
    "a#:1",
    "'a':1",
    "a:1;",
    "unix:/x",
    "a:",
    "a",
    "",
    "a:123456",
    "ü:1",
    "x" * 100_000,
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", ["listen", "machines"])
def test_an_address_outside_the_grammar_is_refused(field: str, text: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in an nginx file"):
        front(**{field: (text,) if field == "machines" else text})


@given(text=st.text(max_size=30))
def test_any_reason_is_only_ever_a_comment(text: str) -> None:
    plain = directives(front())
    assert directives(front(limit_why=text)) == plain
    assert directives(front_file([text], Front(
        name="llama-server", listen="127.0.0.1:8081", machines=("127.0.0.1:8080",), open_requests=14, limit_why="",
        timeout_seconds=600, health="/health",
    ))) == plain  # fmt: skip


@needs_nginx
@pytest.mark.parametrize("changes", [{}, {"machines": ("127.0.0.1:8080", "[::1]:8080"), "only_local_names": True, "more_machines": 2}])
def test_nginx_accepts_the_file(changes: dict[str, object], tmp_path: Path) -> None:
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{front(**changes)}\n}}\n")
    done = subprocess.run(["nginx", "-t", "-q", "-p", tmp_path, "-c", whole], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
