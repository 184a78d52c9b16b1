"""How many parameters a model has, part by part, from its config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from planner.core.attention.config import ConfigError, HfConfig
from planner.core.attention.schedule import layer_words
from planner.core.attention.words import FULL
from planner.core.readers.parameter_blocks import MIXERS, ROUGH, indexer
from planner.core.readers.parameter_families import layer_extras, model_extras
from planner.core.readers.parameter_feed_forward import FeedForwardCount, feed_forward
from planner.core.readers.parameter_towers import towers
from planner.core.readers.parameter_traits import TRAITS, Traits, says

# A family that is not in the table is counted as a llama-like one. Published counts of such families lie within these
# shares of it: they have parts that are not counted more often than they lack some.
UNKNOWN_BELOW: Final = 0.05
UNKNOWN_ABOVE: Final = 0.13


@dataclass(frozen=True, slots=True)
class ParameterCount:
    """Parameters of a model as an engine loads it. `active` is what one token uses.

    Of the total: `embedding` is the input table, `output` the lm_head (0 when tied to it), `experts` all routed experts,
    of which `active_experts` serve one token, and `towers` the vision and audio encoders. `draft` (MTP, next-n layers) is
    not in the total: engines load it only for speculative decoding.
    `exact` says that every weight is accounted for; else the total lies between `low` and `high`, and `why` says why.
    """

    total: int
    active: int
    embedding: int
    output: int
    experts: int
    active_experts: int
    towers: int
    exact: bool
    low: int
    high: int
    why: str
    draft: int = 0

    @property
    def body(self) -> int:
        """Everything in the layers but the routed experts."""
        return self.total - self.embedding - self.output - self.experts - self.towers


def parameter_count(config: Mapping[str, object]) -> ParameterCount:
    """Parameters of the model that a parsed config.json describes. Raises InputError where a key it needs is missing."""
    view = HfConfig.of(config)
    known = TRAITS.get(view.model_type)
    counter = _Counter(view, known or Traits(sure=False))
    layers = counter.layers()
    lookup, more = model_extras(view)
    encoders = towers(config, text_hidden=view.hidden_size)
    embedding = counter.embedding() + lookup
    output = 0 if _tied(view, config, counter.traits) else counter.head()
    fixed = sum(layer.fixed for layer in layers) + counter.ends() + more
    experts = sum(layer.experts for layer in layers)
    active_experts = sum(layer.active for layer in layers)
    total = embedding + output + fixed + experts + encoders.total
    unsure = (
        () if counter.traits.sure else (f"{view.title} is counted like a Llama" if known is None else f"a {view.title} is counted roughly",)
    )
    doubts = (*unsure, *counter.doubts, *encoders.doubts)
    spread = counter.spread + encoders.spread
    return ParameterCount(
        total=total,
        active=embedding + output + fixed + active_experts,
        embedding=embedding,
        output=output,
        experts=experts,
        active_experts=active_experts,
        towers=encoders.total,
        exact=not doubts,
        low=total - spread - (round(UNKNOWN_BELOW * total) if unsure else 0),
        high=total + spread + (round(UNKNOWN_ABOVE * total) if unsure else 0),
        why=f"estimated: {'; '.join(doubts)}" if doubts else f"every weight of {view.title} counted from its config.json",
        draft=counter.draft(),
    )


def _tied(view: HfConfig, config: Mapping[str, object], traits: Traits) -> bool:
    """Whether the output table is the input one: said by the language model, by the whole file, or by the class's default."""
    for source in (view.values, config):
        stated = source.get("tie_word_embeddings")
        if isinstance(stated, bool):
            return stated
    return traits.tied


class _Counter:
    """Counts one language model; `doubts` and their `spread` collect what it could not know."""

    def __init__(self, config: HfConfig, traits: Traits) -> None:
        self.config = config
        self.traits = traits
        self.hidden = config.hidden_size
        self.norm = self.hidden * (2 if says(config, traits.norm_bias) else 1)
        self.doubts: dict[str, None] = {}
        self.spread = 0

    def vocabulary(self) -> int:
        return self.config.required("padded_vocab_size", "embedding_size", "vocab_size")

    def embedding(self) -> int:
        positions = self.config.integer(self.traits.positions) if self.traits.positions else 0
        offset = 2 if self.config.model_type == "opt" else 0
        return self.vocabulary() * self.hidden + ((positions or 0) + offset) * self.hidden

    def head(self) -> int:
        return self.vocabulary() * self.hidden + (self.vocabulary() if says(self.config, self.traits.head_bias) else 0)

    def ends(self) -> int:
        """The norm after the last layer, and the one after the embedding where there is one."""
        return (self.norm if self.traits.final_norm else 0) + (self.norm if self.config.model_type == "bloom" else 0)

    def layers(self) -> list[FeedForwardCount]:
        words = layer_words(self.config)
        return [self._layer(layer, word) for layer, word in enumerate(words)]

    def _layer(self, layer: int, word: str) -> FeedForwardCount:
        part = feed_forward(self.config, self.traits, layer)
        fixed = self._mixer(layer, word) + self._norms(layer) + layer_extras(self.config, layer)
        return FeedForwardCount(part.fixed + fixed, part.experts, part.active)

    def _norms(self, layer: int) -> int:
        """Norms over the hidden size: as many as the family has, less those of parts that this layer does not have."""
        # Falcon-7B's parallel layers have one norm where its successors have one each for attention and feed-forward.
        single = self.config.flag("parallel_attn") and self.config.flag("multi_query") and not self.config.flag("new_decoder_architecture")
        block = self.config.block(layer)
        removed = sum(bool(block.section(part).flag("no_op")) for part in ("attention", "ffn"))
        return ((1 if single else self.traits.norms) - removed) * self.norm

    def _mixer(self, layer: int, word: str) -> int:
        if word in MIXERS:
            return MIXERS[word](self.config, self.traits, layer)
        if word not in ROUGH:
            raise ConfigError(
                f"The parameters of {self.config.title} cannot be counted from its config.json: give the size of its weights."
            )
        size = 4 * self.hidden * self.hidden
        self.doubts[f"layers of the kind “{word}” are counted like attention"] = None
        self.spread += size
        return size

    def draft(self) -> int:
        """Draft layers: each like the last layer, with a projection of two hidden states and its norms."""
        count = self.config.integer("num_nextn_predict_layers", "mtp_num_hidden_layers", "_num_mtp_layers", low=0, high=64)
        count = self.traits.draft_layers if count is None else count
        if not count:
            return 0
        last = self.config.layers - 1
        layer = self._layer(last, layer_words(self.config)[-1])
        # A draft layer has an indexer of its own even where the last layer shares one.
        indexers = indexer(self.config, last + 1) - indexer(self.config, last) if self.config.has("index_n_heads") else 0
        tables = 2 * self.vocabulary() * self.hidden if self.traits.draft_tables else 0
        join = 2 * self.hidden * self.hidden + 3 * self.hidden
        return count * (layer.fixed + layer.experts + join + indexers + self._draft_attention() + tables)

    def _draft_attention(self) -> int:
        """The attention of a draft layer in a network whose layers are one thing only (Nemotron-H)."""
        pattern = self.config.values.get("mtp_hybrid_override_pattern") or self.config.values.get("mtp_layers_block_type")
        if not isinstance(pattern, str | list) or not any(word in {"*", "attention"} for word in pattern):
            return 0
        return self._mixer(self.config.layers - 1, FULL) + self.norm
