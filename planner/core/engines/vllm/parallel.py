"""Which parallel sizes a model and a machine allow, which to take where nobody chose, and which layers and cards a stage has."""

from dataclasses import dataclass
from functools import lru_cache

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.vllm.serving import Serving
from planner.core.errors import InputError
from planner.core.model_shape import ModelShape

# Sizes beyond this are not listed: a tensor-parallel group lies in one machine.
MOST_RANKS = 64


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a model from being cut: `count` of `what` cannot be shared evenly, nor (KV heads) be copied evenly."""

    count: int
    what: str
    copied: bool = False

    def sentence(self, ranks: list[int]) -> str:
        sizes = _listed(ranks)
        if self.copied:
            return f"{self.count} {self.what} neither divide nor are divided by {sizes}"
        return f"{self.count:,} {self.what} cannot be divided by {sizes}"


def _listed(numbers: list[int]) -> str:
    head, last = ", ".join(map(str, numbers[:-1])), str(numbers[-1])
    return f"{head} or {last}" if head else last


@lru_cache(maxsize=1024)
def _obstacle(shape: ModelShape, ranks: int) -> Obstacle | None:
    """Source: vLLM 0.32 config/model.py, verify_with_parallel_config; distributed/utils.py, divide, in every layer that is cut."""
    if shape.attention_heads % ranks:
        return Obstacle(shape.attention_heads, "attention heads")
    for store in shape.stores():
        if isinstance(store, TokenStore) and not store.per_rank and store.heads % ranks and ranks % store.heads:
            return Obstacle(store.heads, "KV heads", copied=True)
        if isinstance(store, StateStore) and store.heads % ranks:
            return Obstacle(store.heads, "state heads")
    feed = shape.feed_forward
    if (not feed.experts or feed.dense_layers) and feed.intermediate_size % ranks:
        return Obstacle(feed.intermediate_size, "columns of the feed-forward layers")
    return None


def refusal(shape: ModelShape, ranks: int) -> str | None:
    """Why `ranks` tensor-parallel ranks cannot run the model, or None."""
    obstacle = _obstacle(shape, ranks)
    return obstacle.sentence([ranks]) if obstacle else None


def valid_sizes(shape: ModelShape, limit: int = MOST_RANKS) -> tuple[int, ...]:
    """The tensor-parallel sizes up to `limit` that the model allows."""
    return tuple(ranks for ranks in range(1, limit + 1) if _obstacle(shape, ranks) is None)


def why_not(shape: ModelShape, limit: int) -> str:
    """Why the other sizes up to `limit` fail, one clause for each reason; empty where all are valid."""
    failing: dict[Obstacle, list[int]] = {}
    for ranks in range(1, limit + 1):
        if obstacle := _obstacle(shape, ranks):
            failing.setdefault(obstacle, []).append(ranks)
    return "; ".join(obstacle.sentence(ranks) for obstacle, ranks in failing.items())


def sizes_words(shape: ModelShape, cards: int) -> str:
    """The list of sizes for a machine, and why the others fail."""
    return f"Possible: {', '.join(map(str, valid_sizes(shape, cards)))} ({why_not(shape, cards)})."


def _runs_in_stages(shape: ModelShape) -> bool:
    """Whether the layers can be divided into pipeline stages: not where layers read what another stage holds."""
    shared = any(layer.kind == "shared" for layer in shape.layers)
    return not shared and not any(isinstance(store, TokenStore) and store.kind == "cross" for store in shape.stores())


@lru_cache(maxsize=256)
def arrangement(shape: ModelShape, cards: int, *, pipeline: int | None = None) -> tuple[int, int]:
    """(tensor, pipeline) sizes for `cards` GPUs: one tensor-parallel group of all, else those that use most GPUs.

    Among equals the larger tensor-parallel group: its GPUs work at once, stages one after another.
    """
    most = 1 if pipeline is None and not _runs_in_stages(shape) else max(1, len(shape.layers))
    sizes = [(ranks, pipeline or min(cards // ranks, most)) for ranks in valid_sizes(shape, cards)]
    fitting = [(ranks, parts) for ranks, parts in sizes if ranks * parts <= cards]
    return max(fitting, key=lambda size: (size[0] * size[1], size[0]), default=(1, pipeline or 1))


def check_sizes(serving: Serving, *, devices: int) -> None:
    """Raises InputError, with the sizes that do work, where a parallel size fits neither the model nor the machine."""
    shape, ranks, parts = serving.shape, serving.tensor_parallel_size, serving.pipeline_parallel_size
    why = refusal(shape, ranks)
    if why:
        sizes = sizes_words(shape, max(16, min(devices, MOST_RANKS)))
        raise InputError(f"Tensor parallelism over {ranks} GPUs is not possible: {why}. {sizes}", field="tensor_parallel")
    if parts > max(1, len(shape.layers)):
        raise InputError(f"{parts} pipeline stages are more than the model's {len(shape.layers)} layers.", field="pipeline_parallel")
    engines = serving.data_parallel_here
    if ranks * parts * engines > devices:
        asked = f"{ranks} × {parts} GPUs are" if engines == 1 else f"{engines} data-parallel engines of {ranks} × {parts} GPUs are"
        raise InputError(f"{asked} asked for and there are {devices}: raise the count or lower the sizes.", field="count")
    shards = serving.decode_context_parallel_size
    if shards > 1 and any(isinstance(store, TokenStore) and store.window for store in shape.stores()):
        raise InputError("vLLM cannot shard sliding windows by tokens: leave out --decode-context-parallel-size.", field="engine_args")
    if ranks % shards:
        raise InputError(f"--decode-context-parallel-size {shards} must divide the {ranks} tensor-parallel GPUs.", field="engine_args")


def stages(layers: int, draft_layers: int, pipeline_parallel: int) -> tuple[range, ...]:
    """The layers of each pipeline stage; the remainder goes to the last stages but one, drafts to the last.

    Source: vLLM 0.32 distributed/utils.py, get_pp_indices (94 layers on 4 stages: 23, 24, 24, 23).
    """
    share, rest = divmod(layers, pipeline_parallel)
    sizes = [share + (pipeline_parallel - 1 - rest <= stage < pipeline_parallel - 1) for stage in range(pipeline_parallel)]
    sizes[-1] += draft_layers
    return tuple(range(sum(sizes[:stage]), sum(sizes[: stage + 1])) for stage in range(pipeline_parallel))


def stage_of(serving: Serving, device: int) -> int | None:
    """The pipeline stage that device number `device` has; None where it is idle.

    Ranks take the devices in order: tensor-parallel neighbours first, then stages, then data-parallel engines.
    Source: vLLM 0.32 distributed/parallel_state.py, initialize_model_parallel.
    """
    ranks, parts = serving.tensor_parallel_size, serving.pipeline_parallel_size
    if device >= ranks * parts * serving.data_parallel_here:
        return None
    return device // ranks % parts
