"""Finds the model that a request names and reads it: a config of its own, the catalogue, a GGUF file, or the Hub."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from planner.core import catalog
from planner.core.draft import Source
from planner.core.errors import InputError, one_line
from planner.core.model_shape import ModelShape
from planner.core.plan import Remark
from planner.core.readers.by_hand import shape_by_hand
from planner.core.readers.gguf_header import GgufHeader, read_gguf
from planner.core.readers.gguf_shape import read_gguf_shape
from planner.core.readers.hf_config import expand_config, read_shape
from planner.core.readers.parameters import ParameterCount, parameter_count
from planner.core.readers.weight_files import FileGroup, gguf_groups, quant_of
from planner.core.request import PlanRequest
from planner.core.weights import DEFAULT_GGUF_QUANT, WeightLine, checkpoint_format, measured_weights
from planner.files import open_file, unreadable
from planner.hub import Hub, HubAddress, HubError, HubRepo

_LONGEST_NAME: Final = 80
# The Hub says nothing about the model itself: the name may be one of the catalogue with a slip in it.
_NOT_FOUND: Final = frozenset({"missing", "unreachable", "offline", "timeout"})


def find_model(request: PlanRequest, hub: Hub | None) -> Source:
    """The model of a request: its own config first, then the catalogue, then the Hub.

    Raises InputError or HubError with a sentence that says what to do.
    """
    if request.config:
        return source_from_config(request, expand_config(request.config), name=given_name(request), where="the config.json you gave")
    entry = None if request.revision else catalog.model(request.model)
    if entry:
        return _source_from_catalog(request, entry)
    if hub is None:
        raise InputError(f"{_not_in_catalog(request.model)}, and looking models up is switched off: give its config.json.", field="model")
    try:
        return _source_from_hub(request, hub)
    except HubError as problem:
        if request.revision or problem.code not in _NOT_FOUND:
            raise
        raise HubError(f"{_not_in_catalog(request.model)}. {problem}", code=problem.code, field=problem.field) from None


def _not_in_catalog(name: str) -> str:
    close = catalog.close_models(name)
    return f"“{name[:_LONGEST_NAME]}” is not in the catalogue" + (f" (close to it: {', '.join(close)})" if close else "")


def given_name(request: PlanRequest) -> str | None:
    """The served name that was given, None where `model` only has its default."""
    return request.model if "model" in request.model_fields_set else None


def own_name(shape: ModelShape) -> str:
    """What a model is served as whose configuration came without a name."""
    return f"my-{fit_name(shape.model_type)}"


def fit_name(text: str) -> str:
    """`text` as a served name: what cannot stand in one becomes “-”."""
    return re.sub(r"(?:[^A-Za-z0-9._-]|\.{2,})+", "-", text[:_LONGEST_NAME]).strip("-._") or "model"


def source_from_config(
    request: PlanRequest,
    config: Mapping[str, object],
    *,
    name: str | None,
    where: str,
    revision: str | None = None,
    remarks: tuple[Remark, ...] = (),
) -> Source:
    """The model in a parsed config.json; with `bytes_per_token` in the request, layers that nothing claims are taken from that."""
    if request.bytes_per_token:
        shape = shape_by_hand(config, request.bytes_per_token)
        return Source(name or own_name(shape), revision, shape, None, f"{where}; bytes per token typed in", remarks=remarks)
    shape = read_shape(config)
    return Source(name or own_name(shape), revision, shape, _counted(config), where, remarks=remarks)


def source_from_gguf(metadata: Mapping[str, object], *, name: str | None, where: str) -> Source:
    """The model in the metadata of a GGUF file, without its tensors."""
    shape = read_gguf_shape(metadata)
    return Source(name or own_name(shape), None, shape, None, where)


def source_from_gguf_file(path: Path, *, name: str | None = None) -> Source:
    """The model in a GGUF file on this machine. Of a split file any part will do; the sizes of all parts are counted.

    Raises InputError when it cannot be read or is no GGUF file.
    """
    try:
        with open_file(path, field="gguf") as file:
            header = read_gguf(lambda start, size: _read_at(file, start, size), file_bytes=os.fstat(file.fileno()).st_size)
        sizes = {each.name: each.stat().st_size for each in path.parent.glob("*.gguf")} if header.parts > 1 else {}
    except OSError as problem:
        raise unreadable(path, problem, field="gguf") from None
    group = next((group for group in gguf_groups(sizes) if path.name in group.names), None)
    filename = one_line(path.name)
    return _source_from_header(header, name=name or fit_name(path.stem), where=f"the header of {filename}", filename=filename, group=group)


def _read_at(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)


def _source_from_header(
    header: GgufHeader, *, name: str, where: str, filename: str, revision: str | None = None, group: FileGroup | None = None
) -> Source:
    """The shape in a GGUF header and the exact bytes of its tensors: of all parts where it is split and `group` has them."""
    shape = read_gguf_shape(header.metadata)
    if header.parts > 1 and group is None:
        raise InputError(f"{filename} is one of {header.parts} parts, and the others are not beside it: complete the set.", field="gguf")
    if header.parts == 1 and not header.tensors:
        raise InputError(f"{filename} holds no tensors, as a vocabulary alone does: give the file with the model's weights.", field="gguf")
    size = group.size_bytes if group and header.parts > 1 else header.tensor_bytes
    experts = round(header.expert_bytes * size / header.tensor_bytes) if header.tensor_bytes else 0
    weights = measured_weights(
        (WeightLine("model", size),),
        quant=header.format or quant_of(filename) or "GGUF",
        source=f"sizes of {header.parts} files" if header.parts > 1 else f"tensor table of {filename}",
        active_bytes=size - round(experts * (1 - _used_share(shape))),
        grade="measured" if header.parts > 1 else "exact",
    )
    return Source(name, revision, shape, _counted_tensors(header, shape, filename), where, (weights,), weights.format)


def _counted_tensors(header: GgufHeader, shape: ModelShape, filename: str) -> ParameterCount | None:
    """The elements of the tensor table, None for a part of a split file: the other parts' tables were not read."""
    if header.parts > 1:
        return None
    total = header.parameters
    experts = sum(tensor.elements for tensor in header.tensors if "_exps." in tensor.name)
    used = round(experts * _used_share(shape))
    return ParameterCount(
        total=total,
        active=total - experts + used,
        embedding=0,
        output=0,
        experts=experts,
        active_experts=used,
        towers=0,
        exact=True,
        low=total,
        high=total,
        why=f"elements in the tensor table of {filename}",
    )


def _used_share(shape: ModelShape) -> float:
    """The share of the routed experts that one token goes through."""
    experts = shape.feed_forward
    return experts.experts_per_token / experts.experts if experts.experts else 1.0


def _counted(config: Mapping[str, object]) -> ParameterCount | None:
    """The parameters, None for a layout that is not known: the plan then asks for the size of the weights if it needs it."""
    try:
        return parameter_count(config)
    except InputError:
        return None


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


def _source_from_hub(request: PlanRequest, hub: Hub) -> Source:
    """A repository's config.json and exact weights; of one that holds only GGUF files, the header of the wanted one."""
    address = hub.address(request.model)
    revision = request.revision or address.revision
    if address.filename and address.filename.endswith(".gguf"):
        return _source_from_hub_gguf(hub, hub.repo(address.repo_id, revision), address.filename)
    try:
        found = hub.config(address.repo_id, revision)
    except HubError as problem:
        if problem.code != "no_file":
            raise
        return _source_from_gguf_repository(request, hub, HubAddress(address.repo_id, revision), problem)
    source = source_from_config(
        request,
        found.config,
        name=found.id,
        where=f"config.json on the Hub at {found.revision[:12]}",
        revision=found.revision,
        remarks=(Remark("renamed", found.note, "model"),) if found.note else (),
    )
    try:
        sizes = hub.weights(found.id, found.revision, shape=source.shape, parameters=source.parameters)
    except InputError as problem:
        said = Remark("weights_not_read", f"The sizes of the weights could not be read, so they are estimated: {problem}", "weights_size")
        return replace(source, remarks=(*source.remarks, said))
    return replace(source, weights_files=sizes)


def _source_from_gguf_repository(request: PlanRequest, hub: Hub, address: HubAddress, problem: HubError) -> Source:
    """The GGUF file in the wanted format, Q4_K_M where none is named, else the smallest; `problem` where there is none."""
    repo = hub.repo(address.repo_id, address.revision)
    groups = gguf_groups(repo.sizes)
    if not groups:
        raise problem
    wanted = (request.weights_quant or DEFAULT_GGUF_QUANT).upper()
    group = next((group for group in groups if group.quant == wanted), groups[0])
    return _source_from_hub_gguf(hub, repo, group.names[0])


def _source_from_hub_gguf(hub: Hub, repo: HubRepo, filename: str) -> Source:
    header = hub.gguf(repo, filename)
    group = next((group for group in gguf_groups(repo.sizes) if filename in group.names), None)
    where = f"the header of {filename} on the Hub at {repo.revision[:12]}"
    return _source_from_header(header, name=repo.id, where=where, filename=filename, revision=repo.revision, group=group)
