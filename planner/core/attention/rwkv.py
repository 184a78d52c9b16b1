"""RWKV: the previous input twice (time mixing and channel mixing) and a recurrent state."""

from planner.core.attention.config import ConfigError, HfConfig
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import StateStore, Store
from planner.core.attention.words import RWKV


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - all layers alike
    """Generation 4 keeps three numbers per channel, later ones a square of `head_size` per head.

    Source: transformers 5 models/rwkv/modeling_rwkv.py; llama.cpp b11434 src/llama-hparams.cpp, n_embd_r and n_embd_s.
    """
    hidden = config.hidden_size
    inner = config.integer("attention_hidden_size") or hidden
    size = config.integer("head_size", "head_dim")
    if size is None:
        heads, rows, columns = inner, 1, 3
    elif inner % size:
        raise ConfigError(f"head_size {size} does not divide the {inner:,} channels of this config.json: one of them is wrong.")
    else:
        heads, rows, columns = inner // size, size, size
    return (StateStore("rwkv", conv_rows=2, inner=hidden, groups=0, group_width=0, heads=heads, head_rows=rows, head_columns=columns),)


KIND = AttentionKind(name="rwkv", layers_in=layers_called(RWKV), stores=stores)
