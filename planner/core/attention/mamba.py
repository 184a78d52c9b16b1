"""Mamba 1 and 2: a short convolution and a recurrent state of fixed size, whatever the length of the sequence.

Source of the shapes: vLLM 0.32 vllm/model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator.
"""

from typing import Final

from planner.core.attention.config import MAX_HEADS, ConfigError, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import StateStore, Store
from planner.core.attention.words import MAMBA

HEADS: Final = ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads")
HEAD_DIM: Final = ("mamba_head_dim", "mamba_d_head", "mamba_headdim", "head_dim")
STATE: Final = ("mamba_d_state", "ssm_state_size", "state_size")
GROUPS: Final = ("mamba_n_groups", "mamba_ngroups", "n_groups")
KERNEL: Final = ("mamba_d_conv", "conv_kernel")
EXPAND: Final = ("mamba_expand", "expand")
INNER: Final = ("mamba_d_ssm", "mamba_intermediate_size")
# A Mamba 2 layer has heads; Zamba's first generation has heads and the state of Mamba 1.
HEADED: Final = ("mamba_num_heads", "mamba_n_heads", "mamba_headdim")


def state_dtype(config: HfConfig) -> str | None:
    """The element type the file asks for in recurrent states, None when it leaves that to the engine."""
    return config.text("mamba_ssm_dtype", "mamba_ssm_cache_dtype")


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - all layers alike
    return (_mamba2(config) if config.has(*HEADED) or _pure_mamba2(config) else _mamba1(config),)


def _pure_mamba2(config: HfConfig) -> bool:
    return config.has("state_size") and config.has("num_heads", "n_groups")


def _mamba1(config: HfConfig) -> StateStore:
    inner = _inner(config, None)
    return StateStore(
        "mamba1", conv_rows=config.required(*KERNEL) - 1, inner=inner, groups=0, group_width=0,
        heads=inner, head_rows=1, head_columns=config.required(*STATE), state_dtype=state_dtype(config),
    )  # fmt: skip


def _mamba2(config: HfConfig) -> StateStore:
    heads, state = config.required(*HEADS, high=MAX_HEADS), config.required(*STATE)
    name, head_dim = config.raw(*HEAD_DIM)
    size = None if head_dim is None or head_dim == "auto" else config.integer(name)
    inner = _inner(config, None if size is None else heads * size)
    if inner % heads:
        raise ConfigError(f"{heads} Mamba heads do not divide the {inner:,} channels of this config.json: one of them is wrong.")
    return StateStore(
        "mamba2", conv_rows=config.required(*KERNEL) - 1, inner=inner, groups=config.integer(*GROUPS, high=MAX_HEADS) or 1, group_width=state,
        heads=heads, head_rows=inner // heads, head_columns=state, state_dtype=state_dtype(config),
    )  # fmt: skip


def _inner(config: HfConfig, from_heads: int | None) -> int:
    """Channels of the state-space part: heads × head size where there are heads, else the expanded hidden size."""
    return from_heads or config.integer(*INNER) or config.hidden_size * (config.integer(*EXPAND, high=64) or 2)


KIND = AttentionKind(name="mamba", layers_in=layers_called(MAMBA), stores=stores)
