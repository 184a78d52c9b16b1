"""What llama-server will print at start: the values of its caches and buffers, and its own lines with them."""

from collections.abc import Iterator
from typing import Any

from planner.core.engines.contract import Expectation, ExpectedLine, Job
from planner.core.engines.llama_server.buffers import output_bytes
from planner.core.engines.llama_server.cache import CacheBuffer, Caches
from planner.core.engines.llama_server.placement import Placement
from planner.core.engines.llama_server.serving import Context, Serving
from planner.core.units import MIB


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:7.2f}"


def _cache_line(buffer: CacheBuffer, settings: Serving) -> str:
    """Source: llama.cpp b11434 src/llama-kv-cache.cpp, the constructor's summary."""
    type_k, type_v = ("f16", "f16") if buffer.kind == "draft" else (settings.type_k.name, settings.type_v.name)
    return (
        f"llama_kv_cache: size = {_mib(buffer.size_bytes)} MiB ({buffer.cells:6d} cells, {buffer.layers:3d} layers, "
        f"{settings.n_parallel:2d}/{buffer.streams} seqs), K ({type_k}): {_mib(buffer.k_bytes)} MiB, "
        f"V ({type_v}): {_mib(buffer.v_bytes)} MiB"
    )


def _state_line(job: Job, settings: Serving, held: Caches) -> str:
    """The summary of the recurrent memory; the count of layers is the model's. Older builds end it in other ways: there, its beginning.

    Source: llama.cpp b11434 src/llama-memory-recurrent.cpp, the constructor's summary; logs of b9010.
    """
    r_bytes, s_bytes, p_bytes = (sum(getattr(row, name) for row in held.state) for name in ("r_bytes", "s_bytes", "p_bytes"))
    slots = settings.n_parallel
    begins = (
        f"llama_memory_recurrent: size = {_mib(held.state_bytes)} MiB ({slots:6d} cells, {len(job.shape.layers):3d} layers, {slots:2d} seqs"
    )
    if not settings.rules.prints_snapshots:
        return begins
    return f"{begins} {settings.state_snapshots:2d} rs_seq), R (f32): {_mib(r_bytes)} MiB, S (f32): {_mib(s_bytes)} MiB, P (f32): {_mib(p_bytes)} MiB"


def _slots_line(context: Context, settings: Serving) -> str:
    if not settings.rules.prints_slot_context:
        return f"initializing slots, n_slots = {context.slots}"
    unified = "true" if context.unified else "false"
    return f"initializing, n_slots = {context.slots}, n_ctx_slot = {context.n_ctx_slot}, kv_unified = '{unified}'"


def _lines(job: Job, settings: Serving, held: Caches, placement: Placement) -> Iterator[ExpectedLine]:
    context = held.context
    yield ExpectedLine(
        _slots_line(context, settings),
        "Printed at the usual verbosity: the number of slots, and the tokens one of them may use.",
    )
    yield ExpectedLine(
        f"llama_context: n_ctx                 = {context.n_ctx}", "Cells of all slots together, rounded up to 256 (needs -lv 4)."
    )
    yield ExpectedLine(f"llama_context: n_ctx_seq             = {context.n_ctx_seq}", "Cells of one stream (needs -lv 4).")
    for buffer in held.buffers:
        yield ExpectedLine(_cache_line(buffer, settings), f"The {buffer.kind} cache, keys and values (needs -lv 4).")
    if held.state:
        yield ExpectedLine(_state_line(job, settings, held), "The state of the recurrent layers, per slot and in f32 (needs -lv 4).")
    yield ExpectedLine(
        f"output buffer size = {output_bytes(job.shape, settings) / MIB:8.2f} MiB",
        "The logits of one token per slot, in main memory (needs -lv 4).",
    )
    compute = placement.fullest.compute
    if compute and compute.grade == "computed":
        certain = "compute buffer size ="
        yield ExpectedLine(f"{certain} {compute.size_bytes / MIB:8.2f} MiB", "Within 1 MiB: the formula is fitted (needs -lv 4).", certain)


def expectation(job: Job, settings: Serving, held: Caches, placement: Placement) -> Expectation:
    """Values of the whole model; `compute_bytes` is the fullest device's."""
    context = held.context
    compute = placement.fullest.compute
    values: dict[str, Any] = {
        "n_ctx": context.n_ctx,
        "n_ctx_slot": context.n_ctx_slot,
        "n_slots": context.slots,
        "kv_unified": context.unified,
        "n_ctx_seq": context.n_ctx_seq,
        "n_batch": context.n_batch,
        "n_ubatch": context.n_ubatch,
        "flash_attn": settings.flash_attn,
        "type_k": settings.type_k.name,
        "type_v": settings.type_v.name,
        "build": settings.rules.build,
        "kv": [
            {
                "kind": buffer.kind,
                "cells": buffer.cells,
                "layers": buffer.layers,
                "streams": buffer.streams,
                "k_bytes": buffer.k_bytes,
                "v_bytes": buffer.v_bytes,
            }
            for buffer in held.buffers
        ],
        "recurrent_bytes": held.state_bytes,
        "compute_bytes": compute.size_bytes if compute else 0,
        "estimates": {"compute_bytes": [compute.low_bytes, compute.high_bytes]} if compute else {},
        "output_bytes": output_bytes(job.shape, settings),
    }
    return Expectation(values, tuple(_lines(job, settings, held, placement)))
