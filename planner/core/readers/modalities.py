"""What kind of model a config.json is for: only those that generate text are planned; the rest is answered in words."""

from typing import Final

from planner.core.attention.config import ConfigError, HfConfig

_ENCODERS: Final = frozenset((
    "bert", "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "distilbert", "albert", "electra", "deberta", "deberta-v2", "mpnet", "modernbert",
    "nomic_bert", "new", "mobilebert", "squeezebert", "funnel", "longformer", "big_bird", "roformer", "ernie", "eurobert", "neobert", "esm",
    "gte", "jina_bert", "xlm", "flaubert", "layoutlm", "layoutlmv2", "layoutlmv3",
))  # fmt: skip
_PERCEPTION: Final = frozenset((
    "vit", "deit", "beit", "swin", "swinv2", "convnext", "convnextv2", "resnet", "dinov2", "dinov3_vit", "clip", "clip_vision_model", "siglip", "siglip2",
    "siglip_vision_model", "sam", "sam2", "detr", "yolos", "wav2vec2", "wav2vec2-bert", "hubert", "wavlm", "clap", "encodec", "mimi", "vits", "owlvit",
))  # fmt: skip
_DIFFUSION: Final = frozenset(("llada", "llada_moe", "dream", "sdar", "diffusion_gemma"))
_HEADS: Final = (
    ("RewardModel", "a reward model: it scores a text"),
    ("ForSequenceClassification", "a classifier, reranker or reward model: it scores a text"),
    ("ForTokenClassification", "a token classifier: it labels a text"),
    ("ForMaskedLM", "an encoder that fills gaps"),
    ("ForQuestionAnswering", "an encoder that marks answers"),
    ("ForMultipleChoice", "an encoder that chooses answers"),
    ("ForImageClassification", "an image classifier"),
    ("ForCTC", "a speech recogniser without a language model: it labels sound"),
    ("EncoderModel", "an encoder: it turns a text into vectors"),
)  # fmt: skip
# Generative classes whose name ends like that of a bare encoder.
_GENERATIVE_MODELS: Final = ("LMHeadModel", "ChatModel", "ChatGLMModel", "DoubleHeadsModel")

_VISION: Final = (
    "vision_config",
    "visual",
    "vision_tower",
    "mm_vision_tower",
    "vit_config",
    "img_processor",
    "siglip_config",
    "vision_encoder_config",
)
_IMAGE_TOKENS: Final = ("image_token_index", "image_token_id", "boi_token_index")
_AUDIO: Final = ("audio_config", "speech_config", "audio_encoder_config", "audio_processor", "audio_encoder")


def require_generative(view: HfConfig) -> None:
    """Raises ConfigError, naming what the model is instead, unless it generates text token by token.

    An embedding model or reranker whose file equals a generative one's (Qwen3-Embedding) cannot be told apart and passes.
    """
    if "_class_name" in view.root or "_diffusers_version" in view.root:
        raise _refusal(view, "a part of an image or video diffusion model")
    if not view.model_type and not view.architecture:
        raise ConfigError("This config.json names neither model_type nor architectures: it must say which model it is for.")
    model_type, architecture = view.model_type.lower(), view.architecture
    if model_type in _DIFFUSION:
        raise _refusal(view, "a diffusion language model: it writes many tokens at once instead of one after the other")
    if model_type in _ENCODERS and not view.flag("is_decoder"):
        raise _refusal(view, "an encoder: it turns a text into vectors or scores")
    if model_type in _PERCEPTION:
        raise _refusal(view, "an encoder for images or sound")
    for suffix, what in _HEADS:
        if architecture.endswith(suffix):
            raise _refusal(view, what)
    if architecture.endswith("Model") and not architecture.endswith(_GENERATIVE_MODELS):
        raise _refusal(view, "an embedding model: it turns a text into vectors")


def _refusal(view: HfConfig, what: str) -> ConfigError:
    return ConfigError(
        f"{view.architecture or view.model_type or 'This'} is {what}, and keeps no cache from one generated token to the next; "
        "Slotwise plans for models that generate text."
    )


def has_vision(view: HfConfig) -> bool:
    """Whether images go in: an encoder is described, or a generative class for several inputs has a token for images."""
    names_token = view.architecture.endswith("ForConditionalGeneration") and any(view.root.get(key) is not None for key in _IMAGE_TOKENS)
    return names_token or _has(view, _VISION)


def has_audio(view: HfConfig) -> bool:
    return _has(view, _AUDIO)


def _has(view: HfConfig, keys: tuple[str, ...]) -> bool:
    """Whether the file, or the section around the language model, describes such an encoder."""
    thinker = HfConfig(values=view.root, root=view.root).section("thinker_config")
    return any(source.get(key) for source in (view.root, thinker.values, view.values) for key in keys)
