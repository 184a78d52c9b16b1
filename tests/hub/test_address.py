"""Ids and addresses of the Hub as people paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.hub.address import HubAddress, normalize_id, read_address, read_filename, read_revision
from planner.hub.errors import HubError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Qwen/Qwen3-8B", HubAddress("Qwen/Qwen3-8B")),
        (" Qwen/Qwen3-8B\n", HubAddress("Qwen/Qwen3-8B")),
        ("gpt2", HubAddress("gpt2")),
        ("https://huggingface.co/Qwen/Qwen3-8B", HubAddress("Qwen/Qwen3-8B")),
        ("http://hf.co/Qwen/Qwen3-8B/", HubAddress("Qwen/Qwen3-8B")),
        ("huggingface.co/Qwen/Qwen3-8B?library=vllm#usage", HubAddress("Qwen/Qwen3-8B")),
        ("HTTPS://HuggingFace.co/Qwen/Qwen3-8B", HubAddress("Qwen/Qwen3-8B")),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/main", HubAddress("Qwen/Qwen3-8B", "main")),
        ("https://huggingface.co/Qwen/Qwen3-8B/blob/main/config.json", HubAddress("Qwen/Qwen3-8B", "main", "config.json")),
        ("https://huggingface.co/Qwen/Qwen3-8B/raw/v1/config.json", HubAddress("Qwen/Qwen3-8B", "v1", "config.json")),
        ("https://hf.co/a/b/resolve/main/sub/m-Q4_K_M.gguf?download=true", HubAddress("a/b", "main", "sub/m-Q4_K_M.gguf")),
        ("https://hf.co/a/b/resolve/refs%2Fpr%2F1/x.gguf", HubAddress("a/b", "refs/pr/1", "x.gguf")),
        ("https://hf.co/a/b/blob/refs/pr/1/x.gguf", HubAddress("a/b", "refs/pr/1", "x.gguf")),
        ("https://hf.co/a/b/tree/refs/pr/1", HubAddress("a/b", "refs/pr/1")),
        ("https://huggingface.co/gpt2/blob/main/config.json", HubAddress("gpt2", "main", "config.json")),
        ("https://huggingface.co/a/b/discussions/3", HubAddress("a/b")),
        ("https://hub.example:8443/a/b/blob/main/config.json", HubAddress("a/b", "main", "config.json")),
        ("hub.example:8443/a/b", HubAddress("a/b")),
    ],
)
def test_ids_and_addresses(text: str, address: HubAddress) -> None:
    assert read_address(text, endpoint="https://hub.example:8443") == address


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not a model id"),
        ("..", "not a model id"),
        ("../../etc/passwd", "not a model id"),
        ("a/../b", "not a model id"),
        ("a--b/c", "not a model id"),
        ("a/b.git", "not a model id"),
        ("a/b/c", "not a model id"),
        ("a b/c", "not a model id"),
        ("a/b\x00", "not a model id"),
        ("ａ/ｂ", "not a model id"),
        ("a/" + "b" * 97, "not a model id"),
        ("-a/b", "not a model id"),
        ("x" * 600, "longer than 512 characters"),
        ("https://evil.example/a/b", "“evil.example” is not the Hub"),
        ("https://huggingface.co@evil.example/a/b", "is not the Hub"),
        ("https://huggingface.co.evil.example/a/b", "is not the Hub"),
        ("https://huggingface.co:444/a/b", "is not the Hub"),
        ("ftp://huggingface.co/a/b", "not a model id"),
        ("https://huggingface.co/", "not a model id"),
        ("https://huggingface.co/datasets/a/b", "a page about datasets, not about one model"),
        ("https://huggingface.co/spaces/a/b", "a page about spaces"),
        ("https://huggingface.co/a/b/blob/main/../../config.json", "not a file"),
        ("https://huggingface.co/a/b/blob/..%2F..%2Fc/config.json", "not a revision"),
        ("https://huggingface.co/a%2F..%2F..%2Fapi/b", "not a model id"),
    ],
)
def test_what_is_none_is_refused_with_what_to_give(text: str, sentence: str) -> None:
    with pytest.raises(HubError) as refused:
        normalize_id(text)
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 260


@pytest.mark.parametrize("revision", ["main", "v1.0", "refs/pr/12", "feature/x", "0123456789abcdef" * 2 + "01234567"])
def test_revisions(revision: str) -> None:
    assert read_revision(f" {revision} ") == revision


@pytest.mark.parametrize("revision", ["", " ", "..", "a/../b", "-x", "a b", "a\nb", "a//b", "a/", "?x", "x" * 300, "~1", "HEAD^"])
def test_what_cannot_be_a_revision_is_refused_at_its_field(revision: str) -> None:
    with pytest.raises(HubError, match="not a revision") as refused:
        read_revision(revision)
    assert refused.value.field == "revision"


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../x", "a/../b", "a//b", ".", "a\\b", "a?b", "a#b", "a\nb", "x" * 300])
def test_a_file_stays_inside_its_repository(name: str) -> None:
    with pytest.raises(HubError, match="not a file"):
        read_filename(name)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_a_refusal(text: str) -> None:
    try:
        address = read_address(text)
    except HubError:
        return
    assert ".." not in address.repo_id
    assert address.repo_id.count("/") <= 1


@given(st.from_regex(r"[A-Za-z0-9]{1,8}/[A-Za-z0-9]{1,8}", fullmatch=True))
def test_an_id_and_its_page_are_the_same_model(repo_id: str) -> None:
    if repo_id.partition("/")[0] not in {"api", "models", "blog", "chat", "docs", "papers", "spaces"}:
        assert normalize_id(f"https://huggingface.co/{repo_id}") == normalize_id(repo_id) == (repo_id, None)
