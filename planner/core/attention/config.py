"""A config.json as kinds and readers see it: the language model's part of it, every value typed and bounded."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.core.attention.class_defaults import DETAILS, STRUCTURE
from planner.core.errors import InputError

# Where multimodal configurations keep their language model; the innermost one counts.
TEXT_SECTIONS: Final = (
    "text_config", "llm_config", "language_config", "thinker_config", "lm_config", "text_model_config", "language_model_config",
)  # fmt: skip
MAX_NESTING: Final = 4

MAX_LAYERS: Final = 2_048
MAX_HEADS: Final = 2**16
MAX_SIZE: Final = 2**24
MAX_TOKENS: Final = 2**30

LAYERS: Final = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")
DECODER_LAYERS: Final = ("decoder_layers", "num_decoder_layers")
HIDDEN_SIZE: Final = ("hidden_size", "n_embd", "d_model", "n_embed", "dim", "model_dim")
# LongCat-Flash: a block runs attention twice, and its file counts blocks. Source: transformers 5, LongcatFlashConfig.
TWICE_ATTENDING: Final = "longcat_flash"
# A list of one entry per layer says how many layers there are, where the number itself is left out.
LAYER_LISTS: Final = ("layer_types", "layers_block_type", "hybrid_override_pattern", "block_configs")
# Keys that only order layers, and so need no default beside such a list.
ORDER: Final = ("sliding_window_pattern", "full_attention_interval", "attn_layer_period", "attn_layer_offset", "no_rope_layer_interval")

BY_HAND: Final = "enter the bytes per token by hand instead"


class ConfigError(InputError):
    """A config.json that cannot be planned with; the sentence names what is missing or contradictory."""

    def __init__(self, message: str) -> None:
        super().__init__(message, field="config")


class UnknownLayerError(ConfigError):
    """A layer that no attention kind knows: the plan can go on with bytes per token entered by hand."""


def plain(text: str) -> str:
    """Text from the file on one line, without control characters or halves of characters."""
    kept = "".join(character for character in text if character.isprintable() or character.isspace())
    return " ".join(kept.encode("utf-8", "replace").decode().split())


def shown(value: object) -> str:
    """A value from the file as it may stand in a sentence: short and plain."""
    if isinstance(value, (list, Mapping)):
        return f"a list of {len(value)}" if isinstance(value, list) else "an object"
    if isinstance(value, int) and abs(value) > 10**15:
        return "an impossibly large number"
    text = plain(value[:200] if isinstance(value, str) else json.dumps(value, default=str))
    return f"“{text[:40]}…”" if len(text) > 40 else f"“{text}”"


@dataclass(frozen=True, slots=True)
class HfConfig:
    """The language model's section of a config.json.

    `values` is that section, with the documented defaults of its class filled in where the file leaves them out (`filled`
    names them); `root` is the whole file. Values are read through the accessors, which raise ConfigError for a value of
    the wrong type or out of range; a null counts as absent everywhere.
    """

    values: Mapping[str, object]
    root: Mapping[str, object]
    filled: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "HfConfig":
        """The view of a parsed config.json. Raises ConfigError when it is no object or nested without end."""
        if not isinstance(config, Mapping):
            raise ConfigError("This is not a config.json: it must be a JSON object with keys such as num_hidden_layers.")
        section, nested = _language_section(config)
        filled = _class_defaults(section, nested=nested)
        return cls(values={**filled, **section}, root=config, filled=filled)

    def section(self, name: str) -> "HfConfig":
        """A nested object of the section as a view of its own, empty when absent."""
        return self._view(self.values.get(name))

    def block(self, layer: int) -> "HfConfig":
        """What a network found by search (NAS) says of one layer in `block_configs`, empty when it says nothing."""
        blocks = self.values.get("block_configs")
        return self._view(blocks[layer] if isinstance(blocks, list) and layer < len(blocks) else None)

    def _view(self, value: object) -> "HfConfig":
        return HfConfig(values=value if isinstance(value, Mapping) else {}, root=self.root)

    def has(self, *names: str) -> bool:
        return any(self.values.get(name) is not None for name in names)

    def raw(self, *names: str) -> tuple[str, object]:
        """The first of `names` that has a value, with that value; the last name and None when none has."""
        for name in names:
            value = self.values.get(name)
            if value is not None:
                return name, value
        return names[-1], None

    def integer(self, *names: str, low: int = 1, high: int = MAX_SIZE) -> int | None:
        """The whole number under the first of `names` that has a value, None when none has."""
        name, value = self.raw(*names)
        return None if value is None else checked(name, value, low=low, high=high)

    def required(self, *names: str, low: int = 1, high: int = MAX_SIZE) -> int:
        """Like `integer`, but its absence is an error that names the key."""
        value = self.integer(*names, low=low, high=high)
        if value is None:
            raise ConfigError(f"{names[0]} is missing from this config.json ({self.title}): add it, or {BY_HAND}.")
        return value

    def flag(self, name: str) -> bool | None:
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise ConfigError(f"{name} is {shown(value)} in this config.json: it must be true or false.")

    def text(self, *names: str) -> str | None:
        """A short text of the section, or of the whole file where the section has none."""
        for source in (self.values, self.root):
            for name in names:
                value = source.get(name)
                if isinstance(value, str) and value:
                    return plain(value[:80])
        return None

    def integers(self, name: str, *, low: int = 0, high: int = MAX_SIZE) -> tuple[int, ...] | None:
        """A list of whole numbers, None when absent."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_LAYERS:
            raise ConfigError(f"{name} is {shown(value)} in this config.json: it must be a list of whole numbers.")
        return tuple(checked(name, item, low=low, high=high) for item in value)

    def for_layer(self, layer: int, *names: str, low: int = 1, high: int = MAX_SIZE) -> int | None:
        """A whole number that may differ by layer: one number for all, or a list with one per layer.

        `per_layer_config`, an object keyed by the layer's number, goes first.
        """
        overrides = self.values.get("per_layer_config")
        if isinstance(overrides, Mapping):
            own = self._view(overrides.get(f"{layer:02d}", overrides.get(str(layer)))).integer(*names, low=low, high=high)
            if own is not None:
                return own
        name, value_or_list = self.raw(*names)
        if not isinstance(value_or_list, list):
            return self.integer(*names, low=low, high=high)
        if layer >= len(value_or_list):
            raise ConfigError(f"{name} has {len(value_or_list)} entries in this config.json for {self.layers} layers.")
        return checked(name, value_or_list[layer], low=low, high=high)

    @property
    def model_type(self) -> str:
        return self.text("model_type") or ""

    @property
    def architecture(self) -> str:
        """The class the file names for the whole model, empty when it names none."""
        for source in (self.root, self.values):
            names = source.get("architectures")
            if isinstance(names, list) and names and isinstance(names[0], str):
                return plain(names[0][:80])
        return ""

    @property
    def title(self) -> str:
        """What the file calls its model, for sentences."""
        return f"model type {self.model_type}" if self.model_type else self.architecture or "no model_type given"

    @property
    def layers(self) -> int:
        """Layers that may cache: those of the language model, of the decoder where there is an encoder too."""
        if self.model_type.startswith(TWICE_ATTENDING) and self.has("num_layers"):
            return 2 * self.required("num_layers", high=MAX_LAYERS // 2)
        number = self.integer(*DECODER_LAYERS, *LAYERS, high=MAX_LAYERS)
        if number is not None:
            return number
        for name in LAYER_LISTS:
            entries = self.values.get(name)
            if (
                isinstance(entries, (list, str))
                and 1 <= len(entries) <= MAX_LAYERS
                and (name != "layer_types" or isinstance(entries, list))
            ):
                return len(entries)
        return self.required(*LAYERS, high=MAX_LAYERS)

    @property
    def hidden_size(self) -> int:
        return self.required(*HIDDEN_SIZE)


def checked(name: str, value: object, *, low: int, high: int) -> int:
    """`value` if it is a whole number in range. Raises ConfigError otherwise: texts, floats and booleans are no numbers here."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        found = f"the text {shown(value)}" if isinstance(value, str) else shown(value)
        raise ConfigError(f"{name} is {found} in this config.json: it must be a whole number from {low:,} to {high:,}.")
    return value


def _language_section(config: Mapping[str, object]) -> tuple[Mapping[str, object], bool]:
    section, depth = config, 0
    while True:
        inner = next((section[name] for name in TEXT_SECTIONS if isinstance(section.get(name), Mapping)), None)
        if not isinstance(inner, Mapping) or (not inner and any(name in section for name in LAYERS)):
            return section, depth > 0
        section, depth = inner, depth + 1
        if depth > MAX_NESTING:
            raise ConfigError("This config.json nests one language model in another without end.")


def _class_defaults(section: Mapping[str, object], *, nested: bool) -> dict[str, object]:
    """Defaults of the section's class for keys the file leaves out.

    Layer and head counts are taken from a class only for a nested section: Hugging Face writes those as the difference to
    the class, while a file of its own states them, so that there a missing count is a fault of the file.
    """
    model_type = section.get("model_type")
    if not isinstance(model_type, str):
        return {}
    known = {**(STRUCTURE.get(model_type, {}) if nested else {}), **DETAILS.get(model_type, {})}
    stated = {*section, *(ORDER if any(section.get(name) is not None for name in LAYER_LISTS) else ())}
    return {name: value for name, value in known.items() if name not in stated}
