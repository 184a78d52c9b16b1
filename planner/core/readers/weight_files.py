"""What a repository's file names say about its weights: which files are the model, in which format, and what goes with it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

# …-00001-of-00004.safetensors, …-00001-of-00004.gguf
_SPLIT: Final = re.compile(r"-(\d{5})-of-(\d{5})(?=\.(?:safetensors|gguf)$)", re.ASCII)
_QUANT: Final = re.compile(
    r"(?<![A-Z0-9])((?:UD-)?(?:IQ[1-4]_(?:XXS|XS|NL|S|M)|Q[1-8]_K(?:_(?:XL|L|M|S))?|Q[1-8]_[01]|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4)|BF16|F16|F32)"
    r"(?![A-Z0-9])",
    re.IGNORECASE | re.ASCII,
)
# Other things that come as safetensors beside a model: adapters, and the same weights once more in Mistral's own layout.
_NOT_THE_MODEL: Final = ("adapter", "consolidated", "lora", "optimizer", "training", "embeddings")


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are loaded as one: a model in one format, whole or split. `quant` is as the name says, empty if it does not."""

    quant: str
    names: tuple[str, ...]
    size_bytes: int


def safetensors_files(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The files of the checkpoint at the top of a repository, in order; empty where there are none."""
    top = sorted(name for name in sizes if "/" not in name and name.endswith(".safetensors"))
    model = [name for name in top if not name.lower().startswith(_NOT_THE_MODEL)]
    shards = [name for name in model if name.startswith("model-") and _SPLIT.search(name)]
    if shards:
        return tuple(shards)
    if "model.safetensors" in model:
        return ("model.safetensors",)
    return tuple(model) or tuple(name for name in top if name.startswith("consolidated"))


def gguf_groups(sizes: Mapping[str, int]) -> tuple[FileGroup, ...]:
    """The models that a repository holds as GGUF, smallest first. A split of which a part is missing is left out."""
    groups: dict[str, list[str]] = {}
    for name in sorted(sizes):
        if name.endswith(".gguf") and not _beside(name):
            groups.setdefault(_SPLIT.sub("", name), []).append(name)
    whole = (_group(stem, names, sizes) for stem, names in groups.items() if _complete(names))
    return tuple(sorted(whole, key=lambda group: group.size_bytes))


def projectors(sizes: Mapping[str, int]) -> tuple[FileGroup, ...]:
    """The encoders for images and sound (mmproj), the 16-bit ones first."""
    found = [_group(name, [name], sizes) for name in sorted(sizes) if name.endswith(".gguf") and _is_projector(name)]
    return tuple(sorted(found, key=lambda group: group.quant not in {"F16", "BF16"}))


def quant_of(name: str) -> str:
    """The format in a GGUF file's name or its folder's, empty where neither says."""
    found = _QUANT.findall(name)
    return str(found[-1]).upper() if found else ""


def _base(name: str) -> str:
    return name.rpartition("/")[2].lower()


def _is_projector(name: str) -> bool:
    return "mmproj" in _base(name)


def _beside(name: str) -> bool:
    return _is_projector(name) or any(word in _base(name) for word in ("imatrix", "vocab-only", "ggml-vocab"))


def _complete(names: Iterable[str]) -> bool:
    parts = [match for name in names if (match := _SPLIT.search(name))]
    return not parts or sorted(int(part[1]) for part in parts) == list(range(1, int(parts[0][2]) + 1))


def _group(stem: str, names: list[str], sizes: Mapping[str, int]) -> FileGroup:
    return FileGroup(quant_of(stem), tuple(names), sum(sizes[name] for name in names))
