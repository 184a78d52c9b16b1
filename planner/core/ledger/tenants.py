"""What else the machine carries, from what people type: known names, sizes, a draft model or another one of the catalogue."""

from dataclasses import dataclass
from functools import cache
from typing import Final

from planner.core import catalog, units
from planner.core.draft import Outline, Source, outline
from planner.core.errors import InputError
from planner.core.ledger.known import KNOWN
from planner.core.plan import Grade
from planner.core.readers.hf_config import read_shape
from planner.core.readers.parameters import parameter_count
from planner.core.sensitivity import Held

MOST: Final = 16
_LONGEST_NAME: Final = 60
DRAFT: Final = "draft"
PROJECTOR: Final = "mmproj"
# A projector's buffers for the images of one request, beside its weights. Judgement.
_IMAGE_BUFFERS: Final = (0, 256 * units.MIB, 1024 * units.MIB)
_WANTED: Final = f"known names ({', '.join(KNOWN)}, {PROJECTOR}), NAME=SIZE such as embedder=1.2GiB, {DRAFT}=MODEL or MODEL with a model of the catalogue"


@dataclass(frozen=True, slots=True)
class Tenant:
    """Something else on the first card (without one: in the RAM). `low_bytes` and `high_bytes` bound an estimate."""

    name: str
    size_bytes: int
    low_bytes: int
    high_bytes: int
    grade: Grade
    source: str


def read_tenants(text: str, held: Held, now: Outline) -> tuple[Tenant, ...]:
    """`bge-m3, desktop, draft=qwen3-0.6b, reranker=1.2GiB`, in the order typed. Raises InputError (field "beside")."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > MOST:
        raise InputError(f"At most {MOST} things beside the model: sum the small ones up as NAME=SIZE.", field="beside")
    return tuple(_tenant(part, held, now) for part in parts)


def _tenant(part: str, held: Held, now: Outline) -> Tenant:
    name, equals, value = (each.strip() for each in part.partition("="))
    if equals and name.lower() == DRAFT:
        return _model(value, held, now, draft=True)
    if equals:
        size = units.parse_bytes(value, field="beside")
        return Tenant(name[:_LONGEST_NAME] or "Other", size, size, size, "measured", "the size you gave")
    known = KNOWN.get(name.lower())
    if known:
        return Tenant(known.title, known.usual, known.low, known.high, "estimated", known.source)
    if name.lower() == PROJECTOR:
        return _projector(held, now)
    return _model(name, held, now, draft=False)


def _projector(held: Held, now: Outline) -> Tenant:
    """The model's own encoder where an engine loads it from a file of its own."""
    count = held.source.parameters
    if count is None or not count.towers:
        raise InputError("This model has no encoder for images or sound: leave mmproj out.", field="beside")
    if not held.engine.serves_gguf or any("encoder" in line.name for line in now.job.weights.lines):
        raise InputError(f"{held.engine.title} has the encoder in the model's own weights: it is counted already.", field="beside")
    weights = 2 * count.towers
    low, usual, high = (weights + each for each in _IMAGE_BUFFERS)
    source = f"{count.towers:,} parameters of the encoder × 2 B, and up to 1 GiB for the images of a request (judgement)"
    return Tenant("Projector (mmproj)", usual, low, high, "estimated", source)


def _model(name: str, held: Held, now: Outline, *, draft: bool) -> Tenant:
    """A model of the catalogue under the plan's engine: its weights, and a cache for every slot (a draft) or one conversation."""
    entry = catalog.model(name)
    if entry is None:
        close = catalog.close_models(name)
        hint = f" (close to it: {', '.join(close)})" if close else ""
        raise InputError(f"“{name[:_LONGEST_NAME]}” is not known here{hint}: give {_WANTED}.", field="beside")
    source = _source(entry.id)
    slots = now.outcome.slots if draft else 1
    context = min(now.context_tokens, source.shape.max_context or now.context_tokens)
    changes = {
        "model": entry.id, "config": None, "revision": None, "bytes_per_token": None, "weights_size": None, "weights_quant": None, "context": context,
        "engine": held.engine.name, "engine_args": "", "slots": slots, "cache_memory": None,
    }  # fmt: skip
    planned = outline(held.request.model_copy(update=changes), source, held.engine)
    weights, cache_bytes = planned.job.weights, held.engine.reserved_bytes(planned.job, slots)
    title = f"{'Draft model' if draft else 'Model'} {entry.id}"
    why = f"{weights.format} weights {units.size(weights.size_bytes)} ({weights.source}) and {units.size(cache_bytes)} of cache for {units.counted(slots, 'slot')}"
    exact = weights.low_bytes == weights.high_bytes
    return Tenant(
        title,
        weights.size_bytes + cache_bytes,
        weights.low_bytes + cache_bytes,
        weights.high_bytes + cache_bytes + (0 if exact else 256 * units.MIB),
        "computed" if exact else "estimated",
        f"{why}; its compute buffers are not in it",
    )


@cache
def _source(model_id: str) -> Source:
    entry = catalog.models()[model_id]
    return Source(entry.id, None, read_shape(entry.config), parameter_count(entry.config), entry.source)
