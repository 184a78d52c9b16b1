"""Version tables: what each version knows, under which name; and, where the engines' help texts lie beside the repository, that they agree."""

import re
from pathlib import Path

import pytest

from planner.core.engines._flags import FlagTable, version_key
from planner.core.engines._given import read_given
from planner.core.engines.llama_server.settings import FLAGS as LLAMA
from planner.core.engines.ollama.settings import FLAGS as OLLAMA
from planner.core.engines.vllm.settings import FLAGS as VLLM
from planner.core.errors import InputError

FACTS = Path(__file__).resolve().parents[2].parent / "shared/facts"
TABLES = {"llama-server": LLAMA, "vllm": VLLM, "ollama": OLLAMA}
# The help texts are those of these versions.
HELP = {"llama-server": ("llama_server_help.txt", "b11434"), "vllm": ("vllm_help.txt", "0.32.0")}


def setting(table: FlagTable, version: str, name: str, value: str | None = None) -> list[tuple[str | None, str | None]]:
    return [(s.flag, s.value) for s in table.at(version).setting(name, value, why="test")]


@pytest.mark.parametrize(
    ("table", "version", "flag", "known"),
    [
        # llama-server's own parsers: only the old spelling in b9873, both in b10289 and b10603, only --load-mode from b11010
        (LLAMA, "b9873", "--mlock", True),
        (LLAMA, "b9873", "--load-mode", False),
        (LLAMA, "b10289", "--mlock", True),
        (LLAMA, "b10289", "--load-mode", True),
        (LLAMA, "b10603", "--no-mmap", True),
        (LLAMA, "b11010", "--mlock", False),
        (LLAMA, "b11434", "--no-mmap", False),
        (LLAMA, "b11434", "--direct-io", False),
        (LLAMA, "b10603", "--kv-unified-per-slot", False),
        (LLAMA, "b11010", "--kv-unified-per-slot", True),
        (LLAMA, "b9093", "--checkpoint-every-n-tokens", True),
        (LLAMA, "b9360", "--checkpoint-every-n-tokens", False),
        (LLAMA, "b9360", "--sse-ping-interval", False),
        (LLAMA, "b9672", "--sse-ping-interval", True),
        (LLAMA, "b10603", "--n-cpu-ffn", False),
        (LLAMA, "b11010", "--n-cpu-ffn", True),
        (LLAMA, "b9093", "--spec-draft-n-max", True),
        (LLAMA, "b9093", "--draft-max", False),
        (LLAMA, "b9360", "--checkpoint-min-step", True),
        (LLAMA, "b11434", "--defrag-thold", False),
        # vLLM: text scan of the releases
        (VLLM, "0.17.0", "--swap-space", True),
        (VLLM, "0.17.1", "--swap-space", True),
        (VLLM, "0.18.0", "--swap-space", False),
        (VLLM, "0.33.0", "--swap-space", False),
        (VLLM, "0.14.0", "--disable-log-requests", True),
        (VLLM, "0.17.0", "--disable-log-requests", False),
        (VLLM, "0.24.0", "--max-num-partial-prefills", True),
        (VLLM, "0.28.0", "--max-num-partial-prefills", False),
        (VLLM, "0.24.0", "--calculate-kv-scales", True),
        (VLLM, "0.33.0", "--calculate-kv-scales", False),
        (VLLM, "0.28.0", "--max-num-queued-reqs", False),
        (VLLM, "0.32.0", "--max-num-queued-reqs", True),
        (VLLM, "0.17.0", "--device-memory-utilization", False),
        (VLLM, "0.17.0", "--max-num-active-seqs", False),
        (VLLM, "0.20.0", "--watermark", False),
    ],
)
def test_a_version_knows_an_option_from_the_first_to_the_last_release_seen_with_it(
    table: FlagTable,
    version: str,
    flag: str,
    known: bool,  # noqa: FBT001
) -> None:
    found = table.at(version).find(flag)
    assert (found is not None) is known
    values = found.values(version) if found else ()
    written = [s for s, _ in setting(table, version, flag, values[0] if values else "1")]
    assert (flag in written) is known


@pytest.mark.parametrize(
    ("version", "written"),
    [("b9873", [("--mlock", None)]), ("b10289", [("--load-mode", "mmap+mlock")]), ("b11434", [("--load-mode", "mmap+mlock")])],
)
def test_a_renamed_option_is_written_under_the_name_of_its_version(version: str, written: list[tuple[str, str | None]]) -> None:
    assert setting(LLAMA, version, "--load-mode", "mmap+mlock") == written


@pytest.mark.parametrize(
    ("version", "default"),
    # config/cache.py: 0.9 up to 0.19.1, 0.92 from 0.20.
    [("0.11.0", "0.9"), ("0.17.0", "0.9"), ("0.19.1", "0.9"), ("0.20.0", "0.92"), ("0.33.0", "0.92")],
)
def test_a_default_is_that_of_the_version(version: str, default: str | None) -> None:
    (found,) = VLLM.at(version).setting("--gpu-memory-utilization", "0.5", why="test")
    assert found.default == default


def test_a_value_the_version_does_not_accept_is_refused() -> None:
    with pytest.raises(InputError, match="turboquant_k8v4"):
        setting(VLLM, "0.17.0", "--kv-cache-dtype", "turboquant_k8v4")
    assert setting(VLLM, "0.20.0", "--kv-cache-dtype", "turboquant_k8v4")
    with pytest.raises(InputError, match="q4_K"):
        setting(LLAMA, "b11434", "--cache-type-k", "q4_K")


@pytest.mark.parametrize(("table", "version"), [(VLLM, "0.8.5"), (LLAMA, "b9000"), (VLLM, "latest"), (LLAMA, "")])
def test_a_version_outside_the_table_is_refused_and_never_guessed(table: FlagTable, version: str) -> None:
    with pytest.raises(InputError) as refused:
        table.at(version)
    assert refused.value.field == "engine_version"


def test_versions_are_ordered_by_their_numbers() -> None:
    versions = ["0.11", "0.11.0", "0.11.2.post2", "0.20.0", "0.20.1+cu129", "v0.33.0"]
    assert sorted(versions, key=version_key) == versions
    assert version_key("b11434 (0c1e570)") == (11434,)


@pytest.mark.parametrize("name", TABLES)
def test_no_spelling_belongs_to_two_options_of_one_version(name: str) -> None:
    table = TABLES[name]
    for version in {
        table.first,
        table.newest,
        *(flag.since for flag in table.flags),
        *(flag.until or table.newest for flag in table.flags),
    }:
        spellings = [s for flag in table.flags if flag.known_to(version) for s in flag.spellings]
        assert len(spellings) == len(set(spellings)), version


@pytest.mark.parametrize("name", TABLES)
def test_whatever_replaces_an_option_is_itself_in_the_table(name: str) -> None:
    table = TABLES[name]
    for flag in table.flags:
        assert flag.meaning.endswith(".") or not (flag.meaning or flag.defaults or flag.until), flag.name
        assert (flag.until is None) == (flag.replaced_by is None) or flag.name == "--device-memory-utilization", flag.name
        if flag.replaced_by:
            assert table.at(table.newest).find(flag.replaced_by.split()[0]), flag.name


@pytest.mark.parametrize(
    ("line", "kept", "left_out"),
    [
        ("-c 8192 -np 4 -ctk q8_0", [("--ctx-size", "8192"), ("--parallel", "4"), ("--cache-type-k", "q8_0")], 0),
        ("llama-server --ctx_size=8192 -nkvo -fa", [("--ctx-size", "8192"), ("--no-kv-offload", None), ("--flash-attn", "on")], 0),
        ("--mlock --no-mmap", [("--load-mode", "mmap+mlock"), ("--load-mode", "none")], 0),
        ("--defrag-thold 0.1 --api-key secret --port 9 --nonsense x", [], 4),
        ("LLAMA_ARG_CTX_SIZE=4096", [("--ctx-size", "4096")], 0),
    ],
)
def test_a_pasted_command_line_is_read_under_the_names_of_the_version(line: str, kept: list[tuple[str, str | None]], left_out: int) -> None:
    given = read_given(line.split(), LLAMA.at("b11434"))
    assert [(s.flag, s.value) for s in given.settings] == kept
    assert len(given.left_out) == left_out
    assert "secret" not in " ".join(given.left_out)


@pytest.mark.parametrize("words", [("-c",), ("-c", ""), ("-ot", "a\nb"), ("-ot", "a\u2028b"), ("-ot", "a" * 5000)])
def test_a_pasted_value_that_is_missing_or_that_no_file_can_hold_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as refused:
        read_given(words, LLAMA.at("b11434"))
    assert refused.value.field == "engine_args"


def help_text(name: str) -> str:
    path = FACTS / HELP[name][0]
    if not path.exists():
        pytest.skip(f"the help text of {name} is not beside the repository")
    return path.read_text()


def help_of(spelling: str, text: str) -> str:
    """The lines that describe an option, on one line."""
    blocks = re.split(r"\n(?=(?:  )?-{1,2}[A-Za-z])", text)
    block = next(block for block in blocks if re.match(rf"\s*(?:-[\w-]+(?: \S+)?,\s+)*{re.escape(spelling)}(?![\w-])", block))
    return re.sub(r"\s+", " ", block)


@pytest.mark.parametrize("name", HELP)
def test_every_option_of_the_newest_version_is_in_the_engine_s_own_help(name: str) -> None:
    text, (_, version) = help_text(name), HELP[name]
    for flag in TABLES[name].flags:
        if not flag.known_to(version) or not flag.name.startswith("-"):
            continue
        block = help_of(flag.name, text)
        for spelling in flag.spellings:
            assert re.search(rf"(?<![\w-]){re.escape(spelling)}(?![\w-])", text), spelling
        if name == "llama-server":
            env = flag.env(version)
            assert env is None or f"(env: {env})" in block, flag.name
            assert env or "(env:" not in block or not flag.meaning, flag.name


@pytest.mark.parametrize("name", HELP)
def test_every_default_of_the_newest_version_is_that_of_the_engine_s_own_help(name: str) -> None:
    text, (_, version), compared = help_text(name), HELP[name], 0
    for flag in TABLES[name].flags:
        default = flag.default(version)
        block = help_of(flag.name, text) if default and flag.known_to(version) and flag.name.startswith("-") else ""
        if "default" in block:
            compared += 1
            pattern = rf"{re.escape(default)} \(default\)|default:? '?(?:value of )?{re.escape(default)}(?![\w-])"
            assert re.search(pattern, block), (flag.name, default)
    assert compared > 15


@pytest.mark.parametrize("name", HELP)
def test_the_newest_help_has_none_of_the_options_that_count_as_gone(name: str) -> None:
    text, (_, version) = help_text(name), HELP[name]
    for flag in TABLES[name].flags:
        if flag.until and not flag.known_to(version) and re.search(rf"(?<![\w-]){re.escape(flag.name)}(?![\w-])", text):
            assert re.search("argument has been removed|DEPRECATED", help_of(flag.name, text)), flag.name


@pytest.mark.parametrize("name", HELP)
def test_the_values_of_a_choice_are_those_of_the_engine_s_own_help(name: str) -> None:
    text, (_, version) = help_text(name), HELP[name]
    for flag in TABLES[name].flags:
        if flag.values(version) and flag.known_to(version):
            block = help_of(flag.name, text)
            listed = re.search(r"allowed values: ([\w, +]+)\(|\{([^}]*)\}|\[([\w|]+)\]", block)
            values = re.split(r",\s*|\|", next(filter(None, listed.groups()))) if listed else re.findall(r"- ([\w+]+):", block)
            assert {value.strip() for value in values} == set(flag.values(version)), flag.name
