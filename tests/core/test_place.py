"""Text from outside that ends in files: accepted only where every file can hold it, refused by field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.engines import _place, _systemd
from planner.core.engines._place import read_host, read_model_path, read_name, read_place
from planner.core.errors import InputError
from tests import by_hand

HOSTILE = [
    "a/b\nExecStartPre=/bin/touch x", "a/b$(id)", "a/b`id`", "a/b %n %h", 'a/b" "', "a/b\\", "a/b\u2028ExecStart=/bin/x", "a/b;id",
    "../../etc/passwd", "a/b\x00c", "-rf/x", "a/" + "b" * 4000, "a/b'; DROP", "${HOME}/x", "a/b\r\nUser=root", "a\u202eb/c",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(("read", "field"), [(read_model_path, "model_path"), (read_host, "host"), (read_name, "model")])
def test_hostile_text_is_refused_at_its_field(read: object, field: str, text: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text)  # type: ignore[operator]
    assert refused.value.field == field
    assert len(str(refused.value)) < 400
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    "path",
    ["/a/../etc/passwd", "/a\n/b", "/a\x00", "/a\u2028b", "/a/", "/" + "b" * 2000, "/a\u202eb", "/", "a/b/c"],
)
def test_a_path_that_names_no_single_file_is_refused(path: str) -> None:
    with pytest.raises(InputError):
        read_model_path(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/srv/models/Qwen3 8B.gguf", ("/srv/models/Qwen3 8B.gguf", None)),
        ("/srv/a$b%c'd\"e\\f;g/ü.gguf", ("/srv/a$b%c'd\"e\\f;g/ü.gguf", None)),
        ("/opt/..hidden/x", ("/opt/..hidden/x", None)),
        ("Qwen/Qwen3-8B", (None, "Qwen/Qwen3-8B")),
        ("gpt2", (None, "gpt2")),
    ],
)
def test_a_model_is_an_absolute_path_or_a_hub_id(text: str, expected: tuple[str | None, str | None]) -> None:
    assert read_model_path(text) == expected


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.7", "::", "::1", "fe80::1", "localhost", "gpu-1.example.org"])
def test_addresses_and_host_names_are_accepted(host: str) -> None:
    assert read_host(host) == host


@pytest.mark.parametrize(
    "host", ["fe80::1%eth0", "fe80::1%$(id)", "1.2.3", "1.2.3.4.5", "-a.b", "a..b", "a_b", "", "1.2.3.4:80", "a b", "ü.example"]
)
def test_what_is_no_address_is_refused(host: str) -> None:
    with pytest.raises(InputError):
        read_host(host)


@given(st.text(max_size=60))
def test_whatever_path_is_accepted_can_stand_in_a_unit_and_comes_back(text: str) -> None:
    try:
        path, _ = read_model_path("/" + text)
    except InputError:
        return
    assert _systemd.parse_words(_systemd.argument(path or ""), command_line=True) == [path]


@pytest.mark.parametrize("revision", ["main --x", "a\nb", "../x", "-x", "a" * 200])
def test_a_revision_is_a_branch_a_tag_or_a_commit(revision: str) -> None:
    plan, _ = by_hand.plan("vllm", revision=revision)
    with pytest.raises(InputError) as refused:
        read_place(plan)
    assert refused.value.field == "revision"


def test_a_name_that_no_file_name_can_be_made_of_still_gets_one() -> None:
    place = _place.Place(name="a", path=None, hub_id="a", revision=None, host=None, port=None)
    assert place.slug == "a"
