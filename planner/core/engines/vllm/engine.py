"""The vLLM engine as the planner sees it: checks, cache sizes, budget, slots, and the start-up lines to expect."""

from dataclasses import replace

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.contract import Capacity, Expectation, HandOver, Job
from planner.core.engines.vllm.arguments import parse
from planner.core.engines.vllm.budget import Account, account, budget_of
from planner.core.engines.vllm.capacity import layout_of
from planner.core.engines.vllm.expect import expectation
from planner.core.engines.vllm.hand_over import hand_over
from planner.core.engines.vllm.parallel import check_sizes
from planner.core.engines.vllm.remarks import remarks
from planner.core.engines.vllm.rows import row_bytes, state_bytes
from planner.core.engines.vllm.serving import Serving, settle
from planner.core.engines.vllm.specs import cached_layers
from planner.core.engines.vllm.versions import VERSIONS
from planner.core.errors import InputError
from planner.core.model_shape import Layer
from planner.core.plan import MemoryBudget, Plan
from planner.core.units import size


class Vllm:
    """See `engines.contract.Engine` for what each method answers."""

    name = "vllm"
    title = "vLLM"
    versions: tuple[str, ...] = VERSIONS
    eight_bit_cache = "fp8"
    serves_gguf = False
    splits_tensors = True

    def check(self, job: Job) -> None:
        serving = settle(job)
        if not job.node.has_gpu:
            raise InputError("vLLM is planned for GPUs here: choose one, or llama-server for a machine without.", field="engine")
        if any(isinstance(store, StateStore) and store.kind == "rwkv" for store in job.shape.stores()):
            raise InputError("vLLM does not serve RWKV models: choose llama-server.", field="engine")
        check_sizes(serving, devices=len(job.node.devices))
        layout_of(serving)

    def cache_types(self, job: Job) -> tuple[str, str]:
        cache_type = settle(job).cache_type
        name = cache_type.model_dtype if cache_type.name == "auto" else cache_type.name
        return name, name

    def default_batch_tokens(self, job: Job) -> int:
        return settle(replace(job, batch_tokens=None)).max_num_batched_tokens

    def layers(self, job: Job) -> tuple[Layer, ...]:
        return cached_layers(settle(job))

    def row_bytes(self, job: Job, layer: int, store: TokenStore) -> int:
        whole = _whole_model(settle(job))
        return row_bytes(store, whole, cached_layers(whole)[layer], layer)

    def state_bytes(self, job: Job, store: StateStore) -> int:
        return state_bytes(store, _whole_model(settle(job)))

    def request_bytes(self, job: Job) -> int:
        """Pages one decoding request holds, each layer counted once (not once per rank that keeps a copy)."""
        return layout_of(_whole_model(settle(job))).held_page_bytes(job.context_tokens)

    def reserved_bytes(self, job: Job, slots: int) -> int:
        """Blocks of the pool that the engine counts for `slots` requests, padding included."""
        layout = layout_of(_whole_model(settle(job, slots)))
        return slots * layout.reserved_blocks(job.context_tokens) * layout.stage_block_bytes[0]

    def budget(self, job: Job, slots: int) -> MemoryBudget:
        return budget_of(job, slots)

    def stated(self, job: Job) -> tuple[int | None, int | None]:
        given = parse(job.engine_args)
        return given.max_num_seqs, given.max_model_len

    def capacity(self, job: Job) -> Capacity:
        """The most slots whose conversations fit, all full to the job's context, with `max_num_seqs` set to them.

        More sequences take more memory for sampling, so the answer is the largest number that still holds itself.
        """
        low, high = 0, account(job, 1).pool.requests(job.context_tokens)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if account(job, middle).pool.requests(job.context_tokens) >= middle else (low, middle - 1)
        return _capacity(job, account(job, max(1, low)), low)

    def expect(self, job: Job, slots: int) -> Expectation:
        return expectation(account(job, max(1, slots)))

    def hand_over(self, plan: Plan, job: Job) -> HandOver:
        return hand_over(plan, job, self)


def _whole_model(serving: Serving) -> Serving:
    """The same server as if one GPU held everything."""
    return replace(serving, tensor_parallel_size=1, pipeline_parallel_size=1, decode_context_parallel_size=1)


def _capacity(job: Job, figures: Account, fitting: int) -> Capacity:
    pool, layout, tokens = figures.pool, figures.pool.layout, job.context_tokens
    slots = min(fitting, figures.serving.max_num_seqs) if tokens <= figures.serving.max_model_len else 0
    one_more = fitting + 1
    inequality = (
        f"{size(max(0, figures.pool_bytes))} ÷ {pool.block_bytes:,} B = {pool.num_blocks:,} blocks, one of them unused; "
        f"{fitting} × {tokens:,} tokens take {layout.blocks_of(fitting, tokens):,}, {one_more} would take {layout.blocks_of(one_more, tokens):,}"
    )
    if not pool.starts:
        need = layout.reserved_blocks(figures.serving.max_model_len)
        inequality += f"; a request of {figures.serving.max_model_len:,} tokens alone needs {need:,}, so vLLM does not start"
    return Capacity(
        slots=slots,
        limit="engine" if slots < fitting else "memory",
        inequality=f"{inequality}.",
        remarks=remarks(job, figures),
    )


ENGINE = Vllm()
