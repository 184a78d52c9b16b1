"""Which builds of llama.cpp are known here, and the memory rules that differ between them."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core.errors import InputError

# Builds whose sources and help texts were read; a build between two of them follows the older one's rules.
BUILDS: Final = ("b9093", "b9360", "b9672", "b9873", "b10289", "b10603", "b11010", "b11434")


@dataclass(frozen=True, slots=True)
class Rules:
    """What one build does. Each property names where it changed."""

    build: int

    @property
    def reserves_all_logits(self) -> bool:
        """Before b9672 the compute buffer held logits for every token of a micro-batch (llama-context.cpp, n_outputs_max)."""
        return self.build < 9672

    @property
    def checkpoint_step(self) -> int:
        """Least tokens between snapshots (--checkpoint-min-step): 256 up to b9672, 8,192 from b9873 on."""
        return 256 if self.build < 9873 else 8192

    @property
    def prints_slot_context(self) -> bool:
        """The line of the slots names their context from b9873 on, and did not in b9672."""
        return self.build >= 9873

    @property
    def prints_snapshots(self) -> bool:
        """The line of the recurrent memory names its snapshots; read in b11434 only."""
        return self.build >= 11434

    @property
    def caps_slots(self) -> bool:
        """`--kv-unified-per-slot` exists from b11010 on."""
        return self.build >= 11010


@lru_cache(maxsize=64)
def rules_of(version: str) -> Rules:
    """The rules of a build such as `b11434`; “auto” is the newest. Raises InputError for a build that is not known here."""
    text = version.strip()[:40]
    if text.lower() in {"", "auto"}:
        text = BUILDS[-1]
    match = re.fullmatch(r"[bB]?(\d{1,9})", text)
    first, last = (int(build[1:]) for build in (BUILDS[0], BUILDS[-1]))
    if match is None or not first <= int(match[1]) <= last:
        raise InputError(f"llama-server “{text}” is not known here: give a build from {BUILDS[0]} to {BUILDS[-1]}.", field="engine_version")
    return Rules(int(match[1]))
