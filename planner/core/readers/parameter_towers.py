"""Parameters of vision and audio encoders beside a language model."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Towers:
    """`spread` is how far the total may be off; `doubts` says why."""

    total: int = 0
    spread: int = 0
    doubts: tuple[str, ...] = ()


def towers(config: Mapping[str, object]) -> Towers:
    if any(isinstance(config.get(name), Mapping) for name in ("vision_config", "audio_config", "visual")):
        return Towers(doubts=("its vision or audio encoder is not counted",))
    return Towers()
