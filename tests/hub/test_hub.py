"""The Hub client against a stand-in that speaks the real routes: what it gives, and one sentence for every fault."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import huggingface_hub.constants
import pytest

from planner.core.errors import InputError
from planner.hub import Hub, HubError
from planner.hub.wire import Deadline, within
from tests.hub import stand_in
from tests.hub.stand_in import COMMIT, Fault, Repo, StandIn

CONFIG = {"model_type": "llama", "num_hidden_layers": 2}
RESOLVE = f"/team/model/resolve/{COMMIT}/config.json"


def put(server: StandIn, repo_id: str = "team/model", **kwargs: object) -> Repo:
    repo = Repo(files={"config.json": json.dumps(CONFIG).encode()}, **kwargs)  # type: ignore[arg-type]
    server.repos[repo_id] = repo
    return repo


def refusal(call: Callable[[], object]) -> HubError:
    with pytest.raises(HubError) as caught:
        call()
    return caught.value


# What it gives


def test_a_config_comes_with_the_commit_it_was_read_at(server: StandIn, hub: Hub) -> None:
    put(server)
    model = hub.config("team/model")
    assert (model.id, model.revision, model.config, model.note) == ("team/model", COMMIT, CONFIG, None)
    assert server.paths == ["/api/models/team/model?blobs=true", RESOLVE]


def test_a_page_address_says_the_revision(server: StandIn, hub: Hub) -> None:
    put(server, revisions={"v1.0"})
    assert hub.config(f"{server.url}/team/model/blob/v1.0/config.json").revision == COMMIT
    assert server.paths[0] == "/api/models/team/model/revision/v1.0?blobs=true"


def test_a_pull_request_is_one_revision_in_three_parts(server: StandIn, hub: Hub) -> None:
    put(server, revisions={"refs/pr/7"})
    assert hub.config("team/model", "refs/pr/7").revision == COMMIT
    assert server.paths[0] == "/api/models/team/model/revision/refs%2Fpr%2F7?blobs=true"


def test_an_answer_is_remembered(server: StandIn, hub: Hub) -> None:
    put(server)
    first = hub.config("team/model")
    assert hub.config("team/model") == first
    assert len(server.requests) == 2


def test_an_answer_to_one_token_is_not_given_to_another(server: StandIn, hub: Hub) -> None:
    put(server, private=True)
    known = Hub(endpoint=server.url, token="secret", cache=hub.cache)
    assert known.config("team/model").config == CONFIG
    assert refusal(lambda: hub.config("team/model")).code == "missing"


def test_many_threads_may_ask_at_once(server: StandIn, hub: Hub) -> None:
    put(server)
    with ThreadPoolExecutor(8) as pool:
        assert {model.revision for model in pool.map(lambda _: hub.config("team/model"), range(24))} == {COMMIT}


def test_a_renamed_repository_is_followed_and_told(server: StandIn, hub: Hub) -> None:
    put(server)
    server.repos["old/name"] = Repo(moved_to="team/model")
    model = hub.config("old/name")
    assert (model.id, model.config) == ("team/model", CONFIG)
    assert model.note == "The Hub has renamed old/name: this is team/model."


def test_a_redirect_that_forgets_the_question_is_asked_again(server: StandIn, hub: Hub) -> None:
    put(server)
    server.faults["/api/models/old/name"] = stand_in.redirect("/api/models/team/model?blobs=true")
    server.repos["team/model"].files["model.safetensors"] = b""
    assert hub.repo("old/name").sizes.keys() == {"config.json", "model.safetensors"}


def test_no_token_is_sent_unless_one_is_given(server: StandIn, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_operator")
    put(server)
    hub.config("team/model")
    assert all("authorization" not in request.headers for request in server.requests)
    Hub(endpoint=server.url, token="mine").config("team/model")
    assert server.requests[-1].headers["authorization"] == "Bearer mine"


# Faults of the repository


@pytest.mark.parametrize(
    ("repo", "code", "sentence"),
    [
        ({"gated": True}, "gated", "team/model is gated: its licence must be accepted on the Hub first, so paste the model's config.json instead."),
        ({"private": True}, "missing", "team/model is not on the Hub, or is private or gated: check the spelling, or paste"),
    ],
)  # fmt: skip
def test_a_guarded_repository(server: StandIn, hub: Hub, repo: dict[str, object], code: str, sentence: str) -> None:
    put(server, **repo)
    error = refusal(lambda: hub.config("team/model"))
    assert error.code == code
    assert str(error).startswith(sentence)
    assert error.field == "model"


def test_a_repository_that_is_not_there(server: StandIn, hub: Hub) -> None:
    error = refusal(lambda: hub.config("team/modle"))
    assert error.code == "missing"
    assert "team/modle" in str(error)


def test_a_revision_that_is_not_there(server: StandIn, hub: Hub) -> None:
    put(server)
    error = refusal(lambda: hub.config("team/model", "v9"))
    assert (error.code, error.field) == ("no_revision", "revision")
    assert "no revision “v9”" in str(error)


def test_a_repository_without_a_config(server: StandIn, hub: Hub) -> None:
    put(server).files.clear()
    assert str(refusal(lambda: hub.config("team/model"))).startswith("team/model has no config.json: give a repository that has one")


# Faults of the Hub


@pytest.mark.parametrize(
    ("fault", "code", "sentence"),
    [
        (stand_in.status(429, **{"Retry-After": "120"}), "rate_limited", "try again in 2 min"),
        (stand_in.status(429, RateLimit='"api";r=0;t=55'), "rate_limited", "try again in 55 s"),
        (stand_in.status(429), "rate_limited", "try again in a few minutes"),
        (stand_in.status(429, **{"Retry-After": "9" * 400}), "rate_limited", "try again in a few minutes"),
        (stand_in.status(500), "hub_fault", "HTTP 500"),
        (stand_in.status(503), "hub_fault", "try again in a minute"),
        (stand_in.status(403), "gated", "is gated"),
        (stand_in.status(451), "disabled", "disabled on the Hub"),
        (stand_in.status(400), "refused", "HTTP 400"),
        (stand_in.end_early, "ended_early", "ended early"),
        (stand_in.too_short_a_length, "not_json", "not a JSON object"),
        (stand_in.zipped, "encoding", "not asked for"),
        (stand_in.endless, "too_large", "larger than 4 MiB"),
        (stand_in.body(b" " * 5_000_000), "too_large", "larger than 4 MiB"),
        (stand_in.body(b"<!doctype html><title>Sign in</title>"), "not_json", "not a JSON object"),
        (stand_in.body(b"[1, 2]"), "not_json", "not a JSON object"),
        (stand_in.body(b"\xff\xfe\x00"), "not_json", "not a JSON object"),
        (stand_in.body(b'{"a":' * 50_000), "not_json", "not a JSON object"),
        (stand_in.body(b""), "not_json", "not a JSON object"),
        (stand_in.redirect("https://elsewhere.example/config.json"), "redirect", "elsewhere.example"),
        (stand_in.redirect("http://127.0.0.1:1/config.json"), "redirect", "127.0.0.1:1"),
        (stand_in.redirect("file:///etc/passwd"), "redirect", "not followed"),
        (stand_in.redirect("http://[::1"), "redirect", "not followed"),
        (stand_in.redirect("/loop/config.json"), "redirect", "one address after another"),
    ],
)
def test_every_fault_of_the_config_has_its_sentence(server: StandIn, hub: Hub, fault: Fault, code: str, sentence: str) -> None:
    put(server)
    server.faults["config.json"] = fault
    error = refusal(lambda: hub.config("team/model"))
    assert error.code == code
    assert sentence in str(error)
    assert "config.json instead" in str(error)
    assert str(error).count("\n") == 0
    assert len(str(error)) < 260


@pytest.mark.parametrize("fault", [stand_in.stall, stand_in.stall_in_body, stand_in.drip_headers, stand_in.drip_body])
@pytest.mark.parametrize("where", ["/api/models/", "config.json"])
def test_a_hub_that_does_not_come_to_an_end_is_given_up(server: StandIn, fault: Fault, where: str) -> None:
    put(server)
    server.faults[where] = fault
    error = refusal(lambda: Hub(endpoint=server.url, timeout_seconds=0.4).config("team/model"))
    assert error.code == "timeout"
    assert "did not answer in full within 0.4 s" in str(error)


@pytest.mark.parametrize(
    "listing",
    [
        {}, {"id": "team/model", "sha": "main", "siblings": []}, {"id": "team/model", "sha": COMMIT, "siblings": "none"},
        {"id": 7, "sha": COMMIT, "siblings": []}, {"id": "team/model", "sha": COMMIT + "/../..", "siblings": []},
    ],
)  # fmt: skip
def test_a_list_of_files_that_is_none_is_refused(server: StandIn, hub: Hub, listing: object) -> None:
    server.faults["/api/models/"] = stand_in.body(json.dumps(listing).encode())
    assert refusal(lambda: hub.config("team/model")).code == "not_json"


@pytest.mark.parametrize("repo_id", ["../../etc", "a/b/c", "", "https://elsewhere.example/a/b"])
def test_an_id_that_the_list_of_files_makes_up_is_refused(server: StandIn, hub: Hub, repo_id: str) -> None:
    server.faults["/api/models/"] = stand_in.body(json.dumps({"id": repo_id, "sha": COMMIT, "siblings": []}).encode())
    assert refusal(lambda: hub.config("team/model")).code == "bad_id"


def test_strange_entries_in_the_list_of_files_are_passed_over(server: StandIn, hub: Hub) -> None:
    siblings = [
        {"rfilename": "ok", "size": 3},
        {"rfilename": 5, "size": 1},
        {"rfilename": "x", "size": -1},
        {"rfilename": "y"},
        {"rfilename": "w", "size": 10**400},
        None,
        "z",
    ]
    server.faults["/api/models/"] = stand_in.body(json.dumps({"id": "team/model", "sha": COMMIT, "siblings": siblings}).encode())
    assert hub.repo("team/model").sizes == {"ok": 3}


def test_a_hub_that_cannot_be_reached() -> None:
    error = refusal(lambda: Hub(endpoint="http://127.0.0.1:9").config("team/model"))
    assert error.code == "unreachable"
    assert str(error).startswith("The Hub (127.0.0.1:9) cannot be reached from this machine: check its network or HF_ENDPOINT")


def test_a_machine_that_is_set_to_work_offline(server: StandIn, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert refusal(lambda: hub.config("team/model")).code == "offline"
    assert server.requests == []


def test_a_call_that_hangs_in_the_system_is_left_behind() -> None:
    release = threading.Event()
    with pytest.raises(HubError, match="did not answer in full"):
        within(Deadline.after(0.05), "hub.example", release.wait)
    release.set()


def test_an_error_is_a_refusal_of_input_like_any_other() -> None:
    assert issubclass(HubError, InputError)
