"""A model whose cache the user typed in, for layers that no attention kind claims yet."""

from collections.abc import Mapping

from planner.core.attention.stores import TokenStore
from planner.core.model_shape import FeedForward, Layer, ModelShape, Note


def _whole(config: Mapping[str, object], key: str) -> int:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else 0


def shape_by_hand(config: Mapping[str, object], bytes_per_token: int) -> ModelShape:
    """One growing store of `bytes_per_token` at 16 bit, whatever the configuration's layers are.

    Sizes that the configuration states plainly are kept; the rest stays 0, which engines take as not known.
    """
    nested = config.get("text_config")
    facts = nested if isinstance(nested, Mapping) else config
    architectures = config.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else ""
    return ModelShape(
        model_type=str(config.get("model_type", ""))[:80],
        architecture=str(architecture)[:80],
        layers=(Layer("by hand", (TokenStore("full", heads=1, key_dim=-(-bytes_per_token // 2), value_dim=0),)),),
        hidden_size=_whole(facts, "hidden_size"),
        vocab_size=_whole(facts, "vocab_size"),
        attention_heads=_whole(facts, "num_attention_heads"),
        max_context=_whole(facts, "max_position_embeddings") or None,
        dtype="bfloat16",
        feed_forward=FeedForward(_whole(facts, "intermediate_size")),
        notes=(
            Note(
                "bytes_per_token",
                f"{bytes_per_token:,} B per token at 16 bit is what you typed in: check it against the engine's start-up lines.",
            ),
        ),
    )
