"""The plan's load as a command of a public load generator: its users, its lengths, its pauses, and what such a tool cannot repeat.

Sources: `vllm bench serve` (vLLM 0.11.2 to 0.33, vllm/benchmarks/serve.py and datasets); GuideLLM 0.7.2 and 0.7.3, `guidellm run`
(docs/getting-started/benchmark.md, docs/guides/backends.md).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from planner.core import units
from planner.core.engines import _script, _systemd
from planner.core.engines._systemd import Argument
from planner.core.plan import Plan

# Turns per user: enough for the 95th percentile of twenty users to rest on more than a handful.
TURNS: Final = 10


def load_script(plan: Plan, head: Sequence[str], *, address: str, model: str, tokenizer: str | None, with_vllm: bool) -> str:
    """A script that puts the plan's load on the server at `address`. Raises ValueError for text that no script can hold."""
    lines = [*_comments(plan, with_vllm=with_vllm), *_lengths(plan, tokenizer)]
    command = _vllm(plan, address, model) if with_vllm else _guidellm(plan, address, model)
    return _script.script([*head, "The plan's load, for one machine to put on another."], [*lines, *command, 'exec "$@"'])


def arrivals_per_s(plan: Plan) -> float:
    """Turns per second of all users while nobody waits: users ÷ seconds from turn to turn."""
    return plan.workload.users / plan.workload.turn_seconds


def _comments(plan: Plan, *, with_vllm: bool) -> Iterator[str]:
    load, fit = plan.workload, plan.fit
    tool = "vllm bench serve (pip install 'vllm[bench]')" if with_vllm else "GuideLLM 0.7.2 or newer (pip install guidellm)"
    pause = units.seconds(load.turn_seconds - load.generate_seconds)
    felt = plan.speed.ttft_seconds
    first = f" The first token should come within {units.seconds(felt.p95)} for 95 % of turns." if felt else ""
    size = (
        f"{load.users:,} users × {TURNS} turns: one user starts a turn every {units.seconds(load.turn_seconds)}, "
        f"together {arrivals_per_s(plan):.3g} per second, and never more than {load.users:,} at once."
    )
    compare = (
        f"To compare with the plan: {units.percent(fit.chosen.wait_probability)} of turns should wait for a slot, "
        f"{units.seconds(fit.chosen.mean_wait_seconds)} on average over all turns.{first}"
    )
    cannot = (
        f"What it cannot repeat: a user who waits for the answer and then pauses for {pause} before the next turn. Turns arrive at "
        "random instead, at the same rate, which is harder on the server than people are. Each prompt is new: nothing of it is in the "
        "prefix cache."
    )
    yield from _systemd.comment([f"Needs {tool}.", size, compare, cannot])


def _lengths(plan: Plan, tokenizer: str | None) -> Iterator[str]:
    """The lengths of the plan; those it does not have are asked for, never made up."""
    yield ""
    for name, tokens, what in (
        ("PROMPT_TOKENS", plan.request.prompt_tokens, "tokens of a prompt"),
        ("OUTPUT_TOKENS", plan.request.output_tokens, "tokens of an answer"),
    ):
        yield f"{name}=${{{name}:-{tokens}}}" if tokens else f': "${{{name}:?give the {what}: the plan has seconds only}}"'
    if tokenizer is None:
        yield ': "${TOKENIZER:?name the model on the Hub whose tokenizer counts the tokens}"'
    else:
        yield f"TOKENIZER=${{TOKENIZER:-{_script.words([tokenizer])}}}"
    yield ""


def _vllm(plan: Plan, address: str, model: str) -> Iterator[str]:
    users = plan.workload.users
    yield f"set -- {_script.words(['vllm', 'bench', 'serve', '--backend', 'openai-chat', '--endpoint', '/v1/chat/completions'])}"
    for argument in (
        Argument(("--base-url", f"http://{address}"), "A key is read from OPENAI_API_KEY."),
        Argument(("--served-model-name", model)),
        Argument(("--request-rate", f"{arrivals_per_s(plan):.6g}"), "Arrivals per second, at random."),
        Argument(("--max-concurrency", str(users)), "Each user has one turn at a time."),
        Argument(("--num-prompts", str(users * TURNS))),
        Argument(("--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,95,99")),
    ):
        yield from _systemd.comment([argument.why]) if argument.why else []
        yield f'set -- "$@" {_script.words(argument.words)}'
    yield 'set -- "$@" --model "$TOKENIZER" --dataset-name random --random-input-len "$PROMPT_TOKENS" --random-output-len "$OUTPUT_TOKENS"'
    yield from _systemd.comment(["Every answer has its whole length."])
    yield 'set -- "$@" --ignore-eos --save-result'


def _guidellm(plan: Plan, address: str, model: str) -> Iterator[str]:
    users = plan.workload.users
    backend = json.dumps({"kind": "openai_http", "target": f"http://{address}", "model": model}, ensure_ascii=False)
    seconds = round(TURNS * plan.workload.turn_seconds)
    yield f"set -- {_script.words(['guidellm', 'run'])}"
    for argument in (
        Argument(("--backend", backend), 'A server with a key needs "api_key" here; it is then seen in the list of processes.'),
        Argument(
            ("--profile", f"kind=poisson,rate={arrivals_per_s(plan):.6g},max_concurrency={users}"),
            "Arrivals per second, at random; each user has one turn at a time.",
        ),
        Argument(("--constraint", f"kind=max_duration,seconds={seconds}"), f"{TURNS} turns of every user."),
    ):
        yield from _systemd.comment([argument.why]) if argument.why else []
        yield f'set -- "$@" {_script.words(argument.words)}'
    yield 'set -- "$@" --data "kind=synthetic_text,prompt_tokens=$PROMPT_TOKENS,output_tokens=$OUTPUT_TOKENS"'
    yield 'set -- "$@" --tokenizer "kind=huggingface_auto,model=$TOKENIZER"'
