"""The vLLM engine as the planner sees it: checks, cache size, budget, slots, and the start-up lines to expect."""

from dataclasses import replace

from planner.core.engines.contract import Capacity, Expectation, ExpectedLine, HandOver, Job
from planner.core.engines.vllm.budget import Account, account, budget_of
from planner.core.engines.vllm.capacity import layout_of
from planner.core.engines.vllm.parallel import check_sizes
from planner.core.engines.vllm.serving import settle
from planner.core.engines.vllm.versions import VERSIONS
from planner.core.errors import InputError
from planner.core.plan import MemoryBudget, Plan
from planner.core.units import GIB


class Vllm:
    """See `engines.contract.Engine` for what each method answers."""

    name = "vllm"
    title = "vLLM"
    versions = VERSIONS

    def check(self, job: Job) -> None:
        serving = settle(job)
        check_sizes(job.shape, tensor_parallel=serving.tensor_parallel_size, pipeline_parallel=serving.pipeline_parallel_size)
        if not job.node.has_gpu:
            raise InputError("vLLM is planned for GPUs here: choose a GPU, or llama-server for a machine without one.", field="engine")
        layout_of(serving)

    def cache_types(self, job: Job) -> tuple[str, str]:
        serving = settle(job)
        name = serving.cache_type.name
        resolved = serving.cache_type.model_dtype if name == "auto" else name
        return resolved, resolved

    def request_bytes(self, job: Job) -> int:
        return layout_of(settle(_one_gpu(job))).held_page_bytes(job.context_tokens)

    def reserved_bytes(self, job: Job, slots: int) -> int:
        layout = layout_of(settle(_one_gpu(job), slots))
        return slots * layout.reserved_blocks(job.context_tokens) * layout.stage_block_bytes[0]

    def budget(self, job: Job, slots: int) -> MemoryBudget:
        return budget_of(job, slots)

    def capacity(self, job: Job) -> Capacity:
        """The slots whose full conversations fit, with `max_num_seqs` set to them.

        A larger max_num_seqs costs memory (sampler, graphs), so the answer is the largest number that still holds itself.
        """
        low, high = 0, account(job, 1).pool.requests(job.context_tokens)
        while low < high:
            middle = (low + high + 1) // 2
            if account(job, middle).pool.requests(job.context_tokens) >= middle:
                low = middle
            else:
                high = middle - 1
        return _capacity(job, account(job, max(1, low)), low)

    def expect(self, job: Job, slots: int) -> Expectation:
        pool = account(job, slots).pool
        layout = pool.layout
        tokens, concurrency = pool.kv_cache_tokens, pool.max_concurrency
        return Expectation(
            values={
                "block_size": layout.block_size,
                "num_blocks": pool.num_blocks,
                "kv_cache_tokens": tokens,
                "max_concurrency": concurrency,
                "bytes_per_block": pool.block_bytes,
            },
            lines=(ExpectedLine(f"GPU KV cache size: {tokens:,} tokens", ""),),
        )

    def hand_over(self, plan: Plan, job: Job) -> HandOver:
        from planner.core.engines.vllm.hand_over import hand_over  # noqa: PLC0415

        return hand_over(plan, job, self)


def _one_gpu(job: Job) -> Job:
    return replace(job, tensor_parallel=1, pipeline_parallel=1)


def _capacity(job: Job, figures: Account, slots: int) -> Capacity:
    pool, tokens = figures.pool, job.context_tokens
    held, reserved = pool.layout.held_blocks(tokens), pool.layout.reserved_blocks(tokens)
    inequality = (
        f"{figures.pool_bytes / GIB:.2f} GiB ÷ {pool.block_bytes:,} B = {pool.num_blocks:,} blocks; "
        f"1 null + {reserved:,} + {max(0, slots - 1)} × {held:,} ≤ {pool.num_blocks:,}"
    )
    return Capacity(slots=slots, limit="memory", inequality=inequality)


ENGINE = Vllm()
