"""`manage.py simulate`: the object scripts rely on, sweeps, replays, and refusals in one line with status 2."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import ManagementUtility

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = (
    "Qwen/Qwen3-8B", "--device", "rtx-4090", "--users", "20", "--prompt-tokens", "1500", "--output-tokens", "300", "--think-seconds", "60",
    "--duration", "600",
)  # fmt: skip
RUN_KEYS = {
    "options", "ttft", "itl", "pause", "wait", "rejected", "preempted", "utilization", "tokens_per_second", "requests",
}  # fmt: skip
LOG = """\
0.01.823.831 I slot get_availabl: id  3 | task -1 | selected slot by LRU, t_last = -1
0.01.823.958 I slot launch_slot_: id  3 | task 0 | processing task, is_child = 0
0.05.401.037 I slot print_timing: id  3 | task 0 | prompt eval time =    1668.70 ms /   300 tokens (    5.56 ms per token,   179.78 tokens per second)
0.05.401.089 I slot print_timing: id  3 | task 0 |        eval time =    1908.22 ms /   150 tokens (   12.81 ms per token,    78.08 tokens per second)
0.05.401.409 I slot      release: id  3 | task 0 | stop processing: n_tokens = 449, truncated = 0
1.05.500.000 I slot launch_slot_: id  3 | task 160 | processing task, is_child = 0
1.06.401.037 I slot print_timing: id  3 | task 160 | prompt eval time =     170.00 ms /    32 tokens (    5.31 ms per token,   188.24 tokens per second)
1.07.401.089 I slot print_timing: id  3 | task 160 |        eval time =     120.00 ms /    10 tokens (   12.00 ms per token,    83.33 tokens per second)
1.07.401.409 I slot      release: id  3 | task 160 | stop processing: n_tokens = 491, truncated = 0
1.08.000.000 I slot launch_slot_: id  2 | task 180 | processing task, is_child = 0
1.09.000.000 I slot      release: id  2 | task 180 | stop processing: n_tokens = 99, truncated = 0
"""


class Ran:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command in this process, as manage.py would."""

    def call(*words: str, stdin: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status: Any = 0
        try:
            ManagementUtility(["manage.py", "simulate", *words]).execute()
        except SystemExit as stop:
            status = stop.code or 0
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


@pytest.mark.parametrize("policy", ["llama-server", "vllm", "ollama", "static", "serial"])
def test_a_run_has_every_promised_key(run: Any, policy: str) -> None:
    result = run(*EXAMPLE, "--policy", policy, "--json").json
    (only,) = result["runs"]
    assert only.keys() >= RUN_KEYS
    assert result["policy"] == policy
    assert only["options"] == {}
    assert only["requests"] > 0
    for measure in ("ttft", "itl", "pause", "wait"):
        assert only[measure]["p50"] <= only[measure]["p95"] <= only[measure]["p99"] <= only[measure]["max"]


def test_a_sweep_has_a_run_for_every_value_and_pauses_grow_with_the_batch(run: Any) -> None:
    result = run(*EXAMPLE, "--policy", "llama-server", "--sweep", "batch=256,512,1024,2048", "--json").json
    assert [each["options"] for each in result["runs"]] == [{"batch": n} for n in (256, 512, 1024, 2048)]
    pauses = [each["pause"]["p95"] for each in result["runs"]]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 2 * pauses[0]


def test_sweeps_combine_and_keep_the_engine_of_the_first(run: Any) -> None:
    result = run(*EXAMPLE, "--sweep", "users=2,40", "--sweep", "slots=2,4", "--json").json
    assert [each["options"] for each in result["runs"]] == [{"users": u, "slots": s} for u in (2, 40) for s in (2, 4)]
    assert {each["server"]["policy"] for each in result["runs"]} == {result["policy"]}


def test_the_seed_decides(run: Any) -> None:
    first, again, other = (run(*EXAMPLE, "--seed", seed, "--json").json["runs"] for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def test_measured_speeds_are_used_and_no_warning_is_left_of_estimates(run: Any) -> None:
    result = run(*EXAMPLE, "--prefill-rate", "800", "--decode-rate", "52", "--variation", "0", "--users", "1", "--json").json
    assert result["speed"]["prefill_rate"]["grade"] == "measured"
    assert {warning["code"] for warning in result["warnings"]}.isdisjoint({"speed_estimated", "prompt_tokens_assumed"})
    (only,) = result["runs"]
    # Alone: 1,500 tokens at 800 tokens/s, then 52 tokens/s with a conversation half full, faster with less in the cache.
    assert only["ttft"]["p50"] == pytest.approx(1500 / 800, rel=0.05)
    assert 0.9 / 52 < only["itl"]["p50"] < 1 / 52


def test_a_log_is_sent_again_with_what_its_cache_held(run: Any, tmp_path: Path) -> None:
    log = tmp_path / "server.log.gz"
    log.write_bytes(gzip.compress(LOG.encode()))
    result = run(*EXAMPLE[:3], "--replay", str(log), "--json").json
    (only,) = result["runs"]
    # Two finished requests: 300 prompt tokens, then 482 of which 450 were cached. The cancelled one has no timings.
    assert (result["replayed"], only["requests"]) == (2, 2)
    assert (only["prompt_tokens"], only["cached_tokens"], only["output_tokens"]) == (782, 450, 160)


@pytest.mark.parametrize(
    "calls",
    [
        "time,prompt_tokens,output_tokens\n5,100,20\n6.5,200,30\n",
        # As a spreadsheet saves it.
        "\ufefftime;prompt_tokens;output_tokens\r\n5;100;20\r\n6.5;200;30\r\n",
        '{"time": 5, "prompt_tokens": 100, "output_tokens": 20}\n{"time": 6.5, "prompt_tokens": 200, "output_tokens": 30}\n',
    ],
)
def test_an_application_s_own_calls_are_sent_again(run: Any, calls: str) -> None:
    result = run(*EXAMPLE[:3], "--replay", "-", "--json", stdin=calls).json
    (only,) = result["runs"]
    assert (only["requests"], only["prompt_tokens"], only["output_tokens"]) == (2, 300, 50)


def test_the_text_of_one_run_says_how_it_stands_to_the_limits_and_no_short_run_s_figures(run: Any) -> None:
    shown = run(*EXAMPLE, "--users", "1", "--slots", "1").out
    assert "\n1 user for 10 min: 1 slot, passes of " in shown
    assert "\nWithin your limits: In 95 of 100 cases a turn starts within the 30 s of patience" in shown
    crowded = run(*EXAMPLE, "--slots", "1", "--patience", "1")
    assert "\nBeyond your limits: A turn waits " in crowded.out
    # The plan's own short run says the same with other figures.
    assert "Simulated" not in crowded.out


def test_the_text_shows_the_sweep_as_a_table(run: Any) -> None:
    ran = run(*EXAMPLE, "--sweep", "slots=1,2,8")
    assert ran.status == 0
    lines = ran.out.splitlines()
    head = next(number for number, line in enumerate(lines) if "ttft p95" in line)
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["1", "2", "8"]
    assert "Speeds are estimates" in ran.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--sweep", "batch=x"), "--batch: “x” is not a number"),
        (("--sweep", "engine=vllm"), "--sweep: engine is not a number"),
        (("--sweep", "batch"), "--sweep: “batch” is no sweep"),
        (("--policy", "fair"), "--policy: policy must be one of"),
        (("--duration", "nan"), "--duration: “nan” is not a number"),
        (("--duration", "1e99"), "--duration: duration must be at most 2,592,000."),
        (("--duration", "0"), "--duration: duration must be at least 0.001."),
        (("--context", "1"), "--context: A context of 1 token cannot hold"),
        (("--duration", "2592000", "--users", "10000"), "--duration: 10,000 users with a turn every"),
        (("--arrivals", "poisson", "--turn-seconds", "0.001", "--generate-seconds", "0.001"), "--duration: "),
        (("--batch", "2", "--slots", "8"), "--batch: A pass of 2 tokens"),
        (("--long-share", "0.7", "--image-share", "0.7"), "--long-share: Long prompts and images"),
        (("--replay", "/no/such/file"), "--replay: /no/such/file cannot be read"),
        (("--replay", "/dev/zero"), "--replay: /dev/zero is a pipe or a device"),
        (("--replay", str(ROOT / "manage.py")), "--replay: No request with its time and tokens"),
        (("--shared-tokens", "9000"), "--shared-tokens: The tokens that all prompts share"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_used_is_one_line_and_status_2(run: Any, words: tuple[str, ...], sentence: str) -> None:
    ran = run(*EXAMPLE, *words)
    assert ran.status == 2
    assert ran.err.startswith(sentence)
    assert ran.err.count("\n") == 1
    assert not ran.out


@pytest.mark.parametrize(
    "calls",
    [
        "time,prompt_tokens,output_tokens\n0,1,1\n1,nan,3\n",
        "time,prompt_tokens,output_tokens\n0,0,1\n",
        "time,prompt_tokens,output_tokens\n0,5,1\n1e12,5,1\n",
        "time,prompt_tokens,output_tokens\ninf,5,1\n",
        "time,prompt_tokens,output_tokens\n",
        '{"prompt_tokens": ' + "[" * 5000,
        '{"time": 1e400, "prompt_tokens": 1, "output_tokens": 1}',
        '{"time": 1, "prompt_tokens": 1e400, "output_tokens": 1}',
        "\x00" * 1000,
    ],
)
def test_calls_that_cannot_be_are_refused(run: Any, calls: str) -> None:
    ran = run(*EXAMPLE[:3], "--replay", "-", stdin=calls)
    assert ran.status == 2
    assert ran.err.startswith("--replay: ")


def test_bad_hours_are_one_object_with_the_first_that_breaks_the_plan(run: Any) -> None:
    result = run(*EXAMPLE, "--break", "--pause-target", "0.001", "--json").json
    assert result["first_broken"] == "ordinary"
    assert result["limits"] == {"pause": 0.001, "wait": 30.0}
    hours = {hour["code"]: hour for hour in result["hardships"]}
    assert next(iter(hours)) == "ordinary"
    assert not hours["ordinary"]["survived"]
    assert hours["ordinary"]["breaches"][0].keys() == {"measure", "found", "limit", "message"}
    assert hours["together"].keys() >= {"title", "what", "ttft", "itl", "pause", "wait", "requests", "rejected", "failed", "preempted"}


def test_bad_hours_for_a_terminal_begin_with_the_answer(run: Any) -> None:
    shown = run(*EXAMPLE, "--break", "--pause-target", "60", "--patience", "600")
    assert shown.out.splitlines()[2].startswith("The plan survives all ")


@pytest.mark.parametrize("option", [("--sweep", "batch=256"), ("--replay", "calls.csv")])
def test_bad_hours_have_a_load_of_their_own(run: Any, option: tuple[str, str]) -> None:
    refused = run(*EXAMPLE, "--break", *option)
    assert refused.status == 2
    assert "hours of its own" in refused.err
