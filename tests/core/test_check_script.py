"""check.sh, run by a shell against a server on loopback, with stubs for systemctl and journalctl: pass, and every way to fail."""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from planner.core.engines import _check_script, engines
from planner.core.engines._check_script import Checked, check_script
from planner.core.engines.contract import Expectation, ExpectedLine
from tests.core.test_hand_over import handed
from tests.situations import CASES, VERSIONS, answer

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: apt-get install curl")
needs_shellcheck = pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed: apt-get install shellcheck")

LINE = "llama_kv_cache: size =  512.00 MiB (  8192 cells,  36 layers,  4/4 seqs)"
PATH_VALUE = 'LLAMA_ARG_MODEL=/srv/my "models"/50%$x.gguf'


@dataclass
class Server:
    """A stand-in: `slots` run at once, `key` is wanted where it is set, `healthy` and `answers` say whether it does its job."""

    slots: int = 4
    key: str | None = None
    healthy: bool = True
    answers: bool = True
    tokens: int = 6
    running: threading.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.running = threading.Semaphore(self.slots)


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.reply(200 if server.healthy and self.path == "/health" else 503, b"{}")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
                return self.reply(401, b'{"error": "Unauthorized"}')
            assert body["model"] == 'it\'s "mine" $x'
            if not body["stream"]:
                return self.reply(200, b'{"choices": []}' if server.answers else b'{"error": "broken"}')
            self.send_response(200)
            self.end_headers()
            with server.running:
                for _ in range(server.tokens):
                    self.wfile.write(b'data: {"choices": []}\n\n')
                    self.wfile.flush()
                    time.sleep(0.05)
            self.wfile.write(b"data: [DONE]\n\n")
            return None

    return Handler


@pytest.fixture
def start() -> Iterator[object]:
    running: list[ThreadingHTTPServer] = []

    def begin(server: Server) -> str:
        http = ThreadingHTTPServer(("127.0.0.1", 0), handler(server))
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        running.append(http)
        return f"127.0.0.1:{http.server_port}"

    yield begin
    for http in running:
        http.shutdown()
        http.server_close()


def checked(address: str, **changes: object) -> Checked:
    values = {
        "service": "llama-server",
        "variables": ("LLAMA_ARG_N_PARALLEL=4", PATH_VALUE),
        "options": (("--lora-init-without-apply",), ("--lora", "a,b")),
        "address": address,
        "health": "/health",
        "model": 'it\'s "mine" $x',
        "slots": 4,
        "expect": Expectation(values={}, lines=(ExpectedLine(LINE, "The cache is as large as planned."),)),
    }
    return Checked(**{**values, **changes})  # type: ignore[arg-type]


def stubs(
    folder: Path,
    *,
    environment: str = 'LLAMA_ARG_N_PARALLEL=4 "LLAMA_ARG_MODEL=/srv/my \\"models\\"/50%\\$x.gguf" HOME=/x',
    log: str = f"srv  load: {LINE}\n",
) -> None:
    """systemctl and journalctl as they answer on a machine where the plan is installed."""
    values = {
        "Environment": environment,
        "ExecStart": "{ path=/usr/bin/x ; argv[]=/usr/bin/x --lora-init-without-apply --lora a,b ; ignore_errors=no }",
        "InvocationID": "f00d",
    }
    for name, value in values.items():
        (folder / name).write_text(f"{name}={value}\n")
    (folder / "log").write_text(log)
    scripts = {
        "systemctl": f'#!/bin/sh\n[ "$1 $2" = "show llama-server" ] || exit 1\ncat "{folder}/${{3#--property=}}"\n',
        "journalctl": f'#!/bin/sh\ncase "$*" in *_SYSTEMD_INVOCATION_ID=f00d*) cat "{folder}/log" ;; esac\n',
    }
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def run(script: str, folder: Path, **environment: str) -> tuple[int, list[str]]:
    path = folder / "check.sh"
    path.write_text(script)
    done = subprocess.run(
        ["sh", path], env={"PATH": f"{folder}:/usr/bin:/bin", **environment}, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@needs_curl
def test_everything_passes_where_everything_is_as_planned(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path)
    status, said = run(check_script(["A plan"], checked(start(Server()))), tmp_path)
    assert [line[:4] for line in said] == ["pass"] * 5, said
    assert status == 0


@needs_curl
@pytest.mark.parametrize(
    ("server", "stub", "failing"),
    [
        (Server(), {"environment": "LLAMA_ARG_N_PARALLEL=1"}, "the service has the plan's settings"),
        (Server(healthy=False), {}, "it is healthy"),
        (Server(answers=False), {}, "a completion comes back"),
        (Server(slots=1), {}, "two at once are answered side by side"),
        (Server(), {"log": "llama_kv_cache: size = 128.00 MiB\n"}, f"it says: {LINE}"),
    ],
    ids=["settings", "health", "completion", "overlap", "start-up line"],
)
def test_each_step_fails_alone_and_the_status_says_so(server: Server, stub: dict[str, str], failing: str, start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path, **stub)
    status, said = run(check_script(["A plan"], checked(start(server))), tmp_path)
    assert [line[6:] for line in said if line.startswith("FAIL")] == [failing]
    assert sum(line.startswith("pass") for line in said) == 4
    assert status == 1


ABOUT = ExpectedLine("Available KV cache memory: 5.23 GiB", "An estimate.", "Available KV cache memory:")


@needs_curl
def test_an_estimate_passes_with_the_engines_own_figure_beside_the_plans(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path, log="(EngineCore pid=7) INFO gpu_worker.py:1] Available  KV cache memory: 4.87 GiB\n")
    status, said = run(check_script(["A plan"], checked(start(Server()), expect=Expectation({}, (ABOUT,)))), tmp_path)
    assert said[-2:] == [
        "pass  it says: Available KV cache memory: 4.87 GiB",
        "      the plan expects about: Available KV cache memory: 5.23 GiB",
    ]
    assert status == 0


@needs_curl
def test_an_estimate_fails_where_the_engine_never_said_it(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path, log="CUDA error: out of memory\n")
    status, said = run(check_script(["A plan"], checked(start(Server()), expect=Expectation({}, (ABOUT,)))), tmp_path)
    assert "FAIL  it says: Available KV cache memory:" in said
    assert status == 1


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_an_expected_line_has_its_certain_words_in_it(case: tuple[str, str, str]) -> None:
    lines = answer(*case)[1].expect.lines
    assert all(line.certain in line.line and line.certain != line.line for line in lines if line.certain is not None)


@needs_curl
def test_a_setting_that_is_missing_is_named(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path, environment="LLAMA_ARG_N_PARALLEL=40")
    _, said = run(check_script(["A plan"], checked(start(Server()))), tmp_path)
    assert any(f"missing: LLAMA_ARG_N_PARALLEL=4 {PATH_VALUE}." in line for line in said)


@needs_curl
def test_nothing_there_fails_every_step_without_a_traceback(tmp_path: Path) -> None:
    status, said = run(check_script(["A plan"], checked("127.0.0.1:9")), tmp_path)
    assert [line[:4] for line in said if not line.startswith(" ")] == ["FAIL"] * 5
    assert status == 1


@needs_curl
def test_a_key_is_sent_and_never_seen_in_the_list_of_processes(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path)
    script = check_script(["A plan"], checked(start(Server(key="s3cret"))))
    assert run(script, tmp_path, API_KEY="s3cret")[0] == 0
    status, said = run(script, tmp_path)
    assert status == 1
    assert any("Unauthorized" in line for line in said)
    (tmp_path / "curl").write_text('#!/bin/sh\ncase "$*" in *s3cret*) echo seen >&2 ;; esac\n')
    (tmp_path / "curl").chmod(0o755)
    assert run(script, tmp_path, API_KEY="s3cret")[0] == 1  # run() wants nothing on stderr


@needs_curl
def test_with_one_slot_two_at_once_are_answered_one_after_the_other(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path)
    script = check_script(["A plan"], checked(start(Server(slots=1)), slots=1))
    assert run(script, tmp_path)[0] == 0


@needs_curl
def test_an_answer_too_short_to_compare_is_not_taken_for_side_by_side(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path)
    _, said = run(check_script(["A plan"], checked(start(Server(tokens=1)))), tmp_path)
    assert any("no tokens to compare" in line for line in said)


@pytest.mark.parametrize(
    ("word", "printed"),
    [("A=1", "A=1"), ("A=b c", '"A=b c"'), ('A="$x`', '"A=\\"\\$x\\`"'), ("A=a,b:/c%", "A=a,b:/c%"), ('{"image":0}', '"{\\"image\\":0}"')],
)
def test_words_are_looked_for_as_systemctl_prints_them(word: str, printed: str) -> None:
    """systemd 252, basic/escape.c, shell_maybe_quote."""
    assert _check_script.shown(word) == printed


@needs_shellcheck
@pytest.mark.parametrize("name", sorted(engines()))
@pytest.mark.parametrize("slots", [1, 4])
def test_shellcheck_has_nothing_to_say_about_any_script(name: str, slots: int, tmp_path: Path) -> None:
    scripts = [file for file in handed(name, slots=slots).files if file.path.endswith(".sh")]
    assert len(scripts) == 3
    for file in scripts:
        path = tmp_path / Path(file.path).name
        path.write_text(file.content)
        done = subprocess.run(["shellcheck", "--shell=sh", "--severity=style", path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@needs_shellcheck
@pytest.mark.parametrize("name", sorted(engines()))
def test_shellcheck_has_nothing_to_say_about_the_scripts_of_any_situation(name: str, tmp_path: Path) -> None:
    for number, case in enumerate(case for case in CASES if case[0] == name and case[2] == VERSIONS[name][-1]):
        for file in answer(*case)[1].files:
            if file.path.endswith(".sh"):
                (tmp_path / f"{number}-{Path(file.path).name}").write_text(file.content)
    scripts = sorted(tmp_path.iterdir())
    assert len(scripts) >= 3
    done = subprocess.run(["shellcheck", "--shell=sh", "--severity=style", *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", sorted(engines()))
def test_the_check_is_the_only_file_that_may_be_run(name: str) -> None:
    assert [Path(file.path).name for file in handed(name).files if file.mode & 0o111] == ["check.sh"]


@needs_curl
@pytest.mark.parametrize(
    "text", ["$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "%n", "-rf", "a\\nb", "ü\U0001f600"]
)
def test_hostile_text_is_only_ever_looked_for(text: str, start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    stubs(tmp_path, environment=_check_script.shown(f"A={text}"), log=f"{text}\n")
    expect = Expectation(values={}, lines=(ExpectedLine(text, text),))
    script = check_script([text], checked(start(Server()), variables=(f"A={text}",), options=(), expect=expect))
    status, said = run(script, tmp_path)
    assert status == 0, said
    assert not (tmp_path / "pwned").exists()
    assert not Path("pwned").exists()


@pytest.mark.parametrize("text", ["a\nExecStartPre=x", "a\u2028b", "x" * 100_000])
def test_text_that_no_script_can_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"control character|longer than"):
        check_script([], checked("127.0.0.1:1", model=text, variables=(text,)))
