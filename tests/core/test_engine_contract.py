"""What every engine owes, whatever the model and the machine: budgets that sum up, ranges around estimates, more memory never less."""

import inspect
import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from planner.core import catalog, speed
from planner.core.alternatives import _catalog_source
from planner.core.draft import Draft, draft
from planner.core.engines import engines
from planner.core.engines.contract import Engine
from planner.core.errors import InputError
from planner.core.hardware import Node
from planner.core.plan import MemoryBudget, MemoryLine
from planner.core.request import read_request
from planner.core.units import GIB

# Full attention, mixture of experts, windows, states beside attention, latent vectors, an index beside them, compressed caches.
MODELS = [
    "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "openai/gpt-oss-20b", "google/gemma-3-27b-it", "google/gemma-4-E2B-it", "Qwen/Qwen3.5-27B",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "LiquidAI/LFM2-1.2B", "tiiuae/Falcon-H1-0.5B-Instruct", "deepseek-ai/DeepSeek-V2-Lite",
    "deepseek-ai/DeepSeek-V3.2", "deepseek-ai/DeepSeek-V4-Flash", "microsoft/phi-4",
]  # fmt: skip
MACHINES: dict[str, dict[str, Any]] = {
    "one card": {"device": "rtx-4090"},
    "a card with a desktop": {"device": "rtx-4090", "reserved_memory": "1.3GiB"},
    "unequal cards": {"device": "2x3090+1x4090", "ram": "64GiB"},
    "eight cards": {"device": "h100-sxm", "count": 8},
    "three cards": {"device": "3xa100-sxm4-80gb"},
    "AMD": {"device": "mi300x"},
    "GB10": {"device": "gb10-dgx-spark"},
    "Apple": {"device": "apple-m4-max-16-128gb"},
    "a small Apple": {"device": "apple-m4-16gb"},
    "memory by hand": {"gpu_memory": "12GiB"},
    "memory by hand and RAM": {"gpu_memory": "12GiB", "ram": "64GiB"},
    "a card and its platform": {"device": "rtx-4090,cpu-epyc-9004", "ram": "256GiB"},
    "no GPU": {"ram": "8GiB"},
    "a server without a GPU": {"device": "cpu-epyc-9004", "ram": "512GiB", "reserved_memory": "16GiB"},
}
SERVED = list(itertools.product(engines(), MODELS))
every_engine_and_model = pytest.mark.parametrize(("engine", "model"), SERVED)


def drafted(engine: str, model: str, machine: dict[str, Any], **asked: Any) -> Draft | None:
    """The draft, None where the engine refuses."""
    request = read_request({"model": model, "context": 8192, "engine": engine, **machine, **asked})
    try:
        return draft(request, _catalog_source(model), engines()[engine])
    except InputError:
        return None


@cache
def drafts(engine: str, model: str) -> dict[str, Draft]:
    """The drafts on every machine that the engine can plan for."""
    found = {name: drafted(engine, model, machine) for name, machine in MACHINES.items()}
    return {name: made for name, made in found.items() if made}


def lines_of(budget: MemoryBudget) -> Iterator[MemoryLine]:
    yield from budget.lines
    yield from budget.ram_lines


@pytest.mark.parametrize("engine", engines().values(), ids=lambda engine: engine.name)
def test_an_engine_has_every_part_of_the_contract(engine: Engine) -> None:
    for name in Engine.__annotations__:
        assert getattr(engine, name) is not None, name
    for name, method in inspect.getmembers(Engine, inspect.isfunction):
        if name.startswith("_"):
            continue
        own = inspect.signature(getattr(engine, name)).parameters
        assert set(inspect.signature(method).parameters) - {"self"} <= own.keys(), name


@every_engine_and_model
def test_a_budget_sums_up_and_every_estimate_lies_in_its_range(engine: str, model: str) -> None:
    for name, made in drafts(engine, model).items():
        for slots in dict.fromkeys((1, made.fit.slots, made.fit.slots_that_fit or 1)):
            budget = made.engine.budget(made.job, slots)
            assert sum(line.size_bytes for line in budget.lines) == budget.total_bytes, name
            assert [line.kind for line in budget.lines].count("free") == 1
            assert budget.cache_pool_bytes >= 0
            assert 0 < budget.usable_bytes <= budget.total_bytes
            for line in lines_of(budget):
                assert line.kind == "free" or line.size_bytes >= 0, (name, line.name)
                assert line.why
                assert line.source
                if line.grade == "estimated":
                    assert line.low_bytes is not None, (name, line.name)
                    assert line.high_bytes is not None, (name, line.name)
                    assert 0 <= line.low_bytes <= line.size_bytes <= line.high_bytes, (name, line.name)


@every_engine_and_model
def test_every_device_has_its_budget_and_the_fullest_is_the_plan_s(engine: str, model: str) -> None:
    for made in drafts(engine, model).values():
        budget, node = made.engine.budget(made.job, made.fit.slots), made.job.node
        names = [each.name for each in budget.per_device]
        assert names[: len(node.devices)] == [device.name for device in node.devices]
        assert names[len(node.devices) :] in ([], ["main memory"])
        assert all(each.used_bytes + each.free_bytes == each.total_bytes for each in budget.per_device)
        assert budget.size_of("free") in {each.free_bytes for each in budget.per_device}


@every_engine_and_model
def test_what_stands_beside_the_slots_is_a_count(engine: str, model: str) -> None:
    for name, made in drafts(engine, model).items():
        full, shorter = (made.engine.slots_at(made.job, made.fit.slots, tokens) for tokens in (8192, 1000))
        assert (full is None) == (shorter is None)
        if full is not None and shorter is not None:
            assert made.fit.slots_that_fit == full <= shorter, name
        long, short = (made.engine.warm_conversations(made.job, made.fit.slots, tokens) for tokens in (8192, 1000))
        assert long is not None
        assert short is not None
        assert 0 <= long <= short, name


@every_engine_and_model
@pytest.mark.parametrize("count", [1, 2])
def test_more_memory_never_holds_fewer_slots(engine: str, model: str, count: int) -> None:
    # Without known RAM nothing spills: a plan that does counts the RAM as well, and may hold more, slower.
    found = [drafted(engine, model, {"gpu_memory": size * GIB, "count": count}) for size in (6, 12, 24, 48, 80, 192)]
    slots = [made.capacity.slots for made in found if made]
    assert slots == sorted(slots)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("beside", [{}, {"gpu_memory": 12 * GIB}])
def test_more_ram_never_holds_fewer_slots(model: str, beside: dict[str, int]) -> None:
    found = [drafted("llama-server", model, {"ram": size * GIB, **beside}) for size in (2, 4, 8, 16, 64, 512)]
    slots = [made.capacity.slots for made in found if made]
    assert slots == sorted(slots)


@every_engine_and_model
def test_memory_left_to_others_never_holds_more_slots(engine: str, model: str) -> None:
    for name, made in drafts(engine, model).items():
        if made.spill or name == "memory by hand and RAM":
            continue
        left = replace(made.job, node=replace(made.job.node, reserved_bytes=made.job.node.reserved_bytes + 3 * GIB))
        assert made.engine.capacity(left).slots <= made.capacity.slots, name


def test_reading_from_ram_is_slower_than_a_card_that_holds_everything() -> None:
    spilled = [made for key in SERVED for made in drafts(*key).values() if made.spill and made.speed.decode_rate]
    assert len(spilled) > 5
    for made in spilled:
        assert made.spill is not None
        assert 0 <= made.spill.weights_bytes <= made.job.weights.active_bytes
        assert 0 <= made.spill.cache_share <= 1
        slow, job = made.speed.decode_rate, made.job
        fast = speed.decode_rate(
            weights=job.weights,
            cache_bytes_at_context=made.engine.request_bytes(replace(job, context_tokens=4096)),
            node=job.node,
            engine=made.engine.name,
            tensor_parallel=job.tensor_parallel,
        )
        assert slow is not None
        assert fast is not None
        assert (slow.low or 0) < (fast.low or 0)
        assert (slow.high or 0) < (fast.high or 0)
        assert "slowed_by_ram" in {remark.code for remark in made.remarks}


def test_the_sample_is_a_sample_of_what_can_be_planned() -> None:
    planned = {(engine, model): drafts(engine, model).keys() for engine, model in SERVED}
    assert sum(map(len, planned.values())) > len(SERVED) * len(MACHINES) / 2
    for engine in engines():
        assert set().union(*(names for (name, _), names in planned.items() if name == engine)) >= {"one card", "unequal cards", "GB10"}


def test_every_device_of_the_catalogue_says_what_is_free() -> None:
    for device in catalog.devices().values():
        if device.is_gpu:
            assert 0 < Node((device,)).free_bytes(0) <= device.memory_bytes
