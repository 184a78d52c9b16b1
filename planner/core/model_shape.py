"""ModelShape: the facts of a model that decide its memory and speed, whatever file they came from."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.core.attention.stores import StateStore, Store, TokenStore


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: the attention kind that claimed it, and what it stores (nothing for shared or attention-free layers)."""

    kind: str
    stores: tuple[Store, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A fact the reader took from somewhere other than the file itself, or something the user should know."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class FeedForward:
    """The feed-forward part: `intermediate_size` of dense layers; experts are 0 for a dense model.

    `dense_layers` counts the layers of a mixture-of-experts model that are dense.
    """

    intermediate_size: int
    experts: int = 0
    experts_per_token: int = 0
    expert_intermediate_size: int = 0
    shared_expert_intermediate_size: int = 0
    dense_layers: int = 0


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A generative text model, read from a config.json or a GGUF header.

    `layers` has one entry per layer in model order; draft (MTP, next-n) layers stand apart in `draft_layers`.
    `dtype` is the type the weights are computed in (`bfloat16`, `float16`, `float32`); `quantization` the method name
    of an already quantised checkpoint (`awq`, `fp8`, `mxfp4` …) or None.
    `weight_format` is the weights' format by the names of `weight_formats`, None for plain weights of `dtype`.
    `cache_dtype` is the cache type the checkpoint itself asks for, None in the usual case.
    """

    model_type: str
    architecture: str
    layers: tuple[Layer, ...]
    hidden_size: int
    vocab_size: int
    attention_heads: int
    max_context: int | None
    dtype: str
    feed_forward: FeedForward
    head_dim: int = 0
    draft_layers: tuple[Layer, ...] = ()
    quantization: str | None = None
    weight_format: str | None = None
    cache_dtype: str | None = None
    has_vision: bool = False
    has_audio: bool = False
    encoder_tokens: int | None = None
    notes: tuple[Note, ...] = ()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """The hash is of a few fields, once: a shape is the key of every cache here, and its layers are many."""
        few = (self.architecture, self.hidden_size, self.vocab_size, self.attention_heads, len(self.layers), self.weight_format)
        object.__setattr__(self, "_hash", hash(few))

    def __hash__(self) -> int:
        return self._hash

    def stores(self) -> Iterator[Store]:
        for layer in self.layers:
            yield from layer.stores

    @property
    def growing(self) -> tuple[TokenStore, ...]:
        """The stores that grow without bound with the context."""
        return tuple(s for s in self.stores() if isinstance(s, TokenStore) and s.window is None and s.kind != "cross")

    @property
    def bounded(self) -> tuple[Store, ...]:
        """The stores whose size per sequence has a ceiling: windows, states, cross-attention."""
        return tuple(s for s in self.stores() if isinstance(s, StateStore) or s.window is not None or s.kind == "cross")
