"""What a vLLM plan's reader must know beside its numbers, each with the sentence that says what to do."""

from collections.abc import Iterator

from planner.core.engines.contract import Job
from planner.core.engines.vllm.budget import Account
from planner.core.engines.vllm.defaults import compute_capability
from planner.core.plan import Remark
from planner.core.units import percent, size


def remarks(job: Job, figures: Account) -> tuple[Remark, ...]:
    return (*_command(job, figures), *_hardware(figures), *_cache(job, figures), *_parallel(job, figures))


def _command(job: Job, figures: Account) -> Iterator[Remark]:
    serving = figures.serving
    if any(word.partition("=")[0] == "--config" for word in job.engine_args):
        yield Remark("config_file", "What stands in the file of --config is not seen here: paste its values as flags.", "engine_args")
    if serving.drafts_with_other or (serving.drafts_with_model and not job.shape.draft_layers):
        yield Remark(
            "draft_model",
            "The draft model's own layers and weights are not counted, because its configuration is not part of this plan: it makes every block "
            "larger, so expect fewer of them.",
            "engine_args",
        )
    longest = job.shape.max_context
    if longest and serving.max_model_len > longest:
        yield Remark(
            "beyond_model",
            f"--max-model-len {serving.max_model_len:,} is beyond the {longest:,} tokens the model was made for: vLLM refuses it unless "
            "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set.",
            "engine_args",
        )
    if job.context_tokens > serving.max_model_len:
        yield Remark(
            "context_above_max_model_len",
            f"The command line stops at {serving.max_model_len:,} tokens: conversations of {job.context_tokens:,} are refused by the server.",
            "engine_args",
        )


def _hardware(figures: Account) -> Iterator[Remark]:
    serving, device = figures.serving, figures.serving.device
    capability = compute_capability(device)
    if serving.cache_type.element_bytes == 1 and capability is not None and capability < (8, 9):
        yield Remark(
            "fp8_cache",
            f"{device.name} has no FP8 of its own: vLLM's Triton attention refuses an FP8 cache there and other back ends emulate it. "
            "If the start fails, keep the cache at 16 bits.",
            "cache_type",
        )
    if device.vendor not in {"NVIDIA", "AMD", "other"}:
        yield Remark("vllm_platform", f"vLLM's support for {device.name} is a plugin of its own, whose memory rules may differ.", "engine")
    if device.available_bytes is not None and figures.usable_bytes > device.available_bytes:
        fitting = device.available_bytes / device.memory_bytes
        yield Remark(
            "unified_memory",
            f"{device.name} shares its memory with the system: {size(device.available_bytes)} of {size(device.memory_bytes)} are free after boot, "
            f"and vLLM refuses to start when its share is not free. Set --gpu-memory-utilization to {fitting:.2f} or less.",
            "memory_utilization",
        )
    if serving.blackwell and any(store.kind == "latent" for store in serving.shape.stores()):
        yield Remark(
            "latent_block_size",
            "On this card the block size follows the attention back end that is installed: 128 with CUTLASS, 32 or 64 with FlashInfer.",
        )


def _cache(job: Job, figures: Account) -> Iterator[Remark]:
    serving, layout = figures.serving, figures.pool.layout
    held, reserved = layout.held_blocks(job.context_tokens), layout.reserved_blocks(job.context_tokens)
    if serving.hybrid:
        yield Remark(
            "state_blocks",
            f"Every conversation holds whole blocks of {layout.block_size:,} tokens for its recurrent layers, so that short ones cost as much "
            "as one block each; the scratch memory of their prefill is not counted by vLLM's profiling and comes out of the slack.",
        )
        if serving.seqs_given and serving.cuda_graphs and serving.max_num_seqs > figures.pool.num_blocks:
            yield Remark(
                "state_blocks_limit",
                f"--max-num-seqs {serving.max_num_seqs:,} exceeds the {figures.pool.num_blocks:,} blocks there are for states, so vLLM refuses to "
                "start with CUDA graphs: lower it.",
                "engine_args",
            )
    if reserved > held and not serving.hybrid:
        yield Remark(
            "window_reserve",
            f"vLLM reserves {reserved:,} blocks for a request while its tokens are in flight and {held:,} once it decodes: the concurrency "
            "it prints counts the first, the slots here the second. Fewer --max-num-batched-tokens raise its figure.",
        )
    if serving.compressed and not serving.rules.one_line:
        yield Remark(
            "compressed_release", "Compressed caches are counted by the rules of 0.28 and later; this release may differ.", "engine_version"
        )


def _parallel(job: Job, figures: Account) -> Iterator[Remark]:
    serving = figures.serving
    if serving.data_parallel_size > 1:
        yield Remark(
            "data_parallel",
            f"Each of the {serving.data_parallel_size} data-parallel engines has a cache and slots of its own: the figures are for one of them.",
            "engine_args",
        )
    used = serving.tensor_parallel_size * serving.pipeline_parallel_size * serving.data_parallel_size
    if used < len(job.node.devices):
        yield Remark("idle_devices", f"{used} of {len(job.node.devices)} GPUs are used by these parallel sizes.", "tensor_parallel")
    if not figures.weights_bytes < figures.usable_bytes:
        yield Remark(
            "weights_too_large",
            f"The weights alone ({size(figures.weights_bytes)} per GPU) exceed the {percent(serving.gpu_memory_utilization)} of the card "
            "that vLLM may use.",
            "weights_size",
        )
