"""Many people planning and saving at once, on SQLite and on PostgreSQL, with processes killed under them.

    python -m benchmarks.load_test [--database sqlite|postgresql|both] [--clients 64] [--seconds 60] [--unpaced 60]

Per database: one client alone; all clients with a request every 5 s; all clients without a pause; saves while a worker, then the
database, are killed with SIGKILL. Fails when an answer was a 5xx that no kill explains, when a version that was acknowledged is missing
or there twice, or when the paced p95 is above 5 × the p95 of the client alone.
"""

import argparse
import contextlib
import json
import os
import re
import secrets
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode

from scripts.services import PostgreSQL, services
from scripts.web_processes import WebProcesses

PACE_SECONDS = 5.0
ALLOWED_RATIO = 5.0
CSRF = "c" * 32
PLANS = [
    {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "context": "8192"},
    {"model": "Qwen/Qwen3-32B", "device": "h100-sxm", "context": "16384", "engine": "vllm"},
    {"model": "openai/gpt-oss-20b", "device": "rtx-4090", "context": "32768"},
]
# A person each with a plan of their own and a log-in, as `manage.py shell` makes them: logging in costs a password hash that is not under test.
PEOPLE = """
import json
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from importlib import import_module
from planner.accounts.models import User
from planner.plans import saving
from planner.plans.inputs import inputs_of
from planner.plans.record import record
from planner.web.asking import ask
Session = import_module(settings.SESSION_ENGINE).SessionStore
plans = {plans}
made = []
for number in range({count}):
    user = User(username=f"load-{number}", email=f"load-{number}@example.org")
    user.set_unusable_password()
    user.save()
    inputs = inputs_of(plans[number % len(plans)])
    plan = saving.save_new(user, saving.Content(f"first {number}", inputs), record(ask(inputs).answer))
    session = Session()
    session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(user.pk), "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    made.append({"session": session.session_key, "plan": plan.public_id})
print(json.dumps(made))
"""
VERSIONS = """
import json
from planner.plans.models import Version
rows = Version.objects.order_by("plan", "number").values_list("plan__public_id", "number", "title", "plan__head")
print(json.dumps(list(rows)))
"""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: what kind, when it began, how long it took, and its status; 0 where the connection broke."""

    kind: str
    began: float
    seconds: float
    status: int


@dataclass
class Client:
    """One person with a plan: looks at the planner, at the plan, and saves it again. Keeps what was acknowledged."""

    port: int
    session: str
    plan: str
    number: int
    base: int = 1
    turn: int = 0
    users: int = 5
    sent: list[Sent] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)

    def step(self, *, only_saves: bool = False) -> None:
        self.turn += 1
        kind = "save" if only_saves else ("planner", "save", "plan")[(self.number + self.turn) % 3]
        {"planner": self.look, "plan": self.open, "save": self.save}[kind]()

    def look(self) -> None:
        """Inputs that nobody asked about before; saving and opening are about the same."""
        self.users += 1
        self.ask("planner", "GET", "/?" + urlencode(self.inputs()))

    def open(self) -> None:
        self.ask("plan", "GET", f"/plans/{self.plan}/")

    def save(self) -> None:
        title = f"{self.number}-{self.turn}-{secrets.token_hex(6)}"
        form = {"csrfmiddlewaretoken": CSRF, "inputs": urlencode(self.inputs()), "title": title, "base": str(self.base)}
        status, _ = self.ask("save", "POST", f"/plans/{self.plan}/edit/", urlencode(form))
        if status == 302:
            self.base += 1
            self.acknowledged.append(title)
        elif status in {0, 409, 500, 502, 503}:
            self.catch_up()

    def catch_up(self) -> None:
        """After a broken answer nobody knows whether it was saved: the page says which version is the newest."""
        status, page = self.ask("edit", "GET", f"/plans/{self.plan}/edit/")
        found = re.search(r'name="base" value="(\d+)"', page)
        if status == 200 and found:
            self.base = int(found[1])

    def inputs(self) -> dict[str, str]:
        return {**PLANS[self.number % len(PLANS)], "users": str(self.users + 16 * self.number)}

    def ask(self, kind: str, method: str, address: str, body: str | None = None) -> tuple[int, str]:
        began = time.monotonic()
        headers = {"Cookie": f"sessionid={self.session}; csrftoken={CSRF}"}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, address, body, headers)
            answer = connection.getresponse()
            status, page = answer.status, answer.read().decode(errors="replace")
        except (OSError, HTTPException):
            status, page = 0, ""
        finally:
            connection.close()
        self.sent.append(Sent(kind, began, time.monotonic() - began, status))
        if status == 0:
            time.sleep(0.1)  # nobody knocks a thousand times a second at a door that is shut
        return status, page


@contextlib.contextmanager
def site(url: str, cache: str, folder: Path, workers: int) -> Iterator[WebProcesses]:
    settings = {
        "DATABASE_URL": url,
        "CACHE_URL": cache,
        "SQLITE_PATH": str(folder / "load.sqlite3"),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "RATE_LIMIT": "1000000/m",  # every request is counted, none refused
    }
    web = WebProcesses(settings, folder / "web.log", workers=workers)
    web.manage("migrate", "--verbosity", "0")
    web.start()
    try:
        yield web
    finally:
        web.stop()


def people(web: WebProcesses, count: int) -> list[Client]:
    code = PEOPLE.replace("{plans}", repr(PLANS)).replace("{count}", str(count))
    made = json.loads(web.manage("shell", "--no-imports", "--command", code))
    return [Client(web.port, each["session"], each["plan"], number) for number, each in enumerate(made)]


def run(clients: list[Client], step: Callable[[Client], None], *, seconds: float, pace: float) -> list[Sent]:
    """Every client in a thread of its own for `seconds`; with a `pace`, a step begins each so many seconds however long the last took."""
    for client in clients:
        client.sent = []
    start = time.monotonic()

    def live(client: Client) -> None:
        due = start + (pace * client.number / len(clients) if pace else 0)
        while due < start + seconds and time.monotonic() < start + seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            step(client)
            due = max(due + pace, time.monotonic()) if not pace else due + pace

    threads = [threading.Thread(target=live, args=[client]) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [sent for client in clients for sent in client.sent]


def p95(sent: list[Sent]) -> float:
    """Nearest rank."""
    ordered = sorted(each.seconds for each in sent)
    return ordered[max(0, -(-95 * len(ordered) // 100) - 1)]


def told(name: str, sent: list[Sent], seconds: float) -> str:
    kinds = {kind: [each for each in sent if each.kind == kind] for kind in ("planner", "plan", "save")}
    parts = ", ".join(f"{kind} {p95(found) * 1_000:,.0f} ms" for kind, found in kinds.items() if found)
    statuses = ", ".join(f"{count:,} × {status or 'broken'}" for status, count in sorted(Counter(each.status for each in sent).items()))
    return f"{name:32} {len(sent):6,} requests, {len(sent) / seconds:6.1f}/s, p95 {p95(sent) * 1_000:6,.0f} ms ({parts}); {statuses}"


def lost_or_doubled(web: WebProcesses, clients: list[Client]) -> list[str]:
    """What is wrong with the versions that are there, held against what was acknowledged."""
    rows = json.loads(web.manage("shell", "--no-imports", "--command", VERSIONS))
    wrong = []
    for client in clients:
        mine = [(number, title, head) for plan, number, title, head in rows if plan == client.plan]
        numbers, titles = [number for number, _, _ in mine], Counter(title for _, title, _ in mine)
        if numbers != list(range(1, len(mine) + 1)) or any(head != len(mine) for _, _, head in mine):
            wrong.append(f"plan {client.plan}: versions {numbers[:5]}…, head {mine[0][2]}")
        wrong += [f"plan {client.plan}: “{title}” is there {titles[title]} times" for title in client.acknowledged if titles[title] != 1]
        wrong += [f"plan {client.plan}: “{title}” is there {count} times" for title, count in titles.items() if count > 1]
    return wrong


def with_a_kill(web: WebProcesses, clients: list[Client], kill: Callable[[], None], *, seconds: float) -> list[Sent]:
    """Saves without a pause, in the middle of which `kill` happens."""
    timer = threading.Timer(seconds / 3, kill)
    timer.start()
    sent = run(clients, lambda client: client.step(only_saves=True), seconds=seconds, pace=0)
    timer.join()
    if not web.answers("/readyz"):
        raise RuntimeError("the site is not ready again after the kill")
    return sent


def measure(name: str, web: WebProcesses, options: argparse.Namespace, kill_database: Callable[[], None]) -> list[str]:
    """Prints the figures of one database; what is wrong."""
    wrong: list[str] = []
    clients = people(web, options.clients)

    def held(what: str, sent: list[Sent], seconds: float, *, killed: bool = False) -> None:
        sys.stdout.write(f"{told(f'{name}: {what}', sent, seconds)}\n")
        sys.stdout.flush()
        failed = [each for each in sent if each.status >= 500 or each.status == 0 or each.status in {400, 403, 404, 429}]
        if failed and not killed:
            wrong.append(f"{name}, {what}: {len(failed)} requests failed, the first with {failed[0].status or 'a broken connection'}")
        wrong.extend(f"{name}, {what}: {each}" for each in lost_or_doubled(web, clients)[:5])

    run(clients[:8], Client.step, seconds=2, pace=0)  # every worker has loaded what it loads once
    short = min(15.0, options.seconds)
    alone = run(clients[:1], Client.step, seconds=short, pace=0.25)
    held("one client", alone, short)
    paced = run(clients, Client.step, seconds=options.seconds, pace=PACE_SECONDS)
    held(f"{len(clients)} clients, one in 5 s", paced, options.seconds)
    ratio = p95(paced) / p95(alone)
    sys.stdout.write(f"{name}: p95 with {len(clients)} clients is {ratio:.2f} × that of one\n")
    if ratio > ALLOWED_RATIO:
        wrong.append(f"{name}: the paced p95 is {ratio:.2f} × the unloaded one, {ALLOWED_RATIO:g} are allowed")
    held(f"{len(clients)} clients, no pause", run(clients, Client.step, seconds=options.unpaced, pace=0), options.unpaced)
    held("saves, a worker killed", with_a_kill(web, clients[:16], web.kill_worker, seconds=short), short, killed=True)
    held("saves, the database killed", with_a_kill(web, clients[:16], kill_database, seconds=short), short, killed=True)
    acknowledged = sum(len(client.acknowledged) for client in clients)
    sys.stdout.write(f"{name}: {acknowledged:,} versions were acknowledged; {len(wrong)} complaints\n")
    return wrong


def on_sqlite(options: argparse.Namespace) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="slotwise-load-") as folder, site("", "database", Path(folder), options.workers) as web:

        def kill() -> None:
            web.kill()  # SQLite runs inside the web processes: killing it is killing all of them
            time.sleep(1)
            web.start()

        return measure("SQLite", web, options, kill)


def on_postgresql(options: argparse.Namespace) -> list[str]:
    with services(durable=True) as (database, cache), tempfile.TemporaryDirectory(prefix="slotwise-load-") as folder:

        def kill(server: PostgreSQL = database) -> None:
            server.kill()
            time.sleep(1)
            server.start()

        with site(database.url, cache.url, Path(folder), options.workers) as web:
            return measure("PostgreSQL", web, options, kill)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long all clients run with a request every 5 s")
    parser.add_argument("--unpaced", type=float, default=60.0, help="and how long without a pause")
    parser.add_argument("--workers", type=int, default=2, help="gunicorn's worker processes")
    options = parser.parse_args()
    wrong: list[str] = []
    sys.stdout.write(f"{os.cpu_count()} cores; load of the last minute before we began: {os.getloadavg()[0]:.1f}\n")
    if options.database != "postgresql":
        wrong += on_sqlite(options)
    if options.database != "sqlite":
        wrong += on_postgresql(options)
    sys.stdout.writelines(f"FAILED {each}\n" for each in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
