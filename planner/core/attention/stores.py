"""What a layer keeps for a sequence: rows that grow with the tokens, or a state of fixed size.

Attention kinds say *what* is stored in these two shapes; each engine's memory policy says *how* it is allocated.
All counts are elements, not bytes: the element size belongs to the cache type, which the engine chooses.
"""

from dataclasses import dataclass
from typing import Literal

TokenKind = Literal["full", "sliding", "chunked", "latent", "indexer", "compressed", "cross"]
StateKind = Literal["mamba1", "mamba2", "gated_delta", "kda", "short_conv", "linear", "rwkv", "ngram"]


@dataclass(frozen=True, slots=True)
class TokenStore:
    """Rows kept per token by one layer.

    `window` caps the tokens a sequence keeps (None: grows with the context; for `cross`, the encoder's length).
    `per_rank`: every tensor-parallel rank holds all of it (latent vectors, indexer keys), instead of a share of the heads.
    `tokens_per_row`: how many tokens share one row (compressed caches), 1 otherwise.
    A store without values (`value_dim` 0) is one vector per token, as latent attention and indexers keep it; `sliding` and
    `per_rank` together mean such a vector in a window.
    """

    kind: TokenKind
    heads: int
    key_dim: int
    value_dim: int
    window: int | None = None
    per_rank: bool = False
    tokens_per_row: int = 1
    expanded: tuple[int, int, int] | None = None

    @property
    def elements_per_row(self) -> int:
        return self.heads * (self.key_dim + self.value_dim)

    def rows(self, context_tokens: int) -> int:
        """Rows one sequence of `context_tokens` tokens needs, before any engine's rounding."""
        tokens = context_tokens if self.window is None else min(context_tokens, self.window)
        return -(-tokens // self.tokens_per_row)


@dataclass(frozen=True, slots=True)
class StateStore:
    """State of fixed size kept per sequence by one recurrent layer.

    Convolution: `conv_rows` rows of `inner + 2 × groups × group_width` channels (keys and queries, or B and C, are per group).
    Recurrence: `heads × head_rows × head_columns` elements. Zero where a family has none.
    `state_dtype` is the element type the config asks for, None when it leaves it to the engine.
    """

    kind: StateKind
    conv_rows: int
    inner: int
    groups: int
    group_width: int
    heads: int
    head_rows: int
    head_columns: int
    state_dtype: str | None = None

    @property
    def conv_elements(self) -> int:
        return self.conv_rows * (self.inner + 2 * self.groups * self.group_width)

    @property
    def state_elements(self) -> int:
        return self.heads * self.head_rows * self.head_columns


Store = TokenStore | StateStore
