"""The vLLM engine as the planner sees it: checks, cache sizes, budget, slots, and the start-up lines to expect."""

from dataclasses import replace
from functools import cache, lru_cache
from math import ceil

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.contract import Capacity, Expectation, HandOver, Job, Room, StartUp, Stored
from planner.core.engines.vllm.arguments import parse
from planner.core.engines.vllm.budget import Account, account, budget_of, free_bytes, offloaded_bytes
from planner.core.engines.vllm.capacity import layout_of
from planner.core.engines.vllm.defaults import has_fp8_cache
from planner.core.engines.vllm.expect import expectation
from planner.core.engines.vllm.hand_over import hand_over
from planner.core.engines.vllm.parallel import arrangement, check_sizes
from planner.core.engines.vllm.remarks import remarks
from planner.core.engines.vllm.rows import row_bytes, state_bytes
from planner.core.engines.vllm.serving import Serving, data_parallel, settle
from planner.core.engines.vllm.specs import cached_layers
from planner.core.engines.vllm.start_up import VllmStartUp
from planner.core.engines.vllm.versions import VERSIONS
from planner.core.errors import InputError
from planner.core.hardware import Device
from planner.core.model_shape import ModelShape
from planner.core.plan import MemoryBudget, Plan
from planner.core.spill import Spill
from planner.core.units import size


class Vllm:
    """See `engines.contract.Engine` for what each method answers."""

    name = "vllm"
    title = "vLLM"
    versions: tuple[str, ...] = VERSIONS
    serves_gguf = False
    sets_batch = True
    start_up: StartUp = VllmStartUp()

    def eight_bit_cache(self, device: Device) -> str | None:
        """FP8, where the device has the arithmetic: see `defaults.has_fp8_cache`."""
        return "fp8" if has_fp8_cache(device) else None

    def parallel_sizes(self, job: Job, *, tensor: int | None, pipeline: int | None) -> tuple[int, int]:
        """What the command line or the user says; the rest so that it uses most of the GPUs of one engine."""
        given = parse(job.engine_args)
        tensor, pipeline = given.tensor_parallel_size or tensor, given.pipeline_parallel_size or pipeline
        if tensor:
            return tensor, pipeline or 1
        here = max(1, data_parallel(given)[1])
        return arrangement(job.shape, max(1, len(job.node.devices) // here), pipeline=pipeline)

    def check(self, job: Job) -> None:
        serving = settle(job)
        if not job.node.has_gpu:
            raise InputError("vLLM is planned for GPUs here: choose one, or llama-server for a machine without.", field="engine")
        if _is_rwkv(job.shape):
            raise InputError("vLLM does not serve RWKV models: choose llama-server.", field="engine")
        makers = dict.fromkeys(device.vendor for device in job.node.devices)
        if len(makers) > 1:
            raise InputError(
                f"One vLLM cannot use cards of {' and '.join(makers)} together: choose llama-server, or name one kind.", field="device"
            )
        check_sizes(serving, devices=len(job.node.devices))
        layout_of(serving)

    def cache_types(self, job: Job) -> tuple[str, str]:
        cache_type = settle(job).cache_type
        name = cache_type.model_dtype if cache_type.name == "auto" else cache_type.name
        return name, name

    def default_batch_tokens(self, job: Job) -> int:
        return settle(replace(job, batch_tokens=None)).max_num_batched_tokens

    def stated_batch_tokens(self, job: Job) -> int | None:
        return parse(job.engine_args).max_num_batched_tokens

    def stored(self, job: Job) -> tuple[tuple[Stored, ...], ...]:
        whole = _whole_model(settle(job))
        return tuple(
            tuple(
                (store, row_bytes(store, whole, layer, index) if isinstance(store, TokenStore) else state_bytes(store, whole))
                for store in layer.stores
            )
            for index, layer in enumerate(cached_layers(whole))
        )

    def request_bytes(self, job: Job) -> int:
        """Pages one decoding request holds, each layer counted once (not once per rank that keeps a copy)."""
        return _request_bytes(settle(job), job.context_tokens)

    def reserved_bytes(self, job: Job, slots: int) -> int:
        """Blocks of the pool that the engine counts for `slots` requests, padding included."""
        layout = layout_of(_whole_model(settle(job, slots)))
        return slots * layout.reserved_blocks(job.context_tokens) * layout.stage_block_bytes[0]

    def budget(self, job: Job, slots: int) -> MemoryBudget:
        return budget_of(job, slots)

    def stated(self, job: Job) -> tuple[int | None, int | None]:
        given = parse(job.engine_args)
        engines = data_parallel(given)[0]
        length = account(job, given.max_num_seqs or 1).serving.max_model_len if given.max_model_len == -1 else given.max_model_len
        return given.max_num_seqs and given.max_num_seqs * engines, length

    def free_bytes(self, job: Job, slots: int) -> int:
        return free_bytes(job, slots)

    def room(self, job: Job) -> Room:
        fitting, figures = _most(job, job.context_tokens)
        return _room(job, figures, fitting)

    def capacity(self, job: Job) -> Capacity:
        """The most slots whose conversations fit, all full to the job's context, over all data-parallel engines."""
        fitting, figures = _most(job, job.context_tokens)
        return _capacity(job, figures, fitting)

    def spilled(self, job: Job, slots: int) -> Spill | None:
        if not parse(job.engine_args).cpu_offload_gb:
            return None
        serving, weights = settle(job, slots), job.weights
        offloaded = offloaded_bytes(job, serving)
        # The part of it that a token reads is not known: the same share as of all weights.
        return Spill(offloaded * weights.active_bytes // weights.size_bytes, 0.0, over_bus=True) if offloaded else None

    def slots_at(self, job: Job, slots: int, tokens: int) -> int:  # noqa: ARG002 - the pool is shared, whatever the slots
        fitting, figures = _most(job, tokens)
        return min(fitting, figures.serving.max_num_seqs) * figures.serving.data_parallel_size

    def warm_conversations(self, job: Job, slots: int, tokens: int) -> int:
        """Histories that the prefix cache holds: the pool without the null block ÷ the blocks of one, in every engine."""
        figures = account(job, max(1, slots))
        if not figures.serving.enable_prefix_caching:
            return 0
        held = figures.pool.layout.held_blocks(tokens)
        return max(0, figures.pool.num_blocks - 1) // max(1, held) * figures.serving.data_parallel_size

    def expect(self, job: Job, slots: int) -> Expectation:
        return expectation(account(job, max(1, slots)), job.weights)

    def hand_over(self, plan: Plan, job: Job) -> HandOver:
        return hand_over(plan, job, self)


@lru_cache(maxsize=64)
def _is_rwkv(shape: ModelShape) -> bool:
    return any(isinstance(store, StateStore) and store.kind == "rwkv" for store in shape.stores())


@lru_cache(maxsize=1024)
def _request_bytes(serving: Serving, tokens: int) -> int:
    return layout_of(_whole_model(serving)).held_page_bytes(tokens)


def _whole_model(serving: Serving) -> Serving:
    """The same server as if one GPU held everything."""
    return replace(serving, tensor_parallel_size=1, pipeline_parallel_size=1, decode_context_parallel_size=1)


def _most(job: Job, tokens: int) -> tuple[int, Account]:
    """The most requests of `tokens` tokens that one engine bears with `max_num_seqs` set to them, and the account with them.

    More sequences take more memory for sampling, so the answer is the largest number that still holds itself.
    """
    engines = settle(job).data_parallel_size

    @cache
    def figures(sequences: int) -> Account:
        return account(job, sequences * engines)

    low, high = 0, figures(1).pool.requests(tokens)
    tried = high
    while low < high:
        held = figures(tried).pool.requests(tokens)
        # Where as many are too many, those that they leave room for are not.
        low, high = (tried, high) if held >= tried else (max(low, held), tried - 1)
        tried = (low + high + 1) // 2
    return low, figures(max(1, low))


def _room(job: Job, figures: Account, fitting: int) -> Room:
    serving = figures.serving
    if _lacks_share(job, serving):
        return Room(0, "memory")
    slots = min(fitting, serving.max_num_seqs) if job.context_tokens <= serving.max_model_len else 0
    return Room(slots * serving.data_parallel_size, "engine" if slots < fitting else "memory")


def _capacity(job: Job, figures: Account, fitting: int) -> Capacity:
    pool, layout, tokens = figures.pool, figures.pool.layout, job.context_tokens
    one_more = fitting + 1
    inequality = (
        f"{size(max(0, figures.pool_bytes))} ÷ {pool.block_bytes:,} B = {pool.num_blocks:,} blocks, one of them unused; "
        f"{fitting} × {tokens:,} tokens take {layout.blocks_of(fitting, tokens):,}, {one_more} would take {layout.blocks_of(one_more, tokens):,}"
    )
    if figures.pool_bytes <= 0:
        work = figures.usable_bytes - figures.pool_bytes - figures.weights_bytes
        inequality = (
            f"{size(figures.weights_bytes)} of weights and {size(work)} to work in, but vLLM may use {size(figures.usable_bytes)} of "
            f"{job.node.devices[figures.card].name}: nothing is left for the cache, so vLLM does not start"
        )
    elif not pool.starts:
        need = layout.reserved_blocks(figures.serving.max_model_len)
        inequality += f"; a request of {figures.serving.max_model_len:,} tokens alone needs {need:,}, so vLLM does not start"
    engines = figures.serving.data_parallel_size
    if engines > 1:
        inequality += f", in each of {engines} engines"
    if _lacks_share(job, figures.serving):
        inequality = _share_taken(job, figures.serving)
    room = _room(job, figures, fitting)
    return Capacity(room.slots, room.limit, f"{inequality}.", remarks(job, figures))


def _lacks_share(job: Job, serving: Serving) -> bool:
    """Whether others keep a part of the share that was asked for: vLLM then does not start."""
    total, others = job.node.devices[0].memory_bytes, job.node.others_bytes(0)
    return bool(others) and serving.kv_cache_memory_bytes is None and ceil(total * serving.gpu_memory_utilization) > total - others


def _share_taken(job: Job, serving: Serving) -> str:
    total, others = job.node.devices[0].memory_bytes, job.node.others_bytes(0)
    share = ceil(total * serving.gpu_memory_utilization)
    return (
        f"{serving.gpu_memory_utilization:g} × {size(total)} = {size(share)} must be free at the start, but others keep {size(others)} of the "
        "card, so vLLM does not start"
    )


ENGINE = Vllm()
