"""Downloads: right names and types, stable bytes, and a refusal instead of a wrong file."""

import io
import re
import zipfile

import pytest
from django.test import Client

EXAMPLE = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "context": "8192", "users": "20"}


def archive(client: Client, **changes: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(client.get("/files.zip", EXAMPLE | changes).content))


@pytest.mark.parametrize("engine", ["vllm", "llama-server", "ollama"])
def test_the_zip_has_every_file_of_the_page_and_a_readme_with_the_steps(client: Client, engine: str) -> None:
    page = client.get("/", EXAMPLE | {"engine": engine}).content.decode()
    shown = re.findall(r'<summary class="code-head"><code>/([^<]+)</code>', page)
    with archive(client, engine=engine) as files:
        assert files.namelist() == ["README.md", *shown]
        readme = files.read("README.md").decode()
        for part in (
            "## Files",
            "## Install",
            "## Check that it took effect",
            "## Undo",
            "http://testserver/?model=Qwen/Qwen3-8B&device=rtx-4090",
        ):
            assert part in readme
        for name in shown:
            assert files.read(name) == client.get(f"/files/{name}", EXAMPLE | {"engine": engine}).content


def test_the_zip_is_the_same_bytes_for_the_same_plan(client: Client) -> None:
    assert client.get("/files.zip", EXAMPLE).content == client.get("/files.zip", EXAMPLE).content


def test_the_zip_has_a_name_a_type_and_plain_file_modes(client: Client) -> None:
    response = client.get("/files.zip", EXAMPLE | {"engine": "ollama"})
    assert response["Content-Type"] == "application/zip"
    assert response["Content-Disposition"] == 'attachment; filename="slotwise-ollama.zip"'
    for entry in archive(client, engine="ollama").infolist():
        assert entry.external_attr >> 16 & 0o170000 == 0o100000
        assert not entry.filename.startswith("/")
        assert ".." not in entry.filename


def test_a_single_file_is_named_as_it_is_installed(client: Client) -> None:
    response = client.get("/files/etc/systemd/system/vllm.service", EXAMPLE | {"engine": "vllm"})
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="vllm.service"'
    assert b"[Service]" in response.content


@pytest.mark.parametrize("path", ["etc/passwd", "../../etc/passwd", "etc/systemd/system/../../../etc/passwd", "%2e%2e/settings.py", "x"])
def test_a_file_that_the_plan_does_not_have_is_not_found(client: Client, path: str) -> None:
    assert client.get(f"/files/{path}", EXAMPLE).status_code == 404


@pytest.mark.parametrize("address", ["/files.zip", "/files/etc/systemd/system/vllm.service"])
def test_no_plan_no_file_but_the_sentence_that_says_what_to_change(client: Client, address: str) -> None:
    response = client.get(address, EXAMPLE | {"users": "0"})
    assert response.status_code == 400
    assert "Content-Disposition" not in response
    assert "at least 1" in response.content.decode()
