"""The router's list of models: read back by llama.cpp's own grammar, and nothing from outside can add to it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.engines.llama_server.preset import section
from planner.core.planning import make_plan
from planner.core.request import read_request
from planner.sources import find_model


def read_back(text: str) -> dict[str, dict[str, str]]:
    """llama.cpp b11434 common/preset.cpp: a value goes up to blanks before a comment sign or the line's end."""
    found: dict[str, dict[str, str]] = {}
    name = ""
    for line in re.split(r"\r\n|\n|\r", text):
        header = re.fullmatch(r"\[[ \t]*([^]]+)[ \t]*\][ \t]*(?:[;#].*)?", line)
        entry = re.fullmatch(r"([a-zA-Z_][a-zA-Z0-9_.-]*)[ \t]*=[ \t]*(.*?)[ \t]*(?:[;#].*)?", line)
        if header:
            name = header[1]
            found[name] = {}
        elif entry:
            found[name][entry[1]] = entry[2]
        else:
            assert re.fullmatch(r"[ \t]*(?:[;#].*)?", line), line
    return found


def test_the_plan_s_model_is_the_first_section() -> None:
    request = read_request({"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": 3, "engine": "llama-server", "host": "0.0.0.0"})  # noqa: S104 - what a user types
    _, done = make_plan(request, find_model(request, None))
    (file,) = [file for file in done.files if file.path.endswith("models.ini")]
    ((name, entries),) = read_back(file.content).items()
    assert name == "Qwen/Qwen3-8B"
    assert (entries["LLAMA_ARG_CTX_SIZE"], entries["LLAMA_ARG_N_PARALLEL"], entries["LLAMA_ARG_KV_UNIFIED"]) == ("16384", "2", "off")
    # The router sets these itself, for every server it starts.
    assert not {"LLAMA_ARG_HOST", "LLAMA_ARG_PORT", "LLAMA_ARG_ALIAS"} & entries.keys()
    assert "--models-preset /etc/llama-server/models.ini --models-max 1" in file.content


@given(name=st.text(max_size=30), value=st.text(max_size=30), why=st.text(max_size=80))
def test_what_is_written_reads_back_the_same_or_is_refused(name: str, value: str, why: str) -> None:
    try:
        lines = list(section(name, [("model", value, why)]))
    except ValueError:
        return
    assert read_back("\n".join(lines)) == {name: {"model": value}}


@pytest.mark.parametrize("value", ["a\nhost = 0.0.0.0", "a;b", "a # b", " a", "a\u2028b", "a\x00"])
def test_text_that_would_mean_something_else_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="comment sign, a control character"):
        list(section("m", [("model", value, "why")]))
    with pytest.raises(ValueError, match="section"):
        list(section(f"{value}]", [("model", "x", "why")]))
