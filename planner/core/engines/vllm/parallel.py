"""Which parallel sizes a model allows, and which layers each pipeline stage holds."""

from planner.core.attention.stores import StateStore, TokenStore
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


def check_sizes(shape: ModelShape, *, tensor_parallel: int, pipeline_parallel: int) -> None:
    """Raises InputError, with the sizes that do work, where a parallel size does not fit the model."""
    why = refusal(shape, tensor_parallel)
    if why:
        sizes = ", ".join(map(str, valid_sizes(shape, 16)))
        raise InputError(
            f"Tensor parallelism over {tensor_parallel} GPUs is not possible: {why}. Possible: {sizes}.", field="tensor_parallel"
        )
    if pipeline_parallel > len(shape.layers):
        raise InputError(
            f"{pipeline_parallel} pipeline stages are more than the model's {len(shape.layers)} layers.", field="pipeline_parallel"
        )


def stages(layers: int, draft_layers: int, pipeline_parallel: int) -> tuple[range, ...]:
    """The layers of each pipeline stage; the remainder goes to the last stages but one, drafts to the last.

    Source: vLLM 0.32 distributed/utils.py, get_pp_indices (94 layers on 4 stages: 23, 24, 24, 23).
    """
    share, rest = divmod(layers, pipeline_parallel)
    sizes = [share + (pipeline_parallel - 1 - rest <= stage < pipeline_parallel - 1) for stage in range(pipeline_parallel)]
    sizes[-1] += draft_layers
    return tuple(range(sum(sizes[:stage]), sum(sizes[: stage + 1])) for stage in range(pipeline_parallel))
