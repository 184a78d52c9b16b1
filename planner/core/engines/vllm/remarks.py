"""What a vLLM plan's reader must know beside its numbers, each with the sentence that says what to do."""

from collections.abc import Iterator

from planner.core.engines.contract import Job
from planner.core.engines.vllm.budget import Account, offloaded_bytes
from planner.core.engines.vllm.defaults import compute_capability
from planner.core.engines.vllm.parallel import refusal, sizes_words, stage_of
from planner.core.plan import Remark
from planner.core.units import percent, size


def remarks(job: Job, figures: Account) -> tuple[Remark, ...]:
    return (*_command(job, figures), *_hardware(job, figures), *_free(job, figures), *_cache(job, figures), *_parallel(job, figures))


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


def _hardware(job: Job, figures: Account) -> Iterator[Remark]:
    serving, device = figures.serving, job.node.device
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
    if serving.blackwell and any(store.kind == "latent" for store in serving.shape.stores()):
        yield Remark(
            "latent_block_size",
            "On this card the block size follows the attention back end that is installed: 128 with CUTLASS, 32 or 64 with FlashInfer.",
        )


def _free(job: Job, figures: Account) -> Iterator[Remark]:
    """Memory that is not free when vLLM starts."""
    device, free = job.node.devices[figures.card], job.node.free_bytes(figures.card)
    if device.shares_memory or device.system_bytes:
        yield Remark(
            "unified_memory",
            f"{device.name} shares its memory with the system, and files that were just read (the page cache) count as used there: the share "
            "says what vLLM takes of what is free, not what the machine ends up with. Before the start, drop it: "
            "sync; echo 3 > /proc/sys/vm/drop_caches.",
            "memory_utilization",
        )
    if figures.serving.kv_cache_memory_bytes is None and figures.usable_bytes > free:
        yield Remark(
            "share_not_free",
            f"{percent(figures.serving.gpu_memory_utilization)} of {device.name} are {size(figures.usable_bytes)}, but only {size(free)} are free "
            f"at the start: vLLM then refuses to start. Set --gpu-memory-utilization below {free / device.memory_bytes:.2f}.",
            "memory_utilization",
        )
    needed, ram = offloaded_bytes(job, figures.serving) * figures.serving.data_parallel_here, job.node.ram_bytes
    if needed and ram is not None and needed > ram:
        yield Remark(
            "offload_beyond_ram",
            f"--cpu-offload-gb puts {size(needed)} into {size(ram)} of RAM: the rest would be swapped, and every token would wait for the disk.",
            "ram",
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
            f"Each of the {serving.data_parallel_size} data-parallel engines has a cache and slots of its own: the slots here are those of all, "
            "the memory and the start-up lines those of one, and --max-num-seqs is for one.",
            "engine_args",
        )
    ranks, parts, there = serving.tensor_parallel_size, serving.pipeline_parallel_size, len(job.node.devices)
    used = ranks * parts * serving.data_parallel_here
    group = there // max(1, serving.data_parallel_here)
    why = refusal(job.shape, group) if group > 1 else None
    if why and ranks < group:
        idle = f" {there - used} of {there} GPUs are idle." if used < there else ""
        stages = f" × {parts} pipeline stages, which work one after another" if parts > 1 else ""
        yield Remark(
            "parallel_sizes",
            f"{group} GPUs cannot be one tensor-parallel group: {why}. {sizes_words(job.shape, group)} This plan has {ranks}{stages}.{idle}",
            "tensor_parallel",
        )
    elif used < there:
        yield Remark("idle_devices", f"{used} of {there} GPUs are used by these parallel sizes.", "tensor_parallel")
    yield from _unequal(job, figures)
    if not figures.weights_bytes < figures.usable_bytes:
        yield Remark(
            "weights_too_large",
            f"The weights alone ({size(figures.weights_bytes)} per GPU) exceed the {percent(serving.gpu_memory_utilization)} of the card "
            "that vLLM may use.",
            "weights_size",
        )


def _unequal(job: Job, figures: Account) -> Iterator[Remark]:
    """Cards of several kinds: ranks hold equal parts, whatever the card."""
    devices, serving = job.node.devices, figures.serving
    used = [device for index, device in enumerate(devices) if stage_of(serving, index) is not None]
    if len(set(used)) == 1:
        return
    smallest = devices[figures.card]
    unused = {
        device.name: int((device.memory_bytes - smallest.memory_bytes) * serving.gpu_memory_utilization)
        for device in used
        if device.memory_bytes > smallest.memory_bytes
    }
    if unused and serving.pipeline_parallel_size == 1:
        left = ", ".join(f"{size(size_bytes)} on each {name}" for name, size_bytes in unused.items())
        yield Remark("unequal_cards", f"vLLM splits evenly, so {smallest.name} decides: {left} stay unused.", "device")
    elif unused:
        yield Remark(
            "unequal_cards", f"Every stage has as many cache blocks as the one with the least room: {smallest.name} decides.", "device"
        )
    generations = dict.fromkeys(device.compute_capability for device in used if device.compute_capability)
    if len(generations) > 1:
        yield Remark(
            "mixed_generations",
            f"Cards of different generations ({', '.join(generations)}) work in step: the slowest sets the pace, and formats that one of them "
            "lacks fail. Set CUDA_DEVICE_ORDER=PCI_BUS_ID, so that their order is the one you named.",
            "device",
        )
