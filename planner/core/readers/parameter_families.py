"""Parts that only one family has, beside what its layers share with all others."""

from planner.core.attention.config import HfConfig
from planner.core.readers.parameter_feed_forward import dense_width, is_routed, matrices


def layer_extras(config: HfConfig, layer: int) -> int:
    """What a layer has beside its mixer, feed-forward part and norms."""
    extras = _per_layer_input(config)
    if config.model_type.startswith("gemma4"):
        extras += 1 + _gemma4_experts(config, layer)
    return extras


def model_extras(config: HfConfig) -> tuple[int, int]:
    """(parameters of further tables that are only looked up, other parameters) outside the layers."""
    width = config.integer("hidden_size_per_layer_input", low=0) or 0
    if not width:
        return 0, 0
    all_layers = config.layers * width
    rows = config.integer("vocab_size_per_layer_input") or config.required("vocab_size")
    return rows * all_layers, config.hidden_size * all_layers + width


def _per_layer_input(config: HfConfig) -> int:
    """Gemma 3n and 4: a gate, a projection and a norm for the layer's own embedding.

    Source: transformers 5 models/gemma4/modeling_gemma4.py, Gemma4TextDecoderLayer.
    """
    width = config.integer("hidden_size_per_layer_input", low=0) or 0
    return 2 * config.hidden_size * width + config.hidden_size if width else 0


def _gemma4_experts(config: HfConfig, layer: int) -> int:
    """The dense part that stands beside the experts, the router's scales and three norms. Source as above."""
    if not is_routed(config, layer):
        return 0
    hidden = config.hidden_size
    dense = matrices(hidden=hidden, width=dense_width(config, layer), gated=True)
    return dense + hidden + config.required("num_experts") + 3 * hidden
