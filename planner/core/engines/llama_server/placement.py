"""Where the layers go: over the cards in proportion to their free memory, and what they cannot hold into RAM."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from planner.core.engines.contract import Job
from planner.core.engines.llama_server.buffers import Buffer, compute_buffer
from planner.core.engines.llama_server.cache import Caches
from planner.core.engines.llama_server.serving import Serving
from planner.core.hardware import Device
from planner.core.units import GIB, MIB
from planner.core.weights import routed_bytes

# ggml-backend.cpp, GGML_SCHED_MAX_COPIES: inputs of a pipeline over several GPUs.
PIPELINE_COPIES: Final = 4
# Main memory that the system itself uses: 512 MiB are recommended without a desktop and 2 GiB with one.
SYSTEM_BYTES: Final = GIB
SYSTEM_RANGE: Final = (GIB // 2, 2 * GIB)
SYSTEM_SOURCE: Final = "Debian 11 installation guide, 3.4: recommended memory without and with a desktop"


@dataclass(frozen=True, slots=True)
class Load:
    """What one device holds. `device` None is main memory; `layers` are numbers.

    `taken_bytes` the system keeps, `reserved_bytes` other programs as the user said; `margin_bytes` stays free beside both.
    """

    device: Device | None
    total_bytes: int
    taken_bytes: int
    reserved_bytes: int
    margin_bytes: int
    layers: tuple[int, ...]
    weights_bytes: int
    cache_bytes: int
    compute: Buffer | None
    used_bytes: int = field(init=False)
    usable_bytes: int = field(init=False)
    spare_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        """Worked out once: every search for what fits asks for them again and again."""
        used = self.weights_bytes + self.cache_bytes + (self.compute.size_bytes if self.compute else 0)
        usable = max(0, self.total_bytes - self.taken_bytes - self.reserved_bytes - self.margin_bytes)
        object.__setattr__(self, "used_bytes", used)
        object.__setattr__(self, "usable_bytes", usable)
        object.__setattr__(self, "spare_bytes", usable - used)


@dataclass(frozen=True, slots=True)
class Placement:
    """The loads of all cards (or of the RAM of a machine without one) and what went to RAM instead.

    `ram` holds what the cards do not: layers, experts, cache. `spilled_layers` counts whole layers there,
    `spilled_experts` layers whose experts alone are there; `n_gpu_layers` and `n_cpu_moe` say the same as llama-server's options.
    `ram_read_bytes` are the weights there that one token reads; `split` the layers on each card, the output counted as one, which
    is what --tensor-split says exactly.
    """

    cards: tuple[Load, ...]
    ram: Load | None
    spilled_layers: int = 0
    spilled_experts: int = 0
    n_gpu_layers: int = 0
    n_cpu_moe: int = 0
    ram_read_bytes: int = 0
    split: tuple[int, ...] = ()

    @property
    def fullest(self) -> Load:
        return min(self.cards, key=lambda load: load.spare_bytes)

    @property
    def cards_hold(self) -> bool:
        return all(load.spare_bytes >= 0 for load in self.cards)

    @property
    def on_cards(self) -> bool:
        """Whether the devices hold everything, nothing sent to RAM."""
        return self.cards_hold and not self.spills

    @property
    def spills(self) -> bool:
        return bool(self.spilled_layers or self.spilled_experts)


def uses_gpu(job: Job, settings: Serving) -> bool:
    return job.node.has_gpu and not settings.no_gpu


@dataclass(frozen=True, slots=True)
class _Layers:
    """Bytes of `count` layers, which are taken as equally large, and of the output, which stands behind them as number `count`.

    `each` is a layer's weights, `experts` the part of them that is routed experts and `read` what a token reads of those, from
    layer `dense` on; `output` is what the division left over; `cache` has every layer's.
    """

    count: int
    each: int
    output: int
    dense: int
    experts: int
    read: int
    cache: tuple[int, ...]

    def with_experts(self, run: range, experts_in_ram: int) -> int:
        """How many layers of `run` have experts that lie in RAM."""
        return max(0, min(run.stop, self.count, experts_in_ram) - max(run.start, self.dense)) if self.experts else 0

    def weights_of(self, run: range, experts_in_ram: int) -> int:
        """Weights of `run` on a card, the output's where it is in it."""
        output = self.output if run.start <= self.count < run.stop else 0
        own = max(0, min(run.stop, self.count) - run.start)
        return own * self.each + output - self.with_experts(run, experts_in_ram) * self.experts

    def cache_of(self, run: range) -> int:
        return sum(self.cache[run.start : run.stop])


def _layers(job: Job, held: Caches) -> _Layers:
    """Weights spread evenly over the layers and the output; of a mixture of experts, what a token does not read is in the experts."""
    count = len(job.shape.layers)
    ff = job.shape.feed_forward
    each = job.weights.size_bytes // (count + 1)
    experts = min(each, routed_bytes(job.weights, ff) // max(1, count - ff.dense_layers))
    return _Layers(
        count=count,
        each=each,
        output=job.weights.size_bytes - count * each,
        dense=ff.dense_layers,
        experts=experts,
        read=experts * ff.experts_per_token // max(1, ff.experts),
        cache=held.layer_bytes,
    )


def place(job: Job, settings: Serving, held: Caches, *, assume_ram: bool = False) -> Placement:
    """The layers on the machine of `job`. Only where its RAM is known, or assumed, does what the cards cannot hold go there. Source: llama.cpp b11434 src/llama-model.cpp, load_tensors; common/fit.cpp."""
    if not uses_gpu(job, settings):
        return _in_ram(job, settings, held)
    sizes = _layers(job, held)
    wanted = sizes.count + 1 if settings.n_gpu_layers < 0 else min(settings.n_gpu_layers, sizes.count + 1)
    plain = _on_cards(job, settings, held, sizes, gpu_layers=wanted, experts_in_ram=min(settings.cpu_moe_layers or 0, sizes.count))
    fixed = settings.n_gpu_layers >= 0 or settings.cpu_moe_layers is not None
    without_ram = job.node.shares_memory or (job.node.ram_bytes is None and not assume_ram)
    if plain.cards_hold or fixed or not settings.fit or without_ram:
        return plain
    return _spilled(job, settings, held, sizes)


def _system_bytes(job: Job, ram_bytes: int) -> int:
    """What the system keeps of main memory; nothing where the user said what others keep of it."""
    return 0 if job.node.reserved_bytes and not job.node.has_gpu else min(ram_bytes, SYSTEM_BYTES)


def _in_ram(job: Job, settings: Serving, held: Caches) -> Placement:
    total = job.node.ram_bytes or job.node.memory_bytes
    load = Load(
        device=None if job.node.has_gpu else job.node.device,
        total_bytes=total,
        taken_bytes=_system_bytes(job, total),
        reserved_bytes=0 if job.node.has_gpu else job.node.reserved_bytes,
        margin_bytes=0,
        layers=tuple(range(len(job.shape.layers))),
        weights_bytes=job.weights.size_bytes,
        cache_bytes=held.size_bytes,
        compute=compute_buffer(job.shape, settings, held, gpu=False),
    )
    return Placement(cards=(load,), ram=None, ram_read_bytes=job.weights.active_bytes if job.node.has_gpu else 0)


def _cards(job: Job, settings: Serving) -> tuple[Device, ...]:
    return job.node.devices[:1] if settings.split_mode == "none" else job.node.devices


def _shares(job: Job, cards: tuple[Device, ...], settings: Serving) -> tuple[float, ...]:
    """The cards' parts of the layers: -ts where it is given, else the memory that is free on them beyond the margin."""
    if len(settings.tensor_split) >= len(cards) and sum(settings.tensor_split[: len(cards)]) > 0:
        return settings.tensor_split[: len(cards)]
    if len(cards) == 1 or job.node.uniform:
        return (1.0,) * len(cards)
    margin = settings.fit_target_mib * MIB
    return tuple(float(max(1, job.node.free_bytes(index) - margin)) for index in range(len(cards)))


def _card(
    job: Job, settings: Serving, index: int, *, layers: tuple[int, ...], weights_bytes: int, cache_bytes: int, compute: Buffer | None
) -> Load:
    """The load of card number `index`."""
    card = job.node.devices[index]
    return Load(
        device=card,
        total_bytes=card.memory_bytes,
        taken_bytes=card.system_bytes,
        reserved_bytes=job.node.others_bytes(index),
        margin_bytes=settings.fit_target_mib * MIB,
        layers=layers,
        weights_bytes=weights_bytes,
        cache_bytes=cache_bytes,
        compute=compute,
    )


def _on_cards(job: Job, settings: Serving, held: Caches, sizes: _Layers, *, gpu_layers: int, experts_in_ram: int) -> Placement:
    """The last `gpu_layers` of the layers and the output on the cards, in runs as long as the cards' shares; the rest in RAM.

    Of the first `experts_in_ram` layers the experts are in RAM whatever card has the layer.
    """
    if settings.split_mode in {"row", "tensor"}:
        return _cut_through(job, settings, held)
    count = sizes.count
    first = max(0, count + 1 - gpu_layers)
    shares = _shares(job, _cards(job, settings), settings)
    parts = _parts(sizes, shares, gpu_layers=gpu_layers, experts_in_ram=experts_in_ram, kv_offload=settings.kv_offload)
    copies = PIPELINE_COPIES if len(parts) > 1 and not first and not experts_in_ram else 1
    buffer = compute_buffer(job.shape, settings, held, gpu=True, copies=copies)
    loads = tuple(
        _card(
            job,
            settings,
            index,
            layers=part.layers,
            weights_bytes=part.weights_bytes,
            cache_bytes=part.cache_bytes,
            compute=buffer if part.length else None,
        )
        for index, part in enumerate(parts)
    )
    left, here = range(min(first, count)), range(first, count)
    experts = sizes.with_experts(here, experts_in_ram)
    weights = job.weights.size_bytes - sum(load.weights_bytes for load in loads)
    cache = held.size_bytes - sum(load.cache_bytes for load in loads)
    ram = None
    if weights or cache:
        ram = Load(
            device=None,
            total_bytes=job.node.ram_bytes or 0,
            taken_bytes=_system_bytes(job, job.node.ram_bytes or 0),
            reserved_bytes=0,
            margin_bytes=0,
            layers=tuple(left),
            weights_bytes=weights,
            cache_bytes=cache,
            compute=buffer if left else None,
        )
    return Placement(
        loads,
        ram,
        spilled_layers=len(left),
        spilled_experts=experts,
        n_gpu_layers=gpu_layers,
        n_cpu_moe=experts_in_ram,
        ram_read_bytes=len(left) * sizes.each
        - sizes.with_experts(left, count) * (sizes.experts - sizes.read)
        + experts * sizes.read
        + (sizes.output if first > count else 0),
        split=tuple(part.length for part in parts),
    )


def _cut_through(job: Job, settings: Serving, held: Caches) -> Placement:
    """Every layer on every card: -sm row keeps the whole cache on the first one, -sm tensor divides it like the weights."""
    cards = _cards(job, settings)
    shares = _shares(job, cards, settings)
    parts = [share / sum(shares) for share in shares]
    buffer = compute_buffer(job.shape, settings, held, gpu=True)
    whole = held.size_bytes if settings.kv_offload else 0
    return Placement(
        cards=tuple(
            _card(
                job,
                settings,
                index,
                layers=tuple(range(len(job.shape.layers))),
                weights_bytes=math.ceil(job.weights.size_bytes * part),
                cache_bytes=math.ceil(whole * part) if settings.split_mode == "tensor" else whole if index == 0 else 0,
                compute=buffer,
            )
            for index, part in enumerate(parts)
        ),
        ram=None,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """What lies on one card. `length` counts the layers and the output."""

    length: int
    layers: tuple[int, ...]
    weights_bytes: int
    cache_bytes: int


# Cards of any size in the same number divide alike.
@lru_cache(maxsize=1024)
def _parts(sizes: _Layers, shares: tuple[float, ...], *, gpu_layers: int, experts_in_ram: int, kv_offload: bool) -> tuple[_Part, ...]:
    count = sizes.count
    on_cards = range(max(0, count + 1 - gpu_layers), count + 1) if gpu_layers else range(0)
    return tuple(
        _Part(
            length=len(run),
            layers=tuple(run[:-1] if run and run[-1] == count else run),
            weights_bytes=sizes.weights_of(run, experts_in_ram),
            cache_bytes=sizes.cache_of(run) if kv_offload else 0,
        )
        for run in _runs(on_cards, shares)
    )


def _runs(layers: range, shares: tuple[float, ...]) -> tuple[range, ...]:
    """`layers` cut into runs in proportion to `shares`: the one at position p is on the first card whose shares, with those before
    it, are more than p ÷ all. Source: llama.cpp b11434 src/llama-model.cpp, splits and upper_bound."""
    bounds = [sum(shares[: index + 1]) / sum(shares) for index in range(len(shares) - 1)]
    count = len(layers)
    cuts = [bisect_left(range(count), bound, key=lambda position: position / count) for bound in bounds]
    return tuple(layers[start:stop] for start, stop in zip([0, *cuts], [*cuts, count], strict=True))


def _spilled(job: Job, settings: Serving, held: Caches, sizes: _Layers) -> Placement:
    """The placement with the least in RAM that the cards can hold: experts first, layer by layer, then whole layers."""
    count = sizes.count

    def tried(gpu_layers: int, experts: int) -> Placement:
        return _on_cards(job, settings, held, sizes, gpu_layers=gpu_layers, experts_in_ram=experts)

    if sizes.experts and sizes.dense < count:
        most = tried(count + 1, count)
        if most.cards_hold:
            return tried(count + 1, _smallest(0, count, lambda experts: tried(count + 1, experts).cards_hold))
        return tried(count + 1 - _smallest(0, count + 1, lambda spilled: tried(count + 1 - spilled, count).cards_hold), count)
    return tried(count + 1 - _smallest(0, count + 1, lambda spilled: tried(count + 1 - spilled, 0).cards_hold), 0)


def _smallest(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest number from `low` to `high` for which `holds`, which stays true once it is; `high` where it never is."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
