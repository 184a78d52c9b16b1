"""From a request to the answer that every page, command and API shows: find the model, then plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.core import catalog
from planner.core.draft import Source
from planner.core.engines.contract import HandOver
from planner.core.errors import InputError
from planner.core.plan import Plan, Remark
from planner.core.planning import make_plan
from planner.core.readers.by_hand import shape_by_hand
from planner.core.readers.hf_config import expand_config, read_shape
from planner.core.readers.parameters import ParameterCount, parameter_count
from planner.core.request import PlanRequest
from planner.core.weights import WeightLine, Weights, checkpoint_format, measured_weights
from planner.hub import Hub


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan and what to install for it."""

    plan: Plan
    hand_over: HandOver


def source_from_config(
    request: PlanRequest,
    config: Mapping[str, object],
    *,
    name: str,
    where: str,
    revision: str | None = None,
    remarks: tuple[Remark, ...] = (),
) -> Source:
    """The model in a parsed config.json; with `bytes_per_token` in the request, layers that nothing claims are taken from that."""
    if request.bytes_per_token:
        return Source(
            name, revision, shape_by_hand(config, request.bytes_per_token), None, f"{where}; bytes per token typed in", remarks=remarks
        )
    return Source(name, revision, read_shape(config), _counted(config), where, remarks=remarks)


def _counted(config: Mapping[str, object]) -> ParameterCount | None:
    """The parameters, None for a layout that is not known: the plan then asks for the size of the weights if it needs it."""
    try:
        return parameter_count(config)
    except InputError:
        return None


def source_from_gguf(metadata: Mapping[str, object], *, name: str, where: str, weights: tuple[Weights, ...] = ()) -> Source:
    """The model in the metadata of a GGUF file; `weights` are its tensors' bytes where the whole header was read."""
    from planner.core.readers.gguf_shape import read_gguf_shape

    return Source(name, None, read_gguf_shape(metadata), None, where, weights)


def find_model(request: PlanRequest, hub: Hub | None) -> Source:
    """The model of a request: its own config first, then the catalogue, then the Hub.

    Raises InputError or HubError with a sentence that says what to do.
    """
    if request.config:
        return source_from_config(request, expand_config(request.config), name=request.model, where="the config.json you gave")
    entry = None if request.revision else catalog.model(request.model)
    if entry:
        return _source_from_catalog(request, entry)
    if hub is None:
        raise InputError(
            f"“{request.model[:80]}” is not in the catalogue, and looking models up is switched off: give its config.json.", field="model"
        )
    found = hub.config(request.model, request.revision)
    return source_from_config(
        request,
        found.config,
        name=found.id,
        where=f"config.json on the Hub at {found.revision[:12]}",
        revision=found.revision,
        remarks=(Remark("renamed", found.note, "model"),) if found.note else (),
    )


def _source_from_catalog(request: PlanRequest, entry: catalog.CatalogModel) -> Source:
    source = source_from_config(request, entry.config, name=entry.id, where=f"the catalogue ({entry.source})")
    own = checkpoint_format(source.shape)
    sizes = tuple(
        measured_weights(
            (WeightLine("model", size),),
            quant=own if name == "safetensors" else name,
            source="file sizes in the catalogue",
            parameters=source.parameters,
        )
        for name, size in entry.weight_bytes.items()
    )
    return replace(source, weights_files=sizes)


def answer(request: PlanRequest, hub: Hub | None, source: Source | None = None) -> Answer:
    """The plan for a request. `source` is a model that was read already (a GGUF header, an object of a batch)."""
    plan, hand_over = make_plan(request, source or find_model(request, hub))
    return Answer(plan, hand_over)
