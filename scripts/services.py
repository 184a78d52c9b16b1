"""A private PostgreSQL and a private Valkey or Redis for the time of one command: `python -m scripts.services COMMAND …`.

Both listen on sockets in a temporary folder and nowhere else; DATABASE_URL and CACHE_URL tell the command where.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

# PostgreSQL refuses to run as root; Debian's package makes this user.
SERVER_USER = "postgres"
START_SECONDS = 60
# Says to a command that the servers are its own, to fill and to empty.
OWN = "SLOTWISE_OWN_SERVICES"


class ServiceError(Exception):
    """A server is missing or does not start; the sentence says which."""


def program(name: str) -> str:
    """The path of a server's program, PostgreSQL's newest where Debian keeps several. Raises ServiceError."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    found = str(kept[-1]) if kept else shutil.which(name)
    if found is None:
        raise ServiceError(f"{name} is not installed: sh scripts/install_services.sh")
    return found


def identity() -> dict[str, Any]:
    """What makes a child process of root's an ordinary user's."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam(SERVER_USER)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def folder() -> Path:
    """A folder in the place for temporary ones: paths of sockets are short, and another user must reach it."""
    made = Path(tempfile.mkdtemp(prefix="slotwise-"))
    if os.geteuid() == 0:
        shutil.chown(made, SERVER_USER)
    made.chmod(0o755)
    return made


@dataclass
class Server:
    """One server process in its own folder. `kill` is what a power cut would do to it; `start` brings it back."""

    place: Path
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                # After a kill the first tries may fail until the last of the old processes is gone.
                with (self.place / "log").open("ab") as log:
                    self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.place, **identity())
            if self.answers():
                return
            time.sleep(0.1)
        raise ServiceError(f"{self.command()[0]} does not start: {(self.place / 'log').read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class PostgreSQL(Server):
    """A cluster of its own. Clients on its socket are trusted: nobody else's processes are on this machine."""

    @property
    def url(self) -> str:
        return f"postgres://slotwise@{quote(str(self.place), safe='')}/slotwise"

    def create(self, *, durable: bool) -> None:
        run = [program("initdb"), "-D", str(self.place / "data"), "-U", "slotwise", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        made = subprocess.run([*run, "--no-sync"], capture_output=True, text=True, check=False, cwd=self.place, **identity())
        if made.returncode != 0:
            raise ServiceError(f"initdb: {made.stderr[-2000:]}")
        if not durable:
            with (self.place / "data" / "postgresql.conf").open("a") as settings:
                settings.write("fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n")
        self.start()
        subprocess.run([program("createdb"), "-h", str(self.place), "-U", "slotwise", "slotwise"], check=True, **identity())

    def command(self) -> Sequence[str]:
        return [program("postgres"), "-D", str(self.place / "data"), "-k", str(self.place), "-c", "listen_addresses="]

    def answers(self) -> bool:
        asked = [program("pg_isready"), "-q", "-h", str(self.place), "-U", "slotwise", "-d", "postgres"]
        return subprocess.run(asked, check=False).returncode == 0


class CacheServer(Server):
    """Valkey, or Redis where Debian has no Valkey yet. Keeps nothing on disk."""

    @property
    def url(self) -> str:
        return f"unix://{self.place}/cache.sock"

    def command(self) -> Sequence[str]:
        name = "valkey-server" if shutil.which("valkey-server") else "redis-server"
        return [program(name), "--port", "0", "--unixsocket", "cache.sock", "--unixsocketperm", "777", "--save", "", "--appendonly", "no"]

    def answers(self) -> bool:
        return (self.place / "cache.sock").is_socket()


@contextlib.contextmanager
def services(*, durable: bool) -> Iterator[tuple[PostgreSQL, CacheServer]]:
    """Both servers, started and at the end stopped and removed. `durable` as in production, else as fast as tests want it."""
    database, cache = PostgreSQL(folder()), CacheServer(folder())
    try:
        database.create(durable=durable)
        cache.start()
        yield database, cache
    finally:
        for server in (database, cache):
            server.stop()
            shutil.rmtree(server.place, ignore_errors=True)


def own_addresses() -> dict[str, str]:
    """DATABASE_URL and CACHE_URL of the servers that were started for this process; where none were, SQLite. Never somebody's own."""
    if OWN not in os.environ:
        return {"DATABASE_URL": "", "CACHE_URL": "database"}
    return {name: os.environ[name] for name in ("DATABASE_URL", "CACHE_URL")}


def main() -> int:
    if len(sys.argv) < 2:
        sys.stderr.write("usage: python -m scripts.services COMMAND …\n")
        return 2
    try:
        with services(durable=False) as (database, cache):
            environment = os.environ | {"DATABASE_URL": database.url, "CACHE_URL": cache.url, OWN: "1"}
            return subprocess.run(sys.argv[1:], env=environment, check=False).returncode
    except ServiceError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
