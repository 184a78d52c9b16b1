"""A Hub on loopback that speaks the real routes, with a switch for every way in which the real one can fail.

Routes, headers and codes as huggingface_hub 2.4 uses them (hf_api.py, file_download.py, utils/_http.py).
"""

import gzip
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40


@dataclass
class Repo:
    """A repository: its files, and how it is guarded."""

    files: dict[str, bytes] = field(default_factory=dict)
    commit: str = COMMIT
    revisions: set[str] = field(default_factory=lambda: {"main"})
    gated: bool = False
    private: bool = False
    moved_to: str | None = None
    # What the collected-headers route answers, None where this Hub has no such route.
    headers: dict[str, Any] | None = None


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]


Fault = Callable[["Handler"], None]


@dataclass
class StandIn:
    """The state of the server: repositories, faults by a part of the path, and the requests that came."""

    url: str = ""
    repos: dict[str, Repo] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    ranges: bool = True
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: StandIn

    def log_message(self, *_: object) -> None:
        """Tests are quiet."""

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        self.hub.requests.append(Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        for part, fault in self.hub.faults.items():
            if part in self.path:
                fault(self)
                return
        path = unquote(urlsplit(self.path).path)
        if match := re.fullmatch(r"/api/models/(.+?)(?:/revision/(.+)|/(safetensors-metadata)/(.+))?", path):
            self.model(match[1], match[2], collected=match[3] is not None)
        elif match := re.fullmatch(r"/(.+?)/resolve/([^/]+)/(.+)", path):
            self.resolve(match[1], match[2], match[3])
        else:
            self.refuse(404, "")

    def repo(self, repo_id: str, revision: str | None) -> Repo | None:
        repo = self.hub.repos.get(repo_id)
        if repo is None or (repo.private and "authorization" not in self.hub.requests[-1].headers):
            self.refuse(401, "RepoNotFound")
        elif repo.moved_to:
            self.send(307, b"", Location=self.path.replace(repo_id, repo.moved_to))
        elif revision is not None and revision not in repo.revisions | {repo.commit}:
            self.refuse(404, "RevisionNotFound")
        else:
            return repo
        return None

    def model(self, repo_id: str, revision: str | None, *, collected: bool) -> None:
        repo = self.repo(repo_id, revision)
        if repo is None:
            return
        if collected:
            if repo.headers is None:
                self.refuse(404, "")
            else:
                self.json({"index": {"metadata": {}}, "headers": repo.headers})
            return
        siblings = [{"rfilename": name, "size": len(body)} for name, body in repo.files.items()]
        self.json(
            {"_id": "1", "id": repo_id, "modelId": repo_id, "sha": repo.commit, "gated": repo.gated and "manual", "siblings": siblings}
        )

    def resolve(self, repo_id: str, revision: str, name: str) -> None:
        repo = self.repo(repo_id, revision)
        if repo is None:
            return
        if repo.gated and "authorization" not in self.hub.requests[-1].headers:
            self.refuse(401, "GatedRepo")
        elif name not in repo.files:
            self.refuse(404, "EntryNotFound")
        else:
            self.file(repo, repo.files[name])

    def file(self, repo: Repo, body: bytes) -> None:
        extra = {"ETag": '"e"', "X-Repo-Commit": repo.commit}
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not span or not self.hub.ranges:
            self.send(200, body, **extra)
            return
        first, last = int(span[1]), min(int(span[2]), len(body) - 1)
        if first > last:
            self.refuse(416, "")
            return
        self.send(206, body[first : last + 1], **extra, **{"Content-Range": f"bytes {first}-{last}/{len(body)}"})

    def json(self, value: object) -> None:
        self.send(200, json.dumps(value).encode(), **{"Content-Type": "application/json"})

    def refuse(self, status: int, code: str, **headers: str) -> None:
        extra = {"X-Error-Code": code} if code else {}
        self.send(status, b'{"error": "no"}', **extra, **headers)

    def send(self, status: int, body: bytes, *, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """A client that has given up is what many of these tests are about."""


@contextmanager
def stand_in() -> Iterator[StandIn]:
    hub = StandIn()
    server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


# Faults


def status(code: int, error: str = "", **headers: str) -> Fault:
    return lambda handler: handler.refuse(code, error, **headers)


def body(content: bytes, **headers: str) -> Fault:
    return lambda handler: handler.send(200, content, **headers)


def redirect(location: str) -> Fault:
    return lambda handler: handler.send(302, b"", Location=location)


def stall(handler: Handler) -> None:
    """Nothing at all until the test is over."""
    handler.hub.released.wait(30)
    handler.close_connection = True


def stall_in_body(handler: Handler) -> None:
    handler.send(200, b'{"model_type":', length=1000)
    stall(handler)


def drip_headers(handler: Handler) -> None:
    """A header that never ends, a byte at a time: no single read takes long."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.hub.released.is_set():
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def drip_body(handler: Handler) -> None:
    handler.close_connection = True
    handler.send(200, b"{", length=10_000)
    while not handler.hub.released.is_set():
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def end_early(handler: Handler) -> None:
    handler.send(200, b'{"model_type": "llama"', length=1000)
    handler.close_connection = True


def too_short_a_length(handler: Handler) -> None:
    handler.send(200, b'{"model_type": "llama"}', length=10)
    handler.close_connection = True


def endless(handler: Handler) -> None:
    """A body without a length that does not stop by itself."""
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    while not handler.hub.released.is_set():
        handler.wfile.write(b" " * 65_536)


def zipped(handler: Handler) -> None:
    handler.send(200, gzip.compress(b"{}" + b" " * 1_000_000), **{"Content-Encoding": "gzip"})


def wrong_range(handler: Handler) -> None:
    handler.send(206, b"\0" * 100, **{"Content-Range": "bytes 5-104/100000"})


def short_range(handler: Handler) -> None:
    handler.send(206, b"\0" * 10, **{"Content-Range": "bytes 0-9/100000"})
