"""--fit: the context llama-server chooses itself where the command line gives none."""

from dataclasses import replace
from functools import lru_cache

from planner.core.engines.contract import Job
from planner.core.engines.llama_server.cache import Caches, caches
from planner.core.engines.llama_server.layout import trained_context
from planner.core.engines.llama_server.placement import place, uses_gpu
from planner.core.engines.llama_server.serving import CELL_PADDING, Serving, divide
from planner.core.model_shape import ModelShape
from planner.core.units import MIB


@lru_cache(maxsize=1024)
def _held(shape: ModelShape, settings: Serving) -> Caches:
    return caches(shape, settings, divide(settings, trained_context=trained_context(shape)))


def held(job: Job, settings: Serving) -> Caches:
    """The caches under `settings`. Without -c, the context is the model's own, or the longest below it that the device holds.

    The engine interpolates between two measured sizes, so its choice may differ by some cells from the exact one here.
    Source: llama.cpp b11434 common/fit.cpp, common_params_fit_impl.
    """
    most = _held(job.shape, settings)
    if settings.n_ctx is not None or settings.per_slot or not settings.fit or _fits(job, settings, most):
        return most
    streams = 1 if settings.unified else settings.n_parallel
    step = CELL_PADDING * streams
    low, high = max(1, settings.fit_context // CELL_PADDING), most.context.n_ctx // step
    if low >= high:
        return most
    while low < high:
        middle = (low + high + 1) // 2
        tried = replace(settings, n_ctx=middle * step)
        low, high = (middle, high) if _fits(job, tried, _held(job.shape, tried)) else (low, middle - 1)
    return _held(job.shape, replace(settings, n_ctx=low * step))


def _fits(job: Job, settings: Serving, kept: Caches) -> bool:
    """Whether every device keeps the margin free. Without a GPU the engine compares with the whole RAM, whatever else uses it."""
    placed = place(job, settings, kept)
    if uses_gpu(job, settings):
        return placed.on_cards
    return placed.fullest.used_bytes + settings.fit_target_mib * MIB <= placed.fullest.total_bytes
