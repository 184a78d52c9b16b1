"""The symptom guide's data: every setting is one the engines know, every command can be run, every figure has its source."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from planner.core.engines._flags import VersionFlags
from planner.core.engines._tables import flag_tables
from planner.core.guide import GROUPS, SYMPTOMS, Advice, Check, Symptom, search
from planner.core.queueing import slot_trade

ADVICE: Final = [pytest.param(advice, id=f"{symptom.slug}-{advice.engine}") for symptom in SYMPTOMS.values() for advice in symptom.advice]
CHECKS: Final = [
    pytest.param(check, id=f"{value.id}-{number}") for value in ADVICE for number, check in enumerate(value.values[0].checks, 1)
]  # type: ignore[attr-defined]
# Options of the tools that commands are made of, and variables that are theirs or belong to no engine's table.
TOOL_OPTIONS: Final = {"--unit", "--since", "--no-pager", "--property", "--dmesg", "--list-full", "--query-gpu", "--format"}
# What engines serve. Sources: vLLM 0.32.0 /metrics and vllm/v1/metrics/loggers.py; llama.cpp b11434 tools/server/server-task.cpp.
METRICS: Final = {
    "vllm:admission_rejections_total",
    "vllm:cache_config_info",
    "vllm:inter_token_latency_seconds",
    "vllm:kv_cache_usage_perc",
    "vllm:lora_requests_info",
    "vllm:num_preemptions_total",
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:prefix_cache_hits_total",
    "vllm:prefix_cache_queries_total",
    "vllm:request_params_max_tokens",
    "vllm:request_prefill_time_seconds",
    "vllm:request_queue_time_seconds",
    "vllm:request_success_total",
    "llamacpp:requests_processing",
    "llamacpp:requests_deferred",
}
SNAPSHOT: Final = Path(__file__).resolve().parents[2].parent / "shared/truth/logs/own/vllm/interf_mnbt512.metrics.txt"


def known(engine: str) -> VersionFlags:
    table = flag_tables()[engine]
    return table.at(table.newest)


def prose(advice: Advice) -> str:
    return " ".join(
        (advice.note, *(check.look_for for check in advice.checks), *(f"{change.name} {change.why}" for change in advice.changes))
    )


def test_the_guide_knows_what_people_see() -> None:
    assert len(SYMPTOMS) == sum(len(group.symptoms) for group in GROUPS), "a slug is there twice"
    assert all(re.fullmatch(r"[a-z0-9-]+", slug) for slug in SYMPTOMS)
    assert len({symptom.title for symptom in SYMPTOMS.values()}) == len(SYMPTOMS)


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("503", "http-503"),
        ("freezes send", "stream-freezes"),
        ("p95", "one-in-ten-waits"),
        ("ttft", "slow-first-token"),
        ("lora", "lora-requests-wait"),
        ("swap", "cpu-box-collapses"),
        ("preemption", "streams-stall-silently"),
        ("oom cuda", "out-of-memory-at-start"),
        ("Context size has been exceeded", "out-of-memory-later"),
        ("truncated", "answers-are-cut-short"),
        ("keep alive", "slow-after-a-pause"),
        ("PROCESSOR", "processor-shows-cpu"),
        ("summarised", "slow-after-a-summary"),
        ("cores", "would-more-cores-help"),
        ("second GPU", "would-a-second-gpu-help"),
        ("export bashrc", "settings-have-no-effect"),
        ("each reply is normal", "waits-are-long"),
    ],
)
def test_a_symptom_is_found_by_the_words_people_use(words: str, slug: str) -> None:
    assert slug in {symptom.slug for group in search(words) for symptom in group.symptoms}


def test_nothing_searched_for_finds_everything_and_nonsense_finds_nothing() -> None:
    assert tuple(search("")) == GROUPS
    assert list(search("zzz")) == []


@pytest.mark.parametrize("symptom", SYMPTOMS.values(), ids=lambda symptom: symptom.slug)
def test_every_symptom_has_a_cause_a_setting_to_plan_with_and_neighbours_that_exist(symptom: Symptom) -> None:
    assert symptom.seen
    assert symptom.cause
    assert symptom.advice
    assert len({advice.engine for advice in symptom.advice}) == len(symptom.advice)
    assert {advice.engine for advice in symptom.advice} <= flag_tables().keys()
    assert symptom.slug not in symptom.related
    assert set(symptom.related) <= SYMPTOMS.keys()
    for advice in symptom.advice:
        assert any(change.inputs is not None for change in advice.changes), advice.engine


@pytest.mark.parametrize("symptom", SYMPTOMS.values(), ids=lambda symptom: symptom.slug)
def test_every_report_names_its_source(symptom: Symptom) -> None:
    for evidence in symptom.evidence:
        assert evidence.source
        assert evidence.url.startswith("https://") or re.search(r"our runs? of|computes|at fb30760|b11434|0\.33\.0", evidence.source), (
            evidence.source
        )


@pytest.mark.parametrize("advice", ADVICE)
def test_every_setting_is_in_the_version_table_of_its_engine(advice: Advice) -> None:
    flags = known(advice.engine)
    for change in advice.changes:
        flag = flags.find(change.name)
        assert flag, change.name
        assert change.name in {flag.name, flag.negative}, "settings go by their long names"
        if allowed := flag.values(flags.version):
            assert change.value in allowed, change
        if flag.type == "switch" and flag.name.startswith("-"):
            assert change.value == "", "a bare switch"


@pytest.mark.parametrize("advice", ADVICE)
def test_every_flag_and_variable_that_is_spoken_of_exists(advice: Advice) -> None:
    flags = known(advice.engine)
    for name in re.findall(r"(?<![\w-])--[a-z][\w-]*|\b(?:OLLAMA|LLAMA_ARG|VLLM)_[A-Z_]+", prose(advice)):
        assert flags.find(name), name


@pytest.mark.parametrize("check", CHECKS)
def test_commands_use_no_option_that_their_tools_do_not_have(check: Check) -> None:
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", check.command)) <= TOOL_OPTIONS


@pytest.mark.parametrize("check", CHECKS)
def test_commands_are_whole_for_a_shell_and_do_nothing_but_look(check: Check) -> None:
    assert subprocess.run(["sh", "-n", "-c", check.command], check=False, capture_output=True).returncode == 0, check.command
    assert not re.search(r"\b(?:sudo|rm|kill|pkill|tee)\b|>(?! ?/dev/null)", check.command), check.command
    assert check.look_for.endswith((".", "…"))


@pytest.mark.parametrize("check", CHECKS)
def test_metrics_are_those_that_engines_serve(check: Check) -> None:
    pattern = re.search(r"grep -E '\^?((?:vllm|llamacpp):[^']*)'", check.command)
    if pattern:
        wanted = re.compile(pattern[1].split("_(bucket")[0].split("_(sum")[0].removesuffix("[{]"))
        assert any(wanted.fullmatch(name) for name in METRICS), pattern[1]


@pytest.mark.skipif(not SNAPSHOT.exists(), reason="no snapshot of a running vLLM's metrics here")
def test_the_metrics_of_vllm_are_in_a_snapshot_of_one() -> None:
    served = SNAPSHOT.read_text()
    # Served only with LoRA on.
    missing = {name for name in METRICS if name.startswith("vllm:") and name not in served} - {"vllm:lora_requests_info"}
    assert missing == set()


def test_the_shares_that_wait_are_the_planners_own() -> None:
    sentence = SYMPTOMS["waits-are-long"].evidence[0].sentence
    for slots, share in ((3, "61 %"), (4, "29 %"), (5, "11 %"), (6, "3.5 %")):
        trade = slot_trade(users=20, slots=slots, generate_seconds=12, turn_seconds=90)
        assert f"{100 * trade.wait_probability:.2g} %" == share
        assert share in sentence
