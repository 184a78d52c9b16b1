"""Models as llama.cpp reads them: GGUF metadata with the keys that decide memory, and jobs for them."""

from typing import Final

from planner.core.accuracy.shapes import gguf
from planner.core.engines.contract import Job
from planner.core.hardware import Device, Node
from planner.core.model_shape import ModelShape
from planner.core.readers.gguf_shape import read_gguf_shape
from planner.core.units import GIB
from planner.core.weights import Weights


def heads(key: int, value: int | None = None) -> dict[str, object]:
    return {"attention__key_length": key, "attention__value_length": key if value is None else value}


def latent(arch: str, layers: int, hidden: int, query_heads: int, kv: int | list[int] = 1, **more: object) -> dict[str, object]:
    mla = {"attention__kv_lora_rank": 512, "attention__key_length_mla": 192, "attention__value_length_mla": 128}
    return gguf(arch, layers, hidden, query_heads, kv, **heads(576, 512), **mla, **more)


def some(count: int, at: range | set[int], value: int) -> list[int]:
    """`value` at the layers in `at`, 0 elsewhere."""
    return [value if layer in at else 0 for layer in range(count)]


QWEN3_8B: Final = gguf("qwen3", 36, 4096, 32, 8, feed_forward_length=12_288, vocab_size=151_936, context_length=40_960, **heads(128))
LLAMA_8B: Final = gguf("llama", 32, 4096, 32, 8, feed_forward_length=14_336, vocab_size=128_256)
GEMMA_3_4B: Final = gguf("gemma3", 34, 2560, 8, 4, attention__sliding_window=1024, vocab_size=262_208, **heads(256))
GPT_OSS_20B: Final = gguf("gpt-oss", 24, 2880, 64, 8, attention__sliding_window=128, vocab_size=201_088, **heads(64))
DEEPSEEK_V3: Final = latent("deepseek2", 61, 7168, 128)
QWEN35_35B: Final = gguf(
    "qwen35moe", 40, 2048, 16, 2, vocab_size=248_320, context_length=262_144, full_attention_interval=4, ssm__conv_kernel=4,
    ssm__inner_size=4096, ssm__state_size=128, ssm__time_step_rank=32, ssm__group_count=16,
    expert_count=256, expert_used_count=8, expert_feed_forward_length=512, **heads(256),
)  # fmt: skip


def card(gib: float = 80, name: str = "card") -> Device:
    return Device(name, name, "NVIDIA", "custom", round(gib * GIB), "user")


def cpu(gib: float) -> Node:
    return Node((Device("cpu", "CPU", "CPU", "cpu", round(gib * GIB), "user"),), round(gib * GIB))


def weights(gib: float, active: float | None = None) -> Weights:
    size, read = round(gib * GIB), round((gib if active is None else active) * GIB)
    return Weights(size, read, "Q4_K_M", "measured", "a file", size, size)


def job(
    metadata: dict[str, object] | ModelShape, args: str = "", *, node: Node | None = None, gib: float = 1, active: float | None = None,
    context: int = 8192, version: str = "b11434", cache: str = "auto",
) -> Job:  # fmt: skip
    shape = metadata if isinstance(metadata, ModelShape) else read_gguf_shape(metadata)
    return Job(
        shape=shape,
        weights=weights(gib, active),
        node=node or Node((card(),)),
        context_tokens=context,
        version=version,
        cache_type_k=cache,
        cache_type_v=cache,
        engine_args=tuple(args.split()),
    )
