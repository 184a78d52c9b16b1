"""What an attention kind is: which layers of a configuration it claims, and what such a layer stores."""

from collections.abc import Callable
from dataclasses import dataclass

from planner.core.attention.config import HfConfig
from planner.core.attention.schedule import layer_words
from planner.core.attention.stores import Store


@dataclass(frozen=True, slots=True)
class AttentionKind:
    """One way of caching. `layers_in` claims layers by number; `stores` says what a claimed layer keeps.

    `stores` may be asked for a layer past the last one: the draft (next-token prediction) layers that follow it.
    """

    name: str
    layers_in: Callable[[HfConfig], frozenset[int]]
    stores: Callable[[HfConfig, int], tuple[Store, ...]]


def layers_called(*words: str) -> Callable[[HfConfig], frozenset[int]]:
    """Claims the layers that the configuration's schedule calls by one of `words`."""

    def layers_in(config: HfConfig) -> frozenset[int]:
        return frozenset(layer for layer, word in enumerate(layer_words(config)) if word in words)

    return layers_in
