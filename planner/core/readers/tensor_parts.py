"""The bytes of a checkpoint's tensors by what they are for, told from their names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from planner.core.readers.safetensors_header import SafetensorsTable

_LAYER: Final = re.compile(r"(?:^|\.)layers\.(\d{1,5})\.", re.ASCII)
_TOWER: Final = re.compile(
    r"^(?:model\.|thinker\.)*(?:visual|vision_tower|vision_model|vision_encoder|audio_tower|audio_model|multi_modal_projector|"
    r"mm_projector|mlp1|patch_merger|embed_vision|embed_audio|connector|image_newline|sound)[._]"
)
_DRAFT: Final = re.compile(r"(?:^|\.)mtp(?:\.|_)")
_EXPERTS: Final = re.compile(r"\.experts\.")
_TABLE: Final = re.compile(r"(?:^|\.)(?:embed_tokens|wte|word_embeddings|tok_embeddings|embeddings)\.weight$")
_OUTPUT: Final = re.compile(r"(?:^|\.)(?:lm_head|output|embed_out)\.weight$")


@dataclass(frozen=True, slots=True)
class TensorParts:
    """Bytes: `towers` are vision and audio encoders, `draft` the layers for speculative decoding, `experts` all routed
    experts, `table` an input embedding that is only looked up (0 where it is the output table too), `rest` all else."""

    rest: int
    experts: int
    table: int
    towers: int
    draft: int

    @property
    def total(self) -> int:
        return self.rest + self.experts + self.table + self.towers + self.draft

    @property
    def loaded(self) -> int:
        """What an engine loads for plain decoding."""
        return self.total - self.draft


def tensor_parts(tables: Iterable[SafetensorsTable], *, layers: int) -> TensorParts:
    """The parts of a checkpoint of `layers` layers: a layer beyond them is a draft layer (DeepSeek, GLM)."""
    sizes = dict.fromkeys(("rest", "experts", "table", "towers", "draft"), 0)
    has_output = False
    for table in tables:
        for name, tensor in table.tensors.items():
            sizes[_part(name, layers)] += tensor.size_bytes
            has_output = has_output or bool(_OUTPUT.search(name))
    if not has_output:
        sizes["rest"] += sizes["table"]
        sizes["table"] = 0
    return TensorParts(**sizes)


def _part(name: str, layers: int) -> str:
    layer = _LAYER.search(name)
    if _TOWER.search(name):
        return "towers"
    if _DRAFT.search(name) or (layer and int(layer[1]) >= layers):
        return "draft"
    if _EXPERTS.search(name):
        return "experts"
    return "table" if _TABLE.search(name) else "rest"
