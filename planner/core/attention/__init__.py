"""How one layer caches: one file per kind, found here by its KIND. Every layer is claimed by exactly one."""

import importlib
import pkgutil
from typing import Final

from planner.core.attention.config import BY_HAND, HfConfig, UnknownLayerError, shown
from planner.core.attention.kind import AttentionKind
from planner.core.attention.schedule import layer_words


def _found() -> tuple[AttentionKind, ...]:
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return tuple(module.KIND for module in modules if hasattr(module, "KIND"))


KINDS: Final = _found()


def kinds_of(config: HfConfig) -> tuple[AttentionKind, ...]:
    """The kind of every layer, in order.

    Raises UnknownLayerError when no kind claims a layer, or more than one does, naming the model type and the layer type.
    """
    claims = [(kind, kind.layers_in(config)) for kind in KINDS]
    words = layer_words(config)
    return tuple(_only([kind for kind, layers in claims if layer in layers], config, layer, words[layer]) for layer in range(len(words)))


def _only(claiming: list[AttentionKind], config: HfConfig, layer: int, word: str) -> AttentionKind:
    if len(claiming) == 1:
        return claiming[0]
    if claiming:
        raise UnknownLayerError(f"Layer {layer} ({config.title}) is claimed by {' and '.join(kind.name for kind in claiming)}: {BY_HAND}.")
    raise UnknownLayerError(
        f"Layer {layer} of this model ({config.title}) is called {shown(word)}: how such a layer caches is not known here, and not guessed; {BY_HAND}."
    )
