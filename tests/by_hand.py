"""Plans built by hand, so that what is handed over is tested without the arithmetic that leads to it. Figures are plausible, not computed."""

from dataclasses import replace
from typing import Any

from planner.core.attention.stores import TokenStore
from planner.core.engines.contract import Expectation, ExpectedLine, Job
from planner.core.hardware import Device, Node
from planner.core.model_shape import FeedForward, Layer, ModelShape
from planner.core.plan import (
    Cache,
    CacheGroup,
    EngineChoice,
    Fit,
    MemoryBudget,
    MemoryLine,
    Model,
    Plan,
    SlotTrade,
    Speed,
    Workload,
)
from planner.core.request import PlanRequest
from planner.core.units import GIB, MIB
from planner.core.weights import Weights

NEWEST = {"vllm": "0.33.0", "llama-server": "b11434", "ollama": "0.33.0"}
TITLES = {"vllm": "vLLM", "llama-server": "llama-server", "ollama": "Ollama"}

RTX_4090 = Device(
    slug="rtx-4090", name="RTX 4090", vendor="NVIDIA", device_class="consumer", memory_bytes=24_564 * MIB, memory_grade="measured"
)
MI300X = Device(slug="mi300x", name="MI300X", vendor="AMD", device_class="datacenter", memory_bytes=191 * GIB, memory_grade="measured")
CPU = Device(slug="cpu", name="CPU", vendor="CPU", device_class="cpu", memory_bytes=8 * GIB, memory_grade="user")
QWEN3_8B = ModelShape(
    model_type="qwen3",
    architecture="Qwen3ForCausalLM",
    layers=(Layer("full", (TokenStore("full", heads=8, key_dim=128, value_dim=128),)),) * 36,
    hidden_size=4096,
    vocab_size=151_936,
    attention_heads=32,
    max_context=40_960,
    dtype="bfloat16",
    feed_forward=FeedForward(12_288),
    head_dim=128,
)


class PrintsOneLine:
    """An engine of which only the start-up line is asked."""

    def expect(self, _job: Job, slots: int) -> Expectation:
        return Expectation(values={}, lines=(ExpectedLine(f"cache for {slots} slots", "The cache is as large as planned."),))


def plan(
    engine_name: str,
    *,
    version: str | None = None,
    node: Node | None = None,
    slots: int = 4,
    needed: int = 6,
    context: int = 8192,
    model: str = "Qwen/Qwen3-8B",
    revision: str | None = None,
    weight_bytes: int = 16_381_470_720,
    weight_format: str = "BF16",
    cache_type: str = "auto",
    batch_tokens: int = 2048,
    tensor_parallel: int = 1,
    bytes_per_sequence: int = 0,
    shape: ModelShape = QWEN3_8B,
    **asked: Any,
) -> tuple[Plan, Job]:
    """A plan and the job it is for. `asked` are further fields of the request."""
    node = node or Node((RTX_4090,))
    version = version or NEWEST[engine_name]
    request = PlanRequest(model=model, context=context, engine=engine_name, cache_type=cache_type, **asked)
    weights = Weights(weight_bytes, weight_bytes, weight_format, "exact", "given", weight_bytes, weight_bytes)
    default = {"vllm": "bfloat16", "llama-server": "f16", "ollama": "f16"}[engine_name]
    used = default if cache_type == "auto" else cache_type
    job = Job(
        shape=shape,
        weights=weights,
        node=node,
        context_tokens=context,
        version=version,
        cache_type_k=cache_type,
        cache_type_v=cache_type,
        batch_tokens=batch_tokens,
        tensor_parallel=tensor_parallel,
    )
    request_bytes = 147_456 * context + bytes_per_sequence
    total = node.device.memory_bytes
    usable = int(total * 0.92) if engine_name == "vllm" else total
    per_card = weight_bytes // max(1, tensor_parallel)
    pool = max(0, usable - per_card - GIB)
    lines = (
        MemoryLine("Reserved", "reserved", total - usable, "Left to others.", "exact", "test"),
        MemoryLine("Weights", "weights", per_card, "The model.", "exact", "test"),
        MemoryLine("Overhead", "overhead", GIB, "To work in.", "estimated", "test"),
        MemoryLine("Cache", "cache", min(pool, slots * request_bytes), "The slots.", "computed", "test"),
        MemoryLine("Free", "free", max(0, pool - slots * request_bytes), "What remains.", "computed", "test"),
    )
    made = Plan(
        request=request,
        model=Model(model, revision, shape, None, "catalogue"),
        node=node,
        engine=EngineChoice(
            name=engine_name,
            title=TITLES[engine_name],
            version=version,
            why="You chose it.",
            cache_type_k=used,
            cache_type_v=used,
            tensor_parallel=tensor_parallel,
            pipeline_parallel=1,
            memory_utilization=0.92 if engine_name == "vllm" else None,
            batch_tokens=batch_tokens,
            batch_tokens_why=f"A pass of {batch_tokens:,} prompt tokens takes about 0.4 s at 5,000 tokens/s (estimated), within your limit of 1 s.",
        ),
        cache=Cache(
            type_k=used,
            type_v=used,
            bytes_per_token=147_456,
            bytes_per_sequence=bytes_per_sequence,
            request_bytes=request_bytes,
            reserved_bytes=slots * request_bytes,
            groups=(CacheGroup("full", 36, 147_456, None, 0),),
            working=("2 × 36 layers × 8 KV heads × 128 × 2 B = 147,456 B",),
        ),
        memory=MemoryBudget(total, usable, lines, pool, pool // 147_456),
        workload=Workload(20, 12.0, 90.0, 2.667, 5, 7, (), always_in_flight=False),
        fit=Fit(
            slots=slots,
            slots_needed=needed,
            slots_that_fit=slots,
            context_per_slot=context,
            verdict="fits" if slots > needed else "tight",
            limit="memory" if slots < needed else "users",
            inequality=f"{slots + 1} × 1.125 GiB > {pool / GIB:.2f} GiB",
            chosen=SlotTrade(slots, 0.29, 1.8),
            trades=(),
            max_queue=10,
            max_queue_why="Number 10 in the queue starts after about 30 s, within the 30 s people are ready to wait.",
        ),
        speed=Speed(None, None, measured=False, ttft_seconds=None, itl_seconds=None, pause_seconds=None),
        scenarios=(),
        alternatives=(),
        remarks=(),
    )
    return made, job


def with_model(made: Plan, model: str) -> Plan:
    return replace(made, model=replace(made.model, id=model))
