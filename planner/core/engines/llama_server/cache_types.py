"""Element types of llama.cpp's cache: how many bytes a row takes, and which combinations the engine refuses."""

from dataclasses import dataclass
from typing import Final

from planner.core.errors import InputError
from planner.core.precision import GGML_BLOCKS


@dataclass(frozen=True, slots=True)
class CacheType:
    """A ggml type: `block` elements share `block_bytes` bytes."""

    name: str
    block: int
    block_bytes: int

    @property
    def quantised(self) -> bool:
        return self.block > 1

    def row_bytes(self, elements: int) -> int:
        """Bytes of a row of `elements`, a multiple of the block. Source: llama.cpp b11434 ggml/src/ggml.c, ggml_row_size."""
        return elements // self.block * self.block_bytes


# Source: llama.cpp b11434 common/arg.cpp, kv_cache_types.
CACHE_TYPES: Final = {
    name: CacheType(name, *GGML_BLOCKS[name]) for name in ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
}


def cache_type(name: str, *, field: str) -> CacheType:
    """The type called `name`; "auto" is llama-server's default, f16. Raises InputError with the accepted names."""
    wanted = name.strip().lower()[:40]
    found = CACHE_TYPES.get("f16" if wanted in {"", "auto"} else wanted)
    if found is None:
        raise InputError(f"llama.cpp has no cache type “{name.strip()[:40]}”: choose one of {', '.join(CACHE_TYPES)}.", field=field)
    return found
