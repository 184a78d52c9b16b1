"""The Hugging Face Hub: configurations, file sizes and file heads, as plain types. The only user of huggingface_hub.

huggingface_hub gives the shared connection, its offline switch and the addresses. Its own calls are not used, because they bound
neither the size of an answer nor the time for all of it (2.4: `model_info` waits for ever on a stall, `hf_raise_for_status`
reads an error page of any length).
"""

import json
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

from huggingface_hub import get_session, hf_hub_url
from huggingface_hub.errors import OfflineModeIsEnabled

from planner import hub_errors, hub_wire
from planner.core.errors import InputError
from planner.core.model_shape import ModelShape
from planner.core.readers.parameters import ParameterCount
from planner.core.readers.safetensors_header import MAX_HEADER_BYTES, SafetensorsTable, header_length, read_header, table_of
from planner.core.readers.tensor_parts import tensor_parts
from planner.core.readers.weight_files import FileGroup, gguf_groups, projectors, safetensors_files
from planner.core.weights import WeightLine, Weights, checkpoint_file_weights, checkpoint_format, measured_weights
from planner.hub_address import HubAddress, normalize_id, read_address, read_filename, read_revision
from planner.hub_cache import Cache
from planner.hub_errors import HubError

__all__ = ["Hub", "HubAddress", "HubError", "HubFile", "HubModel", "HubRepo", "normalize_id", "read_address"]

CONFIG_LIMIT: Final = 2**20
LISTING_LIMIT: Final = 8 * 2**20
HEADERS_LIMIT: Final = 64 * 2**20
# Nearly every header fits in the first read; the rest takes a second.
HEAD_BYTES: Final = 128 * 2**10
# Beyond this many files their headers are not read one by one: the files' sizes say the same to a thousandth of a percent.
MAX_HEADS: Final = 96
HEADS_AT_ONCE: Final = 8
# A branch may move; a commit never changes, so only the step from a name to its commit grows old.
BRANCH_SECONDS: Final = 300.0

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class HubFile:
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A repository at one commit. `asked` is the id that was asked for: it differs from `id` after a renaming.

    `elements` is the Hub's own count of stored elements per type. Packed formats count words, not parameters.
    """

    id: str
    revision: str
    asked: str
    files: tuple[HubFile, ...]
    elements: Mapping[str, int]

    def size_of(self, name: str) -> int | None:
        return next((file.size_bytes for file in self.files if file.name == name), None)


@dataclass(frozen=True, slots=True)
class HubModel:
    """A config.json and where it came from. `note` is a sentence for the reader when the repository was renamed."""

    id: str
    revision: str
    config: Mapping[str, Any]
    note: str | None = None


@dataclass(frozen=True)
class Hub:
    """A Hub to ask. `token` None sends none, whatever this machine is logged in with: visitors must not see its repositories.

    `timeout_seconds` is for a whole call. Answers are kept in memory by commit. Every method raises HubError.
    """

    endpoint: str = "https://huggingface.co"
    token: str | None = None
    timeout_seconds: float = 10.0
    config_limit: int = CONFIG_LIMIT
    cache: Cache = field(default_factory=Cache, repr=False, compare=False)

    def address(self, text: str) -> HubAddress:
        return read_address(text, endpoint=self.endpoint)

    def repo(self, repo_id: str, revision: str | None = None) -> HubRepo:
        """The repository's commit and file sizes, in one request."""
        return self._within(lambda deadline: self._repo(repo_id, revision, deadline))

    def config(self, repo_id: str, revision: str | None = None) -> HubModel:
        """The config.json of a repository, in two requests the first time and none while it is remembered."""
        return self._within(lambda deadline: self._config(repo_id, revision, deadline))

    def read(self, repo: HubRepo, filename: str, *, start: int, end: int) -> bytes:
        """Bytes [start, end) of a file, fewer where the file ends before."""
        return self._within(lambda deadline: self._read(repo, filename, (start, end), deadline))

    def weights(
        self, repo_id: str, revision: str | None = None, *, shape: ModelShape, parameters: ParameterCount | None
    ) -> tuple[Weights, ...]:
        """Every set of weights that the repository holds, by size: the checkpoint's own first, then each GGUF format.

        The checkpoint's bytes are the sum of the byte ranges in its headers; a GGUF format's are its files' sizes, with the
        image encoder (mmproj) as a line of its own.
        """
        repo = self.repo(repo_id, revision)
        sizes = {file.name: file.size_bytes for file in repo.files}
        own = self._within(lambda deadline: self._checkpoint(repo, sizes, shape, parameters, deadline=deadline))
        return (*own, *_gguf_weights(sizes, parameters))

    def _within(self, call: Callable[[hub_wire.Deadline], _T]) -> _T:
        deadline = hub_wire.Deadline.after(self.timeout_seconds)
        return hub_wire.within(deadline, self._host, lambda: call(deadline))

    @property
    def _host(self) -> str:
        return urlsplit(self.endpoint).netloc

    def _repo(self, repo_id: str, revision: str | None, deadline: hub_wire.Deadline) -> HubRepo:
        address = self.address(repo_id)
        wanted = read_revision(revision) if revision else address.revision
        key = (self.endpoint, bool(self.token), address.repo_id, wanted)
        known: HubRepo | None = self.cache.get(key)
        if known is None:
            known = self._ask_repo(address.repo_id, wanted, deadline)
            forever = wanted is not None and wanted == known.revision
            self.cache.put(key, known, seconds=None if forever else BRANCH_SECONDS, size=200 * (1 + len(known.files)))
        return known

    def _ask_repo(self, repo_id: str, revision: str | None, deadline: hub_wire.Deadline) -> HubRepo:
        path = f"/api/models/{repo_id}" + (f"/revision/{quote(revision, safe='')}" if revision else "")
        ask = hub_wire.Ask(f"{self.endpoint}{path}?blobs=true", "its list of files", LISTING_LIMIT)
        body = self._get(ask, repo_id, revision, deadline)
        return _read_repo(_json_object(body, "The list of files"), asked=repo_id)

    def _config(self, repo_id: str, revision: str | None, deadline: hub_wire.Deadline) -> HubModel:
        repo = self._repo(repo_id, revision, deadline)
        key = (self.endpoint, bool(self.token), repo.id, repo.revision, "config.json")
        config: Mapping[str, Any] | None = self.cache.get(key)
        if config is None:
            body = self._get(self._file(repo, "config.json", limit=self.config_limit), repo.id, repo.revision, deadline)
            config = _json_object(body, "config.json")
            self.cache.put(key, config, seconds=None, size=4 * len(body))
        note = None if repo.asked == repo.id else f"The Hub has renamed {repo.asked}: this is {repo.id}."
        return HubModel(repo.id, repo.revision, config, note)

    def _read(self, repo: HubRepo, filename: str, span: tuple[int, int], deadline: hub_wire.Deadline) -> bytes:
        ask = self._file(repo, filename, limit=span[1] - span[0], span=span, leave_host=True)
        return self._get(ask, repo.id, repo.revision, deadline)

    def _checkpoint(
        self, repo: HubRepo, sizes: Mapping[str, int], shape: ModelShape, parameters: ParameterCount | None, *, deadline: hub_wire.Deadline
    ) -> tuple[Weights, ...]:
        names = safetensors_files(sizes)
        if not names:
            return ()
        quant = checkpoint_format(shape)
        tables = self._tables(repo, {name: sizes[name] for name in names}, deadline)
        if tables is None:
            lines = (WeightLine("model", sum(sizes[name] for name in names)),)
            source = f"sizes of {len(names)} safetensors files on the Hub"
            return (measured_weights(lines, quant=quant, source=source, parameters=parameters),)
        parts = tensor_parts(tables, layers=len(shape.layers))
        source = f"tensor headers of {len(names)} safetensors file{'s' if len(names) > 1 else ''} on the Hub"
        return (checkpoint_file_weights(parts, quant=quant, source=source, shape=shape),)

    def _tables(self, repo: HubRepo, sizes: Mapping[str, int], deadline: hub_wire.Deadline) -> tuple[SafetensorsTable, ...] | None:
        """The headers of the checkpoint's files, None where there are too many to read."""
        key = (self.endpoint, bool(self.token), repo.id, repo.revision, "tables")
        tables: tuple[SafetensorsTable, ...] | None = self.cache.get(key)
        if tables is None:
            tables = self._collected_tables(repo, sizes, deadline) if len(sizes) > 1 else None
            if tables is None and len(sizes) <= MAX_HEADS:
                with ThreadPoolExecutor(HEADS_AT_ONCE) as pool:
                    tables = tuple(pool.map(lambda name: self._table(repo, name, sizes[name], deadline), sizes))
            if tables is not None:
                self.cache.put(key, tables, seconds=None, size=400 * sum(len(table.tensors) for table in tables))
        return tables

    def _collected_tables(
        self, repo: HubRepo, sizes: Mapping[str, int], deadline: hub_wire.Deadline
    ) -> tuple[SafetensorsTable, ...] | None:
        """All headers in one request, None where this Hub has no such route or its answer does not fit the files.

        The route knows main only, and a mirror may lack it: so each header must describe a file of the size that this commit has.
        Source: huggingface_hub 2.4 hf_api.py, get_sharded_safetensors_metadata.
        """
        path = f"/api/models/{repo.id}/safetensors-metadata/model.safetensors.index.json"
        ask = hub_wire.Ask(f"{self.endpoint}{path}", "its tensor headers", HEADERS_LIMIT)
        try:
            headers = _json_object(self._get(ask, repo.id, repo.revision, deadline), "Its tensor headers").get("headers")
            if not isinstance(headers, dict) or headers.keys() != sizes.keys():
                return None
            tables = tuple(table_of(headers[name], header_bytes=0, name=name) for name in sizes)
        except HubError as error:
            if error.code in {"timeout", "offline", "unreachable"}:
                raise
            return None
        except InputError:
            return None
        rest = [sizes[name] - table.tensor_bytes for name, table in zip(sizes, tables, strict=True)]
        return tables if all(8 < header < MAX_HEADER_BYTES for header in rest) else None

    def _table(self, repo: HubRepo, name: str, size: int, deadline: hub_wire.Deadline) -> SafetensorsTable:
        head = self._read(repo, name, (0, min(size, HEAD_BYTES)), deadline)
        end = header_length(head, name=name)
        if len(head) < end <= size:
            head += self._read(repo, name, (len(head), end), deadline)
        return read_header(head, file_bytes=size, name=name)

    def _file(
        self, repo: HubRepo, filename: str, *, limit: int, span: tuple[int, int] | None = None, leave_host: bool = False
    ) -> hub_wire.Ask:
        url = hf_hub_url(repo.id, read_filename(filename), revision=repo.revision, endpoint=self.endpoint)
        return hub_wire.Ask(url, filename, limit, span, leave_host)

    def _get(self, ask: hub_wire.Ask, repo_id: str, revision: str | None, deadline: hub_wire.Deadline) -> bytes:
        # Never the library's own headers: without a token they carry the login of this machine.
        headers = {"User-Agent": "slotwise"} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        try:
            answer = hub_wire.get(get_session(), ask, headers=headers, deadline=deadline)
        except OfflineModeIsEnabled:
            raise hub_errors.offline() from None
        if answer.status >= 400:
            raise hub_errors.refused(
                answer.status, answer.headers, what=ask.what, repo_id=repo_id, revision=revision, has_token=bool(self.token)
            )
        return answer.body


def _gguf_weights(sizes: Mapping[str, int], parameters: ParameterCount | None) -> tuple[Weights, ...]:
    encoders = projectors(sizes)[:1]
    return tuple(_one_gguf(group, encoders, parameters) for group in gguf_groups(sizes) if group.quant)


def _one_gguf(group: FileGroup, encoders: tuple[FileGroup, ...], parameters: ParameterCount | None) -> Weights:
    lines = (WeightLine("model", group.size_bytes), *(WeightLine(f"image encoder ({file.names[0]})", file.size_bytes) for file in encoders))
    more = f" and {len(group.names) - 1} more files" if len(group.names) > 1 else ""
    return measured_weights(lines, quant=group.quant, source=f"size of {group.names[0]}{more} on the Hub", parameters=parameters)


def _json_object(body: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise hub_errors.not_json(what) from None
    if not isinstance(value, dict):
        raise hub_errors.not_json(what)
    return value


def _read_repo(listing: Mapping[str, Any], *, asked: str) -> HubRepo:
    """The parts of `/api/models/{id}?blobs=true` that are used. Raises HubError where they are not what the Hub sends."""
    repo_id, revision, siblings = listing.get("id"), listing.get("sha"), listing.get("siblings")
    if not isinstance(repo_id, str) or not isinstance(revision, str) or not _COMMIT.fullmatch(revision) or not isinstance(siblings, list):
        raise hub_errors.not_json("The list of files")
    elements = listing.get("safetensors")
    counts = elements.get("parameters") if isinstance(elements, dict) else None
    return HubRepo(
        id=normalize_id(repo_id)[0],
        revision=revision,
        asked=asked,
        files=tuple(_files(siblings)),
        elements={str(k): v for k, v in counts.items() if type(v) is int and v >= 0} if isinstance(counts, dict) else {},
    )


def _files(siblings: list[Any]) -> list[HubFile]:
    files = []
    for entry in siblings:
        name, size = (entry.get("rfilename"), entry.get("size")) if isinstance(entry, dict) else (None, None)
        if isinstance(name, str) and type(size) is int and size >= 0:
            files.append(HubFile(name, size))
    return files
