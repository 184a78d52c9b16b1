"""How many parameters a model has, part by part, from its config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from planner.core.attention.config import ConfigError, HfConfig
from planner.core.attention.schedule import layer_words
from planner.core.readers.parameter_blocks import MIXERS
from planner.core.readers.parameter_feed_forward import FeedForwardCount, feed_forward
from planner.core.readers.parameter_towers import towers
from planner.core.readers.parameter_traits import TRAITS, Traits, says

# A family that is not in the table is counted as a llama-like one. Held against published counts of such families
# the error stays within this share; see the tests.
UNKNOWN_SHARE: Final = 0.10


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
    traits = TRAITS.get(view.model_type)
    counter = _Counter(view, traits or Traits())
    vision = towers(config, text_hidden=view.hidden_size)
    layers = counter.layers()
    tied = _tied(view, config, counter.traits)
    embedding = counter.embedding()
    output = 0 if tied else counter.head()
    fixed = sum(layer.fixed for layer in layers) + counter.ends()
    experts = sum(layer.experts for layer in layers)
    active_experts = sum(layer.active for layer in layers)
    total = embedding + output + fixed + experts + vision.total
    unknown = () if traits else (f"{view.title} is counted like a Llama",)
    doubts = (*unknown, *counter.doubts, *vision.doubts)
    share = UNKNOWN_SHARE if traits is None or counter.doubts else 0.0
    spread = round(share * total) + vision.spread
    return ParameterCount(
        total=total,
        active=embedding + output + fixed + active_experts,
        embedding=embedding,
        output=output,
        experts=experts,
        active_experts=active_experts,
        towers=vision.total,
        exact=not doubts,
        low=total - spread,
        high=total + spread,
        why=f"estimated: {'; '.join(doubts)}" if doubts else f"every weight of a {view.title} counted from its config.json",
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
    """Counts one language model; `doubts` collects what it could not know."""

    def __init__(self, config: HfConfig, traits: Traits) -> None:
        self.config = config
        self.traits = traits
        self.doubts: list[str] = []
        self.hidden = config.hidden_size

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
        norm = self.hidden * (2 if says(self.config, self.traits.norm_bias) else 1)
        return (norm if self.traits.final_norm else 0) + (norm if self.config.model_type == "bloom" else 0)

    def layers(self) -> list[FeedForwardCount]:
        words = layer_words(self.config)
        return [self._layer(layer, word) for layer, word in enumerate(words)]

    def _layer(self, layer: int, word: str) -> FeedForwardCount:
        part = feed_forward(self.config, self.traits, layer)
        norms = self.traits.norms * self.hidden * (2 if says(self.config, self.traits.norm_bias) else 1)
        return FeedForwardCount(part.fixed + self._mixer(layer, word) + norms, part.experts, part.active)

    def _mixer(self, layer: int, word: str) -> int:
        try:
            if word in MIXERS:
                return MIXERS[word](self.config, self.traits, layer)
        except ConfigError:
            pass  # a key it needs is missing: an estimate, like a kind that is not known
        self._doubt(f"layers of the kind “{word}” are counted like attention")
        return 4 * self.hidden * self.hidden

    def _doubt(self, text: str) -> None:
        if text not in self.doubts:
            self.doubts.append(text)

    def draft(self) -> int:
        """Draft layers: each like the last layer, with a projection of two hidden states and its norms."""
        count = self.config.integer("num_nextn_predict_layers", "mtp_num_hidden_layers", "_num_mtp_layers", low=0, high=64)
        count = self.traits.draft_layers if count is None else count
        if not count:
            return 0
        last = self._layer(self.config.layers - 1, layer_words(self.config)[-1])
        tables = 2 * self.vocabulary() * self.hidden if self.traits.draft_tables else 0
        return count * (last.fixed + last.experts + 2 * self.hidden * self.hidden + 3 * self.hidden + tables)
