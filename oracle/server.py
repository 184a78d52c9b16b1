"""One engine process on the loopback interface: started, asked, and always stopped again."""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_CLIENT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Server:
    """A process that was started. Times in seconds."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def lines(self) -> list[str]:
        """What it printed so far, without colours and trailing blanks."""
        return [_COLOURS.sub("", line).rstrip() for line in self.log.read_text(errors="replace").splitlines()]

    def call(self, path: str, body: Mapping[str, Any] | None = None, *, seconds: float = 30) -> Any:
        """The answer to a GET, or to a POST of `body`, as JSON; its text where it is none."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{HOST}:{self.port}{path}", data, {"Content-Type": "application/json"})
        with _CLIENT.open(request, timeout=seconds) as answer:
            text = answer.read(2**20).decode()
        try:
            return json.loads(text)
        except ValueError:
            return text

    def wait_until_healthy(self, seconds: float) -> bool:
        """Whether /health answers within `seconds`; False as soon as the process has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.call("/health", seconds=2)
            except (OSError, urllib.error.HTTPError):
                time.sleep(0.1)
            else:
                return True
        return False


@contextmanager
def serving(command: Sequence[str], environment: Mapping[str, str], *, port: int, log: Path) -> Iterator[Server]:
    """The process with all its children, ended on the way out: politely, then by force."""
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the command is ours
            list(command), env=dict(environment), stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield Server(process, port, log)
    finally:
        for step in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, step)
                process.wait(timeout=20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
