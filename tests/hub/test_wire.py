"""One bounded GET: where redirects may lead, and what goes with them. The transport is simulated, so that names can be public ones."""

from collections.abc import Callable

import httpx2
import pytest

from planner.hub import wire
from planner.hub.errors import HubError
from planner.hub.wire import Answer, Ask, Deadline, get, is_public

HOME = "https://huggingface.co/a/b/resolve/main/model.safetensors"
Pages = dict[str, httpx2.Response]


def moved(location: str) -> httpx2.Response:
    return httpx2.Response(302, headers={"Location": location})


def ask(pages: Pages, *, leave_host: bool = True, seen: list[httpx2.Request] | None = None, url: str = HOME) -> Answer:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if seen is not None:
            seen.append(request)
        return pages.get(str(request.url), httpx2.Response(200, content=iter([b"here"])))

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as client:
        question = Ask(url, "model.safetensors", 1000, leave_host=leave_host)
        return get(client, question, headers={"Authorization": "Bearer secret"}, deadline=Deadline.after(5))


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "is_public", lambda host: host.endswith(".hf.co"))


@pytest.mark.usefixtures("public")
def test_a_large_file_may_come_from_another_public_host_without_the_token() -> None:
    seen: list[httpx2.Request] = []
    assert ask({HOME: moved("https://cdn.hf.co/xet/1")}, seen=seen).body == b"here"
    assert [request.url.host for request in seen] == ["huggingface.co", "cdn.hf.co"]
    assert [request.headers.get("authorization") for request in seen] == ["Bearer secret", None]


@pytest.mark.usefixtures("public")
def test_a_redirect_on_the_same_host_keeps_the_token() -> None:
    seen: list[httpx2.Request] = []
    answer = ask({HOME: moved("/new/place")}, leave_host=False, seen=seen)
    assert answer.moved
    assert str(seen[1].url) == "https://huggingface.co/new/place"
    assert seen[1].headers["authorization"] == "Bearer secret"


def test_the_hubs_own_names_are_one_host_but_the_token_stays_at_the_first() -> None:
    seen: list[httpx2.Request] = []
    ask({"https://hf.co/a": moved("https://huggingface.co/a")}, leave_host=False, seen=seen, url="https://hf.co/a")
    assert [request.headers.get("authorization") for request in seen] == ["Bearer secret", None]


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize(
    ("location", "leave_host"),
    [
        ("https://cdn.hf.co/x", False),
        ("http://cdn.hf.co/x", True),
        ("http://huggingface.co/a", True),
        ("https://169.254.169.254/latest/meta-data", True),
        ("https://intranet/x", True),
        ("https://huggingface.co:8443/a", True),
        ("gopher://cdn.hf.co/x", True),
        ("https://huggingface.co@intranet/x", True),
        ("https://[fe80::1]/x", True),
        ("https://cdn.hf.co:99999999/x", True),
    ],
)
def test_other_redirects_are_not_followed(location: str, leave_host: bool) -> None:  # noqa: FBT001
    seen: list[httpx2.Request] = []
    with pytest.raises(HubError, match="which is not followed") as refused:
        ask({HOME: moved(location)}, leave_host=leave_host, seen=seen)
    assert refused.value.code == "redirect"
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("host", "public_one"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True),
        ("127.0.0.1", False), ("10.0.0.1", False), ("192.168.1.1", False), ("169.254.169.254", False), ("100.64.0.1", False),
        ("0.0.0.1", False), ("::1", False), ("fe80::1", False), ("fd00::1", False), ("224.0.0.1", False), ("::ffff:10.0.0.1", False),
        ("localhost", False), ("", False), ("a" * 80, False),
    ],
)  # fmt: skip
def test_addresses_inside_a_network_are_not_public(host: str, public_one: bool) -> None:  # noqa: FBT001
    assert is_public(host) == public_one


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: httpx2.ConnectError("refused"), "unreachable"),
        (lambda: httpx2.ConnectTimeout("slow"), "timeout"),
        (lambda: httpx2.ReadTimeout("slow"), "timeout"),
        (lambda: httpx2.RemoteProtocolError("cut"), "ended_early"),
        (lambda: httpx2.ProxyError("no"), "unreachable"),
    ],
)
def test_faults_of_the_network_are_told_apart(make: Callable[[], Exception], code: str) -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise make()

    with httpx2.Client(transport=httpx2.MockTransport(fail)) as client, pytest.raises(HubError) as refused:
        get(client, Ask(HOME, "config.json", 10), headers={}, deadline=Deadline.after(5))
    assert refused.value.code == code
