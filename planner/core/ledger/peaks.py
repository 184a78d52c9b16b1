"""Moments that need more than the plan at rest: two instances during a rolling restart, and the load of the weights at a cold start."""

from dataclasses import dataclass
from typing import Final, Literal

from planner.core import units
from planner.core.draft import Outline
from planner.core.errors import InputError
from planner.core.plan import Grade, MemoryBudget
from planner.core.sensitivity import Held

Outlook = Literal["fits", "may_fail", "does_not_fit"]
# Engines whose instance takes a share of the card whatever its slots, and looks for that much free memory at start.
# vLLM v1/worker/gpu_worker.py, init_device: “Free memory on device … is less than desired GPU memory utilization”.
_TAKES_A_SHARE: Final = frozenset({"vllm"})
_COPIES: Final = "llama.cpp issues 7399 (ROCm) and 21827 (SYCL) and pull request 22120 (CUDA): on memory shared with the CPU the file's pages and the copy stand side by side"


@dataclass(frozen=True, slots=True)
class Peak:
    """A moment and whether the machine survives it. `low_bytes` to `high_bytes` are needed, of `total_bytes`."""

    name: str
    outlook: Outlook
    low_bytes: int
    high_bytes: int
    total_bytes: int
    sentence: str
    fix: str
    grade: Grade
    source: str


def peaks(held: Held, planned: Outline) -> tuple[Peak, ...]:
    """For a plan that fits at rest; nothing is said of one that does not."""
    if planned.outcome.slots_that_fit == 0 or planned.outcome.slots > planned.outcome.slots_that_fit:
        return ()
    budget = held.engine.budget(planned.job, planned.outcome.slots)
    return (_rolling(held, planned, budget), *_cold(planned, budget))


def _rolling(held: Held, planned: Outline, budget: MemoryBudget) -> Peak:
    """The new instance starts while the old one drains: both hold cache and buffers, and the weights where they are copied."""
    own, others, total = own_bytes(held, budget), _others(held, planned, budget), budget.total_bytes
    most = 2 * own + others
    least = most - (budget.size_of("weights") if _maps(planned) else 0)
    outlook: Outlook = "fits" if most <= total else "may_fail" if least <= total else "does_not_fit"
    sizes = f"{units.size(own)} for each of two instances" + (f" and {units.size(others)} left free or to others" if others else "")
    of = f"{units.size(total)} of {planned.job.node.device.name}"
    sentence = {
        "fits": f"Restarts without a gap: {sizes} are within {of}.",
        "may_fail": f"May restart without a gap: {sizes} are more than {of}, and fit where both use the same pages of the weights' file.",
        "does_not_fit": f"Fits at rest, and will not restart while the old instance drains: {sizes} are more than {of}.",
    }[outlook]
    fix = "" if outlook == "fits" else _fix(held, planned, budget)
    return Peak("Rolling restart", outlook, least, most, total, sentence, fix, "computed", "the plan's budget of the fullest device, twice")


def _others(held: Held, planned: Outline, budget: MemoryBudget) -> int:
    """What neither instance may take."""
    return planned.job.node.reserved_bytes if held.engine.name in _TAKES_A_SHARE else budget.size_of("reserved")


def _maps(planned: Outline) -> bool:
    """Whether the weights are the pages of their file, which all processes share: on a CPU, unless it repacks them, and under Metal."""
    node = planned.job.node
    return not node.has_gpu or (node.shares_memory and node.device.vendor == "Apple")


def own_bytes(held: Held, budget: MemoryBudget) -> int:
    """What one instance allocates on the fullest device."""
    if held.engine.name in _TAKES_A_SHARE:
        return budget.usable_bytes
    return sum(line.size_bytes for line in budget.lines if line.kind in {"weights", "overhead", "cache"})


def _fix(held: Held, planned: Outline, budget: MemoryBudget) -> str:
    stop = "Stop the old instance first and tell people, or drain it behind a second machine"
    if held.engine.name in _TAKES_A_SHARE:
        share = int(50 * (1 - planned.job.node.reserved_bytes / budget.total_bytes)) / 100
        try:
            slots = held.outline({"memory_utilization": share, "cache_memory": None}).outcome.slots_that_fit
        except InputError:
            slots = 0
        if slots:
            return f"{stop}; with a memory share of {share:g} two instances fit, with {units.counted(slots, 'slot')} each."
        return f"{stop}; half of the card does not hold the model."
    slots = _slots_for_two(held, planned)
    if slots:
        return f"{stop}; with {units.counted(slots, 'slot')} two instances fit."
    return f"{stop}; two instances do not fit with any number of slots."


def _slots_for_two(held: Held, planned: Outline) -> int:
    """The most slots of which two instances fit: one more was tried, too."""
    low, high = 0, planned.outcome.slots
    while low < high:
        middle = (low + high + 1) // 2
        budget = held.engine.budget(planned.job, middle)
        if 2 * own_bytes(held, budget) + budget.size_of("reserved") <= budget.total_bytes:
            low = middle
        else:
            high = middle - 1
    return low


def _cold(planned: Outline, budget: MemoryBudget) -> tuple[Peak, ...]:
    """Reading the weights goes through the page cache of the main memory: which is the device's own where both are one."""
    node, weights = planned.job.node, planned.job.weights.size_bytes
    used = budget.total_bytes - budget.size_of("free")
    if node.shares_memory and node.device.vendor == "Apple":
        sentence = "The file's pages are the weights: Metal uses them where they are, so loading takes no second copy."
        source = "llama.cpp ggml/src/ggml-metal, newBufferWithBytesNoCopy"
        return (Peak("Cold start", "fits", used, used, budget.total_bytes, sentence, "", "computed", source),)
    if node.shares_memory or not node.has_gpu:
        return (_shared(planned, budget, used, weights),)
    if node.ram_bytes is None:
        return ()
    return (_beside(planned, node.ram_bytes, weights),)


def _shared(planned: Outline, budget: MemoryBudget, used: int, weights: int) -> Peak:
    most = used + weights
    enough = most <= budget.total_bytes
    both = f"{units.size(used)} of the plan and up to {units.size(weights)} of the file's pages"
    if not planned.job.node.has_gpu:
        source = "llama.cpp maps the file; weights that it repacks for the CPU are copied while it loads"
    else:
        source = _COPIES
    sentence = (
        f"Loads safely: {both} fit into {units.size(budget.total_bytes)} together."
        if enough
        else f"Fits at rest, and may fail while it loads: {both} are more than {units.size(budget.total_bytes)}, if the system does not give pages back in time."
    )
    fix = (
        ""
        if enough
        else "Empty the page cache before the start (sync; echo 3 | sudo tee /proc/sys/vm/drop_caches), and watch the first start."
    )
    return Peak("Cold start", "fits" if enough else "may_fail", used, most, budget.total_bytes, sentence, fix, "estimated", source)


def _beside(planned: Outline, ram: int, weights: int) -> Peak:
    """A machine with RAM beside the card: the pages can always be given back, the disk is read again where they are."""
    enough = weights + 2 * units.GIB <= ram
    size = f"{units.size(weights)} of weights through {units.size(ram)} of RAM"
    sentence = (
        f"Loads at the disk's speed once: {size}, so that the next start finds them there."
        if enough
        else f"Loads, but every start reads the disk: {size}, which cannot keep them."
    )
    fix = "" if enough else f"More RAM than {units.size(weights)} makes restarts fast; without it, a fast disk."
    spill = planned.spill.weights_bytes if planned.spill else 0
    return Peak(
        "Cold start",
        "fits" if enough else "may_fail",
        spill,
        weights,
        ram,
        sentence,
        fix,
        "estimated",
        "the page cache, which the system gives back when it must",
    )
