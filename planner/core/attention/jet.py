"""Jet blocks (Jet-Nemotron): a gated delta rule whose values alone pass a convolution.

Source of the shapes: NVlabs/Jet-Nemotron jetai/modeling/hf/jet_block.py; sglang python/sglang/srt/configs/jet_nemotron.py.
"""

from fractions import Fraction

from planner.core.attention.config import MAX_HEADS, ConfigError, HfConfig, shown
from planner.core.attention.kind import AttentionKind, layers_called
from planner.core.attention.stores import StateStore, Store


def stores(config: HfConfig, layer: int) -> tuple[Store, ...]:  # noqa: ARG001 - all layers alike
    jet = config.section("efficient_attention_config").section("jet")
    heads, key_dim = jet.required("num_heads", high=MAX_HEADS), jet.required("head_dim")
    value_dim = int(key_dim * _expansion(jet))
    return (
        StateStore(
            "gated_delta", conv_rows=jet.required("conv_size") - 1, inner=heads * value_dim, groups=0, group_width=0,
            heads=heads, head_rows=key_dim, head_columns=value_dim,
        ),
    )  # fmt: skip


def _expansion(jet: HfConfig) -> Fraction:
    _, value = jet.raw("expand_v")
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 1 <= value <= 64:
        raise ConfigError(f"expand_v is {shown(value)} in this config.json: it must be a number from 1 to 64.")
    return Fraction(value)


KIND = AttentionKind(name="jet", layers_in=layers_called("jet"), stores=stores)
