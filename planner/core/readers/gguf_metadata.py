"""The metadata of a GGUF file, every value typed and bounded: one value for all layers, or a list with one per layer."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Final

from planner.core.errors import InputError

MAX_LAYERS: Final = 2_048
MAX_SIZE: Final = 2**24
MAX_TOKENS: Final = 2**30


class GgufError(InputError):
    """A GGUF file or its metadata that cannot be planned with."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="gguf")


def shown(value: object) -> str:
    text = " ".join(str(value)[:200].split())
    return f"“{text[:40]}…”" if len(text) > 40 else f"“{text}”"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Values by key. Keys of the architecture are asked for without its name: `block_count` is `llama.block_count`."""

    values: Mapping[str, object]
    architecture: str

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "Metadata":
        """Raises GgufError when no architecture can be told: neither stated nor the prefix of a block count."""
        if not isinstance(values, Mapping):
            raise GgufError("GGUF metadata must be an object with keys such as llama.block_count.")
        stated = values.get("general.architecture")
        prefixes = [key.removesuffix(".block_count") for key in values if isinstance(key, str) and key.endswith(".block_count")]
        if not isinstance(stated, str) or not stated:
            if len(prefixes) != 1:
                raise GgufError("The GGUF metadata does not say its architecture: general.architecture is missing.")
            stated = prefixes[0]
        return cls(values, stated[:80])

    def raw(self, key: str) -> object:
        return self.values.get(f"{self.architecture}.{key}")

    def has(self, key: str) -> bool:
        return self.raw(key) is not None

    def integer(self, key: str, *, low: int = 0, high: int = MAX_SIZE) -> int | None:
        """A whole number, None when absent. Of a list of equal numbers, that number."""
        value = self.raw(key)
        if isinstance(value, list | tuple) and value and all(item == value[0] for item in value):
            value = value[0]
        return None if value is None else self._checked(key, value, low=low, high=high)

    def required(self, key: str, *, low: int = 1, high: int = MAX_SIZE) -> int:
        value = self.integer(key, low=low, high=high)
        if value is None:
            raise GgufError(f"{self.architecture}.{key} is missing from this GGUF metadata.")
        return value

    def per_layer(self, key: str, layers: int, *, high: int = MAX_SIZE) -> tuple[int, ...] | None:
        """One whole number (or boolean) per layer, a single one repeated; None when absent. Longer lists are cut."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            return (self._checked(key, value, low=0, high=high),) * layers
        if not layers <= len(value) <= 2 * MAX_LAYERS:
            raise GgufError(f"{self.architecture}.{key} has {len(value):,} entries in this GGUF metadata for {layers} layers.")
        return tuple(self._checked(key, item, low=0, high=high) for item in value[:layers])

    def is_list(self, key: str) -> bool:
        return isinstance(self.raw(key), list | tuple)

    def length(self, key: str) -> int | None:
        """Entries of an array under its whole key, read or passed over; None when there is none."""
        value = self.values.get(key)
        return (
            len(value)
            if isinstance(value, Sized) and (isinstance(value, Sequence) or hasattr(value, "skipped")) and not isinstance(value, str)
            else None
        )

    def _checked(self, key: str, value: object, *, low: int, high: int) -> int:
        if isinstance(value, bool):
            value = int(value)
        if not isinstance(value, int) or not low <= value <= high:
            raise GgufError(
                f"{self.architecture}.{key} is {shown(value)} in this GGUF metadata: it must be a whole number from {low:,} to {high:,}."
            )
        return value
