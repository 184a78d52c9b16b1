"""One bounded GET: a limit for its size, a deadline for all of it, and a rule for every redirect."""

import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urljoin, urlsplit

import httpx2

from planner.hub import errors
from planner.hub.address import PUBLIC_HOSTS
from planner.hub.errors import HubError

MAX_REDIRECTS: Final = 5
# An abandoned call (a name server that never answers) holds its place until the system gives up on it.
MAX_CALLS: Final = 32

_places: Final = threading.BoundedSemaphore(MAX_CALLS)
_T = TypeVar("_T")
_NUMBER: Final = re.compile(r"\d{1,18}", re.ASCII)
_CONTENT_RANGE: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by which a whole call must be over, however many requests it makes."""

    seconds: float
    ends: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(seconds, time.monotonic() + seconds)

    def left(self) -> float:
        return self.ends - time.monotonic()

    def check(self, host: str) -> float:
        """Seconds left. Raises HubError when there are none."""
        left = self.left()
        if left <= 0:
            raise errors.timed_out(host, self.seconds)
        return left


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for `what` (its name in sentences).

    `limit` is the most bytes accepted; `span` asks for bytes [start, end) only. `leave_host` lets a redirect go to another
    public host, as the Hub does for large files.
    """

    url: str
    what: str
    limit: int
    span: tuple[int, int] | None = None
    leave_host: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers` have lower-case names; `moved` says that a redirect was followed."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    moved: bool


def within(deadline: Deadline, host: str, call: Callable[[], _T]) -> _T:
    """What `call` returns or raises, or a time-out at the deadline.

    Looking up a name and waiting for headers that drip have no time limit of their own in httpx2, hence a thread that
    can be left behind. Their number is bounded.
    """
    if not _places.acquire(timeout=max(0.0, deadline.left())):
        raise errors.timed_out(host, deadline.seconds)
    results: list[_T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the caller's thread
            failures.append(error)
        finally:
            _places.release()

    thread = threading.Thread(target=run, name="hub", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline.left()))
    if results:
        return results[0]
    if failures:
        raise failures[0]
    raise errors.timed_out(host, deadline.seconds)


def get(client: httpx2.Client, ask: Ask, *, headers: Mapping[str, str], deadline: Deadline) -> Answer:
    """The answer to `ask`, redirects followed as far as they are allowed. Credentials stay with the first host.

    Raises HubError for everything that goes wrong below HTTP; a status of 400 and above is returned with an empty body.
    """
    host = urlsplit(ask.url).netloc
    url = ask.url
    for hop in range(MAX_REDIRECTS + 1):
        sent = dict(headers) if urlsplit(url)[:2] == urlsplit(ask.url)[:2] else _without_credentials(headers)
        sent["Accept-Encoding"] = "identity"  # a size limit means nothing for a body that expands
        if ask.span:
            sent["Range"] = f"bytes={ask.span[0]}-{ask.span[1] - 1}"
        left = deadline.check(host)
        try:
            with client.stream("GET", url, headers=sent, timeout=left, follow_redirects=False) as response:
                location = response.headers.get("location")
                if response.status_code in {301, 302, 303, 307, 308} and location:
                    url = _next_url(url, location, ask)
                    continue
                body = b"" if response.status_code >= 400 else _body(response, ask, deadline, host)
                return Answer(response.status_code, dict(response.headers), body, moved=hop > 0)
        except httpx2.TimeoutException:
            raise errors.timed_out(host, deadline.seconds) from None
        except httpx2.RemoteProtocolError:
            raise errors.ended_early(ask.what) from None
        except (httpx2.TransportError, httpx2.InvalidURL, UnicodeError):
            raise errors.unreachable(host) from None
    raise errors.elsewhere(ask.what, "one address after another")


def _without_credentials(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() != "authorization"}


def _next_url(url: str, location: str, ask: Ask) -> str:
    """Where a redirect leads. Raises HubError unless it stays on the host or is allowed to leave it."""
    try:
        target = urlsplit(urljoin(url, location[:4096]))
        port, host = target.port, target.hostname or ""
    except ValueError:
        raise errors.elsewhere(ask.what, "an address that is none") from None
    first = urlsplit(ask.url)
    if (target.scheme, target.netloc) == (first.scheme, first.netloc):
        return target.geturl()
    if target.scheme == "https" and port in {None, 443} and host in PUBLIC_HOSTS | {first.hostname}:
        return target.geturl()
    if not ask.leave_host or target.scheme != "https" or not is_public(host):
        raise errors.elsewhere(ask.what, target.netloc)
    return target.geturl()


def is_public(host: str) -> bool:
    """Whether every address of `host` is on the public internet, so that a redirect cannot reach into this network."""
    try:
        found = {ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in socket.getaddrinfo(host, 443)}
    except (OSError, ValueError):
        return False
    return bool(found) and all(address.is_global and not address.is_multicast for address in found)


def _body(response: httpx2.Response, ask: Ask, deadline: Deadline, host: str) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise HubError(f"The Hub sent {ask.what} in an encoding that was not asked for: {errors.PASTE}.", code="encoding")
    wanted = _expected(response, ask)
    body = bytearray()
    for chunk in response.iter_raw():
        deadline.check(host)
        body += chunk
        if ask.span and len(body) >= wanted:
            break  # a server that knows no ranges sends the whole file: what was asked for is here
        if len(body) > ask.limit:
            raise errors.too_large(ask.what, ask.limit)
    if ask.span and len(body) < wanted:
        raise errors.wrong_length(ask.what)
    return bytes(body[:wanted]) if ask.span else bytes(body)


def _expected(response: httpx2.Response, ask: Ask) -> int:
    """Bytes of the range that the file has. Raises HubError where the answer belongs to another range."""
    if ask.span is None:
        return 0
    start, end = ask.span
    if response.status_code == 200:
        if start:
            raise HubError(f"The Hub does not give parts of {ask.what}: download it and give the file.", code="no_ranges")
        length = response.headers.get("content-length", "")
        return min(end, int(length)) if _NUMBER.fullmatch(length) else end
    match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
    if match is None:
        raise errors.wrong_length(ask.what)
    first, last, total = (int(number) for number in match.groups())
    if first != start or not first <= last < end or (last < end - 1 and last != total - 1):
        raise errors.wrong_length(ask.what)
    return last - first + 1
