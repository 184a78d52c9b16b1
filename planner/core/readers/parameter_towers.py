"""Parameters of the vision and audio encoders beside a language model, with what joins them to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from planner.core.attention.config import ConfigError, HfConfig

VISION: Final = ("vision_config", "visual", "vision_tower_config")
AUDIO: Final = ("audio_config", "audio_encoder_config", "speech_config")
# An encoder that is not known by its layout is counted as a plain transformer; the joint may be anything.
UNKNOWN_VISION_SHARE: Final = 0.4
UNKNOWN_AUDIO_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Towers:
    """`spread` is how far the total may be off; `doubts` says why."""

    total: int = 0
    spread: int = 0
    doubts: tuple[str, ...] = ()


def towers(config: Mapping[str, object], *, text_hidden: int) -> Towers:
    """The encoders of a parsed config.json; `text_hidden` is the hidden size of the language model they feed."""
    parts = [_vision(config, text_hidden), _audio(config, text_hidden)]
    return Towers(
        total=sum(part.total for part in parts),
        spread=sum(part.spread for part in parts),
        doubts=tuple(doubt for part in parts for doubt in part.doubts),
    )


def _section(config: Mapping[str, object], names: tuple[str, ...]) -> HfConfig | None:
    thinker = config.get("thinker_config")
    for source in (config, thinker if isinstance(thinker, Mapping) else {}):
        for name in names:
            value = source.get(name)
            if isinstance(value, Mapping):
                return HfConfig(values=value, root=config)
    return None


def _vision(config: Mapping[str, object], text_hidden: int) -> Towers:
    vision = _section(config, VISION)
    if vision is None:
        return Towers(_phi3(text_hidden)) if config.get("model_type") == "phi3_v" else Towers()
    family = _family(vision, config)
    try:
        if family in _KNOWN:
            return Towers(_KNOWN[family](vision, text_hidden))
        total = _plain_encoder(vision) + 2 * text_hidden * text_hidden
    except ConfigError:
        return Towers(doubts=("its vision encoder is not counted",))
    return Towers(total, round(UNKNOWN_VISION_SHARE * total), ("its vision encoder is counted like a plain one",))


def _audio(config: Mapping[str, object], text_hidden: int) -> Towers:
    audio = _section(config, AUDIO)
    if audio is None:
        return Towers()
    try:
        total = _plain_encoder(audio) + text_hidden * text_hidden
    except ConfigError:
        return Towers(doubts=("its audio encoder is not counted",))
    return Towers(total, round(UNKNOWN_AUDIO_SHARE * total), ("its audio encoder is counted like a plain one",))


def _family(vision: HfConfig, config: Mapping[str, object]) -> str:
    """The layout's name: the whole model's where encoder and joint belong to it, else the encoder's."""
    whole = config.get("model_type")
    own = vision.values.get("model_type")
    joint = f"{whole}:{own}"
    for prefix in ("qwen2_5_vl", "qwen2_vl", "qwen3_vl", "qwen3_5"):
        if str(whole).startswith(prefix):
            return prefix
    return joint


def _width(vision: HfConfig) -> int:
    return vision.required("embed_dim", "vt_hidden_size", "hidden_size", "width", "d_model")


def _depth(vision: HfConfig) -> int:
    return vision.required(
        "depth", "vt_num_hidden_layers", "num_hidden_layers", "layers", "encoder_layers", "conf_num_hidden_layers", high=512
    )


def _inner(vision: HfConfig, width: int) -> int:
    ratio = vision.values.get("mlp_ratio")
    stated = vision.integer("intermediate_size", "vt_intermediate_size", "encoder_ffn_dim")
    return stated or round(width * (ratio if isinstance(ratio, int | float) and 0 < ratio < 64 else 4))


def _patches(vision: HfConfig) -> int:
    return (vision.required("image_size") // vision.required("patch_size", "spatial_patch_size")) ** 2


def _patch_weights(vision: HfConfig, *, frames: int = 1) -> int:
    return 3 * frames * vision.required("patch_size", "spatial_patch_size") ** 2 * _width(vision)


def _block(width: int, inner: int) -> int:
    """A pre-norm transformer layer with biases: two layer norms, four projections, two feed-forward matrices."""
    return 4 * width + 4 * (width * width + width) + 2 * width * inner + inner + width


def _plain_encoder(vision: HfConfig) -> int:
    width = _width(vision)
    return _depth(vision) * _block(width, _inner(vision, width)) + 1024 * width


def _linear(into: int, out: int, *, bias: bool = True) -> int:
    return into * out + (out if bias else 0)


def _siglip(vision: HfConfig) -> int:
    width = _width(vision)
    layers = _depth(vision) * _block(width, _inner(vision, width))
    return _patch_weights(vision) + width + _patches(vision) * width + layers + 2 * width


def _gemma3(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/gemma3/modeling_gemma3.py, Gemma3MultiModalProjector."""
    return _siglip(vision) + _width(vision) * text + _width(vision)


def _idefics3(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/idefics3/modeling_idefics3.py, Idefics3Connector (4 × 4 patches per token)."""
    return _siglip(vision) + 16 * _width(vision) * text


def _llava(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/clip/modeling_clip.py and models/llava/modeling_llava.py."""
    width = _width(vision)
    layers = _depth(vision) * _block(width, _inner(vision, width))
    encoder = _patch_weights(vision) + width + (_patches(vision) + 1) * width + layers + 4 * width
    return encoder + _linear(width, text) + _linear(text, text)


def _pixtral(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/pixtral/modeling_pixtral.py and models/mistral3/modeling_mistral3.py."""
    width = _width(vision)
    layer = 2 * width + 4 * width * width + 3 * width * _inner(vision, width)
    encoder = _patch_weights(vision) + width + _depth(vision) * layer
    return encoder + width + 4 * width * width + width * text + text * text


def _qwen2_vl(vision: HfConfig, text: int) -> int:
    """Sizes that a file leaves out are the class's. Source: transformers 5 models/qwen2_vl/modeling_qwen2_vl.py and configuration."""
    width, patch = vision.integer("embed_dim") or 1280, vision.integer("patch_size") or 14
    layers = (vision.integer("depth", high=512) or 32) * _block(width, 4 * width)
    return 3 * 2 * patch**2 * width + layers + 2 * width + _linear(4 * width, 4 * width) + _linear(4 * width, text)


def _qwen2_5_vl(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/qwen2_5_vl/modeling_qwen2_5_vl.py."""
    width, inner = _width(vision), _inner(vision, _width(vision))
    layer = 2 * width + 4 * (width * width + width) + 3 * width * inner + 2 * inner + width
    merger = width + _linear(4 * width, 4 * width) + _linear(4 * width, text)
    return _patch_weights(vision, frames=2) + _depth(vision) * layer + merger


def _qwen3_vl(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/qwen3_vl/modeling_qwen3_vl.py; Qwen3.5 has the same encoder without the deep stack."""
    width = _width(vision)
    layers = _depth(vision) * _block(width, _inner(vision, width))
    merge = _linear(4 * width, 4 * width) + _linear(4 * width, text)
    deep = len(vision.integers("deepstack_visual_indexes") or ()) * (8 * width + merge)
    positions = (vision.integer("num_position_embeddings") or 0) * width
    return _patch_weights(vision, frames=2) + width + positions + layers + 2 * width + merge + deep


def _llama4(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/llama4/modeling_llama4.py."""
    width = _width(vision)
    joined = vision.integer("projector_input_dim") or 4096
    layers = _depth(vision) * _block(width, _inner(vision, width))
    encoder = _patch_weights(vision) + width + (_patches(vision) + 1) * width + layers + 4 * width
    out = vision.integer("vision_output_dim", "projector_output_dim") or joined
    return encoder + 4 * width * joined + joined * out + out * text


def _gemma4(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/gemma4/modeling_gemma4.py, Gemma4VisionModel and its projector."""
    width, inner = _width(vision), _inner(vision, _width(vision))
    head = vision.integer("head_dim") or width // vision.required("num_attention_heads")
    layer = 4 * width * width + 3 * width * inner + 4 * width + 2 * head
    positions = 2 * vision.required("position_embedding_size") * width
    scales = 2 * width if vision.flag("standardize") else 0
    return _patch_weights(vision) + positions + _depth(vision) * layer + scales + width * text


def _glm4v(vision: HfConfig, text: int) -> int:
    """Source: transformers 5 models/glm4v/modeling_glm4v.py, Glm4vVisionModel."""
    width = _width(vision)
    out = vision.integer("out_hidden_size") or text
    layer = 2 * width + 4 * width * width + 3 * width * out
    merger = out * out + 2 * out + 3 * out * _inner(vision, width)
    patches = _patch_weights(vision, frames=2) + width + _patches(vision) * width
    return patches + _depth(vision) * layer + 2 * width + _linear(4 * width, out) + merger


def _phi3(text: int) -> int:
    """CLIP ViT-L/14 at 336 pixels, which the class fixes. Source: Phi-3-vision-128k-instruct image_embedding_phi3_v.py."""
    width = 1024
    encoder = 3 * 14 * 14 * width + width + 577 * width + 24 * _block(width, 4 * width) + 4 * width
    return encoder + _linear(4 * width, text) + _linear(text, text) + 8 * width


def _intern_vit(vision: HfConfig, text: int) -> int:
    """Source: InternVL2 modeling_intern_vit.py and modeling_internvl_chat.py."""
    width = _width(vision)
    layers = _depth(vision) * (_block(width, _inner(vision, width)) + 2 * width)
    encoder = width + _patch_weights(vision) + width + (_patches(vision) + 1) * width + layers
    return encoder + 8 * width + _linear(4 * width, text) + _linear(text, text)


def _moon_vit(vision: HfConfig, text: int) -> int:
    """Source: Kimi-VL modeling_kimi_vl.py, MoonVitPretrainedModel and its patch merger."""
    width = _width(vision)
    layers = _depth(vision) * _block(width, _inner(vision, width))
    grid = vision.required("init_pos_emb_height") * vision.required("init_pos_emb_width")
    merger = 2 * width + _linear(4 * width, 4 * width) + _linear(4 * width, text)
    return _patch_weights(vision) + width + grid * width + layers + 2 * width + merger


_KNOWN: Final = {
    "gemma3:siglip_vision_model": _gemma3,
    "idefics3:idefics3_vision": _idefics3,
    "llava:clip_vision_model": _llava,
    "mistral3:pixtral": _pixtral,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen3_vl": _qwen3_vl,
    "qwen3_5": _qwen3_vl,
    "llama4:llama4_vision_model": _llama4,
    "internvl_chat:intern_vit_6b": _intern_vit,
    "glm4v:glm4v_vision": _glm4v,
    "glm4v:None": _glm4v,
    "gemma4:gemma4_vision": _gemma4,
    "kimi_k25:": _moon_vit,
    "kimi_k25:None": _moon_vit,
}
