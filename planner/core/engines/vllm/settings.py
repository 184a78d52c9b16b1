"""The options of `vllm serve` for a plan, each with its reason: scheduling and memory here, the rest beside this."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.engines import _reasons
from planner.core.engines._flags import VersionFlags
from planner.core.engines._given import Given, override, read_given
from planner.core.engines._place import Place
from planner.core.engines._tables import flag_tables
from planner.core.engines.contract import Job, Setting
from planner.core.engines.vllm.budget import Account, account
from planner.core.engines.vllm.endpoint import endpoint_settings
from planner.core.engines.vllm.model_parts import parallel_settings, part_settings
from planner.core.plan import Plan

FLAGS: Final = flag_tables()["vllm"]
# Share of blocks kept free where memory is full: what vLLM's scheduler kept by default before its V1 engine.
WATERMARK: Final = "0.01"


def given(job: Job) -> Given:
    """The options of the user's own command line."""
    return read_given(job.engine_args, FLAGS.at(job.version))


def settings(plan: Plan, job: Job, place: Place) -> tuple[Setting, ...]:
    """What decides capacity first, then what is served and where; the user's own command line wins over the plan."""
    flags = FLAGS.at(job.version)
    figures = account(job, plan.fit.slots)
    chosen = (
        *_scheduling(plan, figures, flags),
        *_memory(plan, figures, flags),
        *_prefixes(figures, flags),
        *_queue(plan, flags),
        *parallel_settings(plan, job, flags),
        *part_settings(plan, job, place, flags),
        *endpoint_settings(job, place, flags),
    )
    return override(chosen, given(job))


def _scheduling(plan: Plan, figures: Account, flags: VersionFlags) -> Iterator[Setting]:
    fit = plan.fit
    yield from flags.setting(
        "--max-model-len",
        fit.context_per_slot,
        why=_reasons.context_why(plan),
        breaks="Longer: fewer conversations fit, until vLLM refuses to start. Shorter: longer prompts get HTTP 400.",
        source="context",
    )
    seqs, ceiling = _sequences(plan, figures)
    yield from flags.setting(
        "--max-num-seqs",
        seqs,
        why=" ".join(filter(None, (_reasons.slots_why(plan), f"{_head_room(plan)}{ceiling}", fit.preemptions_why))),
        breaks="More: full conversations push each other out of the cache and are computed again. Fewer: people wait longer.",
        source="slots",
    )
    if fit.slots >= fit.slots_that_fit:
        yield from flags.setting(
            "--watermark",
            WATERMARK,
            why=f"{units.percent(float(WATERMARK))} of the blocks stay free when a request is admitted, for the others to grow into: the plan "
            "has no other head-room.",
            breaks="Without it, a new prompt may take the last blocks, and a running answer is pushed out and computed again.",
            source="slots",
        )
    batch = max(plan.engine.batch_tokens, fit.slots)
    least = "" if batch == plan.engine.batch_tokens else f" vLLM wants at least one token for each of the {fit.slots:,} slots."
    yield from flags.setting(
        "--max-num-batched-tokens",
        batch,
        why=plan.engine.batch_tokens_why + least + _in_flight(figures),
        breaks="More: long prompts pause the others for longer. Fewer: prompts are read more slowly.",
        source="pause_target",
    )


def _sequences(plan: Plan, figures: Account) -> tuple[int, str]:
    """--max-num-seqs, and why it is not the slots: every data-parallel engine has its own share of them, and recurrent states
    have a block each, beyond which vLLM refuses to start."""
    engines, blocks = figures.serving.data_parallel_size, figures.pool.num_blocks
    slots = -(-plan.fit.slots // engines)
    shared = f" Each of the {engines} data-parallel engines takes {slots:,} of them." if engines > 1 else ""
    if not figures.serving.hybrid or not blocks:
        return slots, shared
    return (
        min(slots, blocks),
        f"{shared} There are {blocks:,} blocks for recurrent states, and vLLM does not start with more requests than that.",
    )


def _head_room(plan: Plan) -> str:
    fit = plan.fit
    spare = fit.slots_that_fit - fit.slots
    bears = f"Memory bears {_reasons.count(fit.slots_that_fit, 'conversation')} at full length"
    if spare > 0:
        return f"{bears}: {spare:,} of head-room before one pushes another out of the cache."
    if spare == 0:
        return f"{bears}, and not one more: if the log prints a smaller cache than the plan, lower this number."
    return f"{bears}: when more are that long, vLLM pushes the last one out and computes it again later."


def _in_flight(figures: Account) -> str:
    """What two passes in flight cost a model with windows."""
    serving = figures.serving
    if not serving.async_scheduling or serving.in_flight_tokens == serving.max_num_batched_tokens:
        return ""
    if not any(group.members[0].spec.local for group in figures.pool.layout.groups):
        return ""
    return (
        f" Two passes are in flight (--async-scheduling is on by default), so vLLM reserves {serving.in_flight_tokens:,} tokens on top of "
        "each sliding window when it admits a request."
    )


def _memory(plan: Plan, figures: Account, flags: VersionFlags) -> Iterator[Setting]:
    memory = plan.memory
    known = figures.serving.kv_cache_memory_bytes
    if known is not None:
        yield from flags.setting(
            "--kv-cache-memory-bytes",
            known,
            why=f"The pool you know: {units.gib(known)} of cache on each GPU. vLLM takes exactly this and does not look at "
            "its share of memory.",
            breaks="More than is free beside the weights: out of memory, at the start or under load.",
            source="cache_memory",
        )
    else:
        share = units.trimmed(plan.engine.memory_utilization or memory.usable_bytes / memory.total_bytes, 4)
        yield from flags.setting(
            "--gpu-memory-utilization",
            share,
            why=f"{share} × {units.gib(memory.total_bytes)} = {units.gib(memory.usable_bytes)} per GPU: "
            f"{units.gib(memory.size_of('weights'))} of weights, {units.gib(memory.size_of('overhead'))} to work in, "
            f"{units.gib(memory.cache_pool_bytes)} for the cache.",
            breaks="More than is free at the start: vLLM refuses to start. Less: fewer slots. Once it runs, its log names a "
            "--kv-cache-memory-bytes that fixes the pool instead.",
            source="memory_utilization",
        )
    if _chosen_cache_type(plan):
        yield from flags.setting(
            "--kv-cache-dtype",
            plan.engine.cache_type_k,
            why=_reasons.cache_type_why(plan),
            breaks="The card and its attention backend must support it, else vLLM refuses to start.",
            source="cache_type",
        )


def _chosen_cache_type(plan: Plan) -> bool:
    return any(wanted not in {None, "auto"} for wanted in (plan.request.cache_type, plan.request.cache_type_k))


def _prefixes(figures: Account, flags: VersionFlags) -> Iterator[Setting]:
    """Prefix caching as the plan counts with it: for recurrent models it depends on the release, and costs a state."""
    serving = figures.serving
    if serving.enable_prefix_caching:
        state = " Recurrent layers keep a second state for it, which the plan counts." if serving.hybrid else ""
        yield from flags.setting(
            "--enable-prefix-caching",
            None,
            why=f"Every turn sends its whole conversation again: what the cache still holds of it is not read a second time.{state}",
            breaks="Off: each turn waits for its whole history to be read.",
            source="context",
        )
    elif serving.hybrid:
        yield from flags.setting(
            "--no-enable-prefix-caching",
            None,
            why="In this release prefix caching of recurrent models is an experiment, and off unless asked for.",
            breaks="On, each conversation keeps one state more, and fewer fit than planned.",
            source="engine_version",
        )


def _queue(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    fit = plan.fit
    yield from flags.setting(
        "--max-num-queued-reqs",
        fit.slots + fit.max_queue,
        why=f"{fit.slots:,} running + {fit.max_queue:,} waiting, because vLLM counts both here. {fit.max_queue_why}",
        breaks="Without it the queue has no end. A request too many gets HTTP 503 at once and can be sent again.",
        source="patience",
    )
