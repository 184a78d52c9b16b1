"""The page “How right is it?” and the command behind it."""

import io
import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from planner.web import accuracy
from planner.web.accuracy import FILE, shown


def test_the_page_has_every_table_with_its_counts(client: Client, text_of) -> None:
    page = text_of(client.get("/accuracy/"))
    assert "How right is it?" in page
    for table in shown():
        assert f"{table.engine} {table.kind} {table.span or '–'} {table.cases:,} {table.exact:,} {table.near:,}" in page
        for each in table.worst:
            assert each.cause in page
    assert sum(table.cases for table in shown()) > 800


def test_it_is_linked_from_the_foot_of_every_page_and_from_the_legend_of_a_plan(client: Client) -> None:
    assert client.get("/glossary/").content.decode().count('href="/accuracy/"') == 1
    legend = re.search(r'<section class="legend".*?</section>', client.get("/").content.decode(), re.DOTALL)
    assert legend is not None
    assert 'href="/accuracy/"' in legend[0]


def test_sources_on_the_web_are_links_and_others_are_not(client: Client) -> None:
    page = client.get("/accuracy/").content.decode()
    links = re.findall(r'<th scope="row"><a href="([^"]+)"', page)
    assert links
    assert all(link.startswith(("https://github.com/", "https://huggingface.co/")) and " " not in link for link in links)


def run(*options: str) -> str:
    out = io.StringIO()
    call_command("accuracy", *options, stdout=out)
    return out.getvalue()


def test_the_command_measures_the_repositorys_own_records() -> None:
    assert "Weights: elements of published checkpoints: 59 cases, 59 equal" in run()
    own = json.loads(run("--json"))["own"]
    assert own == json.loads(FILE.read_text(encoding="utf-8"))["own"]


def test_what_was_not_measured_this_time_is_kept_when_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "accuracy.json"
    file.write_text(json.dumps({"own": [], "truth": [{"kept": True}]}), encoding="utf-8")
    monkeypatch.setattr("planner.web.management.commands.accuracy.FILE", file)
    monkeypatch.setattr(accuracy, "FILE", file)
    monkeypatch.setattr("planner.web.management.commands.accuracy.tables", lambda _found: [])
    run("--write")
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["truth"] == [{"kept": True}]
    assert len(written["own"]) == 6


def test_a_folder_that_is_not_there_is_refused_in_a_sentence() -> None:
    with pytest.raises(CommandError, match=r"--truth: .*cannot be read") as refused:
        run("--truth", "/nowhere")
    assert refused.value.returncode == 2
