"""What llama-server puts where: layers on the cards, experts in RAM, and how several cards share the model."""

from collections.abc import Iterator

from planner.core import units
from planner.core.engines import _reasons
from planner.core.engines._flags import VersionFlags
from planner.core.engines.contract import Job, Setting
from planner.core.engines.llama_server.placement import Placement
from planner.core.plan import Plan


def offload_settings(plan: Plan, job: Job, placed: Placement, flags: VersionFlags) -> Iterator[Setting]:
    if not job.node.has_gpu:
        yield from _locked(job, flags)
        return
    yield from _layers(job, placed, flags)
    yield from _experts(job, placed, flags)
    yield from _cards(plan, job, placed, flags)
    yield from flags.setting(
        "--fit",
        "off",
        why="What it would choose is chosen here: the context, the layers on the GPU and their division.",
        breaks="On, it measures the free memory before every start and may change what is left out of here.",
        source="device",
    )


def _locked(job: Job, flags: VersionFlags) -> Iterator[Setting]:
    yield from flags.setting(
        "--load-mode",
        "mmap+mlock",
        why=f"The {units.gib(job.weights.size_bytes)} of weights stay in RAM: every token reads them all.",
        breaks="Without it the kernel may drop weights under pressure and read them from the disk again.",
        source="ram",
    )


def _layers(job: Job, placed: Placement, flags: VersionFlags) -> Iterator[Setting]:
    count = len(job.shape.layers)
    if not placed.spilled_layers:
        on_cards = "but for the experts below, " if placed.spilled_experts else f"{units.gib(job.weights.size_bytes)} of weights, "
        yield from flags.setting(
            "--gpu-layers",
            "all",
            why=f"All {count} layers, {on_cards}are planned on the GPU.",
            breaks="Fewer: layers and their cache move to the CPU, and every answer slows down.",
            source="device",
        )
        return
    ram = placed.ram.weights_bytes if placed.ram else 0
    yield from flags.setting(
        "--gpu-layers",
        count + 1 - placed.spilled_layers,
        why=f"{placed.spilled_layers} of {count} layers, {units.gib(ram)} with all experts that stay in RAM, do not fit the GPU; the number "
        "counts the output as a layer.",
        breaks="More: out of memory at the start. Fewer: slower. It is an estimate from layers of equal size: try one more or one less.",
        source="device",
    )


def _experts(job: Job, placed: Placement, flags: VersionFlags) -> Iterator[Setting]:
    """--n-cpu-moe counts layers from the first one, dense ones among them."""
    if not placed.spilled_experts:
        return
    count = len(job.shape.layers)
    first = count if placed.spilled_layers else min(count, job.shape.feed_forward.dense_layers + placed.spilled_experts)
    ram = placed.ram.weights_bytes if placed.ram else 0
    yield from flags.setting(
        "--n-cpu-moe",
        first,
        why=f"The experts of the first {first} of {count} layers, {units.gib(ram)}, stay in RAM: a token reads only a few of them, while "
        "attention and cache stay on the GPU.",
        breaks="Fewer: out of memory at the start. More: slower, because RAM is. It is an estimate from layers of equal size.",
        source="device",
    )


def _cards(plan: Plan, job: Job, placed: Placement, flags: VersionFlags) -> Iterator[Setting]:
    """Several cards: whole layers on each."""
    if len(placed.cards) < 2:
        return
    parts = " + ".join(str(len(load.layers)) for load in placed.cards)
    yield from flags.setting(
        "--split-mode",
        "layer",
        why=f"Each card holds whole layers and their cache: {parts} of {len(job.shape.layers)}.",
        breaks="row keeps the whole cache on the first card; tensor divides it, but is an experiment.",
        source="count",
    )
    node, cards = plan.node, len(plan.node.devices)
    equal = len({node.free_bytes(index) for index in range(cards)}) == 1
    shares = placed.split if placed.split and not equal else (1,) * cards
    yield from flags.setting(
        "--tensor-split",
        ",".join(map(str, shares)),
        why=f"The plan divides the layers over {_reasons.count(cards, 'card')} by "
        + ("their memory." if equal else "the memory that is free on each, the output counted as a layer."),
        breaks="Left out, the memory that happens to be free at the start decides, and a card with a desktop on it gets fewer layers.",
        source="count",
    )
