"""Element types of llama.cpp's cache: how many bytes a row takes, and which combinations the engine refuses."""

from dataclasses import dataclass
from typing import Final

from planner.core.errors import InputError


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


# Source: llama.cpp b11434 common/arg.cpp, kv_cache_types; ggml/src/ggml-common.h, block sizes.
CACHE_TYPES: Final = {
    kind.name: kind
    for kind in (
        CacheType("f32", 1, 4),
        CacheType("f16", 1, 2),
        CacheType("bf16", 1, 2),
        CacheType("q8_0", 32, 34),
        CacheType("q5_1", 32, 24),
        CacheType("q5_0", 32, 22),
        CacheType("q4_1", 32, 20),
        CacheType("q4_0", 32, 18),
        CacheType("iq4_nl", 32, 18),
    )
}


def cache_type(name: str, *, field: str) -> CacheType:
    """The type called `name`; "auto" is llama-server's default, f16. Raises InputError with the accepted names."""
    wanted = name.strip().lower()[:40]
    found = CACHE_TYPES.get("f16" if wanted in {"", "auto"} else wanted)
    if found is None:
        raise InputError(f"llama.cpp has no cache type “{name.strip()[:40]}”: choose one of {', '.join(CACHE_TYPES)}.", field=field)
    return found
