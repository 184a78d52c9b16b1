"""Which parallel sizes a model allows, and which layers each pipeline stage holds."""

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.vllm.serving import Serving
from planner.core.errors import InputError
from planner.core.model_shape import ModelShape


def refusal(shape: ModelShape, ranks: int) -> str | None:
    """Why `ranks` tensor-parallel ranks cannot run the model, or None.

    Source: vLLM 0.32 config/model.py, verify_with_parallel_config, and the layers' own assertions.
    """
    if shape.attention_heads % ranks:
        return f"{shape.attention_heads} attention heads cannot be divided by {ranks}"
    for store in shape.stores():
        if isinstance(store, TokenStore) and not store.per_rank and store.heads % ranks and ranks % store.heads:
            return f"{store.heads} KV heads neither divide {ranks} nor are divided by it"
        if isinstance(store, StateStore) and store.heads % ranks:
            return f"{store.heads} state heads cannot be divided by {ranks}"
    return None


def valid_sizes(shape: ModelShape, limit: int = 64) -> tuple[int, ...]:
    """The tensor-parallel sizes up to `limit` that the model allows."""
    return tuple(ranks for ranks in range(1, limit + 1) if refusal(shape, ranks) is None)


def check_sizes(serving: Serving, *, devices: int) -> None:
    """Raises InputError, with the sizes that do work, where a parallel size fits neither the model nor the machine."""
    shape, ranks, parts = serving.shape, serving.tensor_parallel_size, serving.pipeline_parallel_size
    why = refusal(shape, ranks)
    if why:
        sizes = ", ".join(map(str, valid_sizes(shape, 16)))
        raise InputError(f"Tensor parallelism over {ranks} GPUs is not possible: {why}. Possible: {sizes}.", field="tensor_parallel")
    if parts > max(1, len(shape.layers)):
        raise InputError(f"{parts} pipeline stages are more than the model's {len(shape.layers)} layers.", field="pipeline_parallel")
    if ranks * parts > devices:
        raise InputError(
            f"{ranks} × {parts} GPUs are asked for and there are {devices}: raise the count or lower the sizes.", field="count"
        )
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
