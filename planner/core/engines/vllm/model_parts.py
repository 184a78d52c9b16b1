"""How vLLM divides the model over GPUs, and which parts of it are served: experts, adapters, eyes, weights in another format."""

import json
from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.attention.stores import TokenStore
from planner.core.engines import _adapters
from planner.core.engines._flags import VersionFlags
from planner.core.engines._place import Place
from planner.core.engines.contract import Job, Setting
from planner.core.model_shape import ModelShape
from planner.core.plan import Plan, Remark
from planner.core.weights import checkpoint_format

HOME: Final = "/var/lib/vllm"
# Rows and columns that share a scale in FP8 checkpoints.
FP8_BLOCK: Final = 128
LORA_RANK: Final = 16


def parallel_settings(plan: Plan, job: Job, flags: VersionFlags) -> Iterator[Setting]:
    tensor, pipeline = plan.engine.tensor_parallel, plan.engine.pipeline_parallel
    if tensor > 1:
        latent = any(isinstance(store, TokenStore) and store.per_rank for store in job.shape.stores())
        yield from flags.setting(
            "--tensor-parallel-size",
            tensor,
            why=f"{tensor} GPUs share every layer: {units.gib(job.weights.size_bytes / tensor / pipeline)} of weights on each."
            + (
                f" The latent cache is not divided: each GPU keeps all of it. --decode-context-parallel-size {tensor} would share its tokens."
                if latent
                else ""
            ),
            breaks="It must divide the attention heads; vLLM takes the first GPUs, busy or not.",
            source="tensor_parallel",
        )
    if pipeline > 1:
        yield from flags.setting(
            "--pipeline-parallel-size",
            pipeline,
            why=f"{pipeline} groups of GPUs hold consecutive layers, {len(plan.model.shape.layers)} in all.",
            breaks="The GPUs needed are this times the tensor-parallel size.",
            source="pipeline_parallel",
        )
    columns = job.shape.feed_forward.expert_intermediate_size
    if needs_whole_experts(job.shape, tensor):
        yield from flags.setting(
            "--enable-expert-parallel",
            None,
            why=f"Whole experts on each GPU: {columns:,} columns over {tensor} GPUs are {columns / tensor:g} each, no multiple of the {FP8_BLOCK} "
            "that share a scale in an FP8 checkpoint.",
            breaks="Without it vLLM refuses to start.",
            source="tensor_parallel",
        )


def needs_whole_experts(shape: ModelShape, ranks: int) -> bool:
    """Whether slices of an FP8 checkpoint's experts would cut its blocks of scales.

    Source: vLLM model_executor/layers/quantization/fp8.py, Fp8MoEMethod.create_weights.
    """
    feed = shape.feed_forward
    return shape.quantization == "fp8" and ranks > 1 and feed.experts > 0 and feed.expert_intermediate_size % (ranks * FP8_BLOCK) > 0


def part_settings(plan: Plan, job: Job, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    yield from _adapters_of(plan, flags)
    yield from _eyes(job, flags)
    yield from _format(plan, job, place, flags)


def _adapters_of(plan: Plan, flags: VersionFlags) -> Iterator[Setting]:
    count, slots = plan.request.adapters, plan.fit.slots
    if not count:
        return
    together = min(count, slots)
    yield from flags.setting(
        "--enable-lora", None, why=f"You serve {_count(count)} over one model; each is a model name of its own.", source="adapters"
    )
    yield from flags.setting(
        "--max-loras",
        together,
        why=f"{_count(together)} in one pass: "
        + (
            "all of them, so that none waits for another."
            if together == count
            else f"one for each of the {slots} slots is the most there can be."
        ),
        breaks="Fewer: a request with another adapter waits until one is free. More: memory is set aside for them at the start.",
        source="adapters",
    )
    yield from flags.setting(
        "--max-lora-rank",
        LORA_RANK,
        why="The largest rank of your adapters, which the plan does not know: r in their adapter_config.json.",
        breaks="Smaller than an adapter's rank: it is refused. Larger: every adapter takes the memory of that rank.",
        source="adapters",
    )
    if count > together:
        yield from flags.setting(
            "--max-cpu-loras",
            count,
            why=f"All {count:,} adapters stay in main memory, ready for the GPU.",
            breaks="Fewer: an adapter is read from the disk again when its turn comes.",
            source="adapters",
        )
    names = _adapters.names(plan)
    if names:
        first, *more = [f"{name}={_adapters.path(HOME, name)}" for name in names]
        yield from flags.setting(
            "--lora-modules",
            first,
            more=tuple(more),
            why="The name that clients ask for, and its folder.",
            breaks="A folder that is not there stops the start.",
            source="adapters",
        )


def _count(adapters: int) -> str:
    return "one adapter" if adapters == 1 else f"{adapters:,} adapters"


def _eyes(job: Job, flags: VersionFlags) -> Iterator[Setting]:
    if not job.shape.has_vision or job.images:
        return
    none = {"image": 0, "video": 0, **({"audio": 0} if job.shape.has_audio else {})}
    yield from flags.setting(
        "--limit-mm-per-prompt",
        json.dumps(none, separators=(",", ":")),
        why="You serve text only: the vision encoder is not profiled at the start, and its memory goes to the cache.",
        breaks="Left out, vLLM keeps room for images in every prompt, and fewer conversations fit than planned.",
        source="images",
    )


def _format(plan: Plan, job: Job, place: Place, flags: VersionFlags) -> Iterator[Setting]:
    """Weights that vLLM itself turns into FP8 while it loads them."""
    if format_elsewhere(plan, job, place) == "FP8":
        yield from flags.setting(
            "--quantization",
            "fp8",
            why=f"You asked for FP8 weights and the checkpoint has {checkpoint_format(job.shape)}: vLLM converts them while loading, to "
            f"{units.gib(job.weights.size_bytes)}.",
            breaks="Left out, the weights are loaded as they are and take twice the memory.",
            source="weights_quant",
        )


def format_elsewhere(plan: Plan, job: Job, place: Place) -> str:
    """The weight format that was asked for where the model's own repository has another; "" where it has this one, or a path is given."""
    asked = plan.request.weights_quant
    same = not asked or place.path is not None or plan.request.model_path or job.weights.format == checkpoint_format(job.shape)
    return "" if same else job.weights.format


def format_remarks(plan: Plan, job: Job, place: Place) -> tuple[Remark, ...]:
    wanted = format_elsewhere(plan, job, place)
    if wanted in {"", "FP8"}:
        return ()
    return (
        Remark(
            "weights_elsewhere",
            f"The plan counts with {wanted} weights, but {place.model} has {checkpoint_format(job.shape)}: name the repository or folder that has "
            "them as the model path.",
            "model_path",
        ),
    )
