"""Slotwise as it is served: gunicorn with its worker processes and deploy/gunicorn.conf.py, on a port of this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@dataclass
class WebProcesses:
    """One gunicorn and its workers. `settings` are environment variables; the log goes to `log`."""

    settings: Mapping[str, str]
    log: Path
    workers: int = 2
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "BIND": f"127.0.0.1:{self.port}",
            "WEB_CONCURRENCY": str(self.workers),
            "PYTHONWARNINGS": "ignore",
            "DEBUG": "0",
            **self.settings,
        }

    def manage(self, *arguments: str, stdin: str = "") -> str:
        """What `manage.py` prints with the same settings. Raises CalledProcessError."""
        run = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(run, cwd=ROOT, env=self.environment, input=stdin, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def start(self) -> None:
        run = [sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn.conf.py", "planner.wsgi"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(run, cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self.answers("/healthz"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"gunicorn does not start: {self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)

    @property
    def running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            raise RuntimeError("gunicorn was not started")
        return self.process

    def answers(self, address: str) -> bool:
        """Whether `address` answers 200 now."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", address)
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def worker_ids(self) -> list[int]:
        master = self.running.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text()
        return [int(each) for each in children.split()]

    def kill_worker(self) -> None:
        """SIGKILL to one worker, in the middle of whatever it does. gunicorn starts another."""
        os.kill(self.worker_ids()[0], signal.SIGKILL)

    def kill(self) -> None:
        """SIGKILL to all of it."""
        for worker in self.worker_ids():
            os.kill(worker, signal.SIGKILL)
        self.running.kill()
        self.running.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
