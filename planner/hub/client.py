"""The Hugging Face Hub: configurations, weight bytes and file heads, as plain types. The only user of huggingface_hub.

huggingface_hub gives the shared connection, its offline switch and the addresses. Its own calls are not used, because they bound
neither the size of an answer nor the time for all of it (2.4: `model_info` waits for ever on a stall, `hf_raise_for_status`
reads an error page of any length).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from huggingface_hub import get_session, hf_hub_url
from huggingface_hub.errors import OfflineModeIsEnabled

from planner.core.model_shape import ModelShape
from planner.core.readers.gguf_header import GgufHeader, read_gguf
from planner.core.readers.parameters import ParameterCount
from planner.core.readers.safetensors_header import SafetensorsTable
from planner.core.readers.weight_files import safetensors_files
from planner.core.weights import Weights
from planner.hub import errors, weights, wire
from planner.hub.address import HubAddress, read_address, read_filename, read_revision
from planner.hub.cache import Answers, Cache
from planner.hub.errors import HubError
from planner.hub.repo import HubModel, HubRepo, json_object, read_config, read_repo
from planner.hub.wire import Ask, Deadline

# As much as the reader takes (`parse_config`): real files reach 2.9 MiB.
CONFIG_LIMIT: Final = 4 * 2**20
LISTING_LIMIT: Final = 8 * 2**20
HEADERS_LIMIT: Final = 64 * 2**20
# A branch may move; a commit never changes, so only the step from a name to its commit grows old.
BRANCH_SECONDS: Final = 300.0

_T = TypeVar("_T")


@dataclass(frozen=True)
class Hub:
    """A Hub to ask. `token` None sends none, whatever this machine is logged in with: visitors must not see its repositories.

    `timeout_seconds` is for a whole call. Answers are kept in memory by commit. Every method raises HubError; those that read
    weights raise InputError for files that are not what their format allows.
    """

    endpoint: str = "https://huggingface.co"
    token: str | None = None
    timeout_seconds: float = 10.0
    config_limit: int = CONFIG_LIMIT
    cache: Answers = field(default_factory=Cache, repr=False, compare=False)

    def address(self, text: str) -> HubAddress:
        return read_address(text, endpoint=self.endpoint)

    def repo(self, repo_id: str, revision: str | None = None) -> HubRepo:
        """The repository's commit and file sizes, in one request."""
        return self._within(lambda deadline: self._repo(repo_id, revision, deadline))

    def config(self, repo_id: str, revision: str | None = None) -> HubModel:
        """The config.json of a repository, in two requests the first time and none while it is remembered."""
        return self._within(lambda deadline: self._config(repo_id, revision, deadline))

    def weights(
        self, repo_id: str, revision: str | None = None, *, shape: ModelShape, parameters: ParameterCount | None
    ) -> tuple[Weights, ...]:
        """Every set of weights that the repository holds: the checkpoint's own first, then each GGUF format, smallest first."""
        return self._within(lambda deadline: self._weights(repo_id, revision, shape, parameters, deadline))

    def gguf(self, repo: HubRepo, filename: str) -> GgufHeader:
        """The header of a GGUF file: 2 MiB of it first, then as much more as the header needs."""
        return self._within(lambda deadline: self._gguf(repo, filename, deadline))

    def _within(self, call: Callable[[Deadline], _T]) -> _T:
        deadline = Deadline.after(self.timeout_seconds)
        return wire.within(deadline, urlsplit(self.endpoint).netloc, lambda: call(deadline))

    def _kept(self, key: tuple[object, ...], make: Callable[[], _T], *, seconds: float | None, size: Callable[[_T], int]) -> _T:
        """A remembered answer, or what `make` gives. Answers to a token are not those to none."""
        whole = (self.endpoint, self.token, *key)
        known: _T | None = self.cache.get(whole)
        if known is None:
            known = make()
            self.cache.put(whole, known, seconds=seconds, size=size(known))
        return known

    def _repo(self, repo_id: str, revision: str | None, deadline: Deadline) -> HubRepo:
        address = self.address(repo_id)
        wanted = read_revision(revision) if revision else address.revision
        return self._kept(
            (address.repo_id, wanted),
            lambda: self._listed(address.repo_id, wanted, deadline),
            seconds=BRANCH_SECONDS,
            size=lambda repo: 500 + 200 * len(repo.sizes),
        )

    def _listed(self, repo_id: str, revision: str | None, deadline: Deadline) -> HubRepo:
        path = f"/api/models/{repo_id}" + (f"/revision/{quote(revision, safe='')}" if revision else "")
        ask = Ask(f"{self.endpoint}{path}?blobs=true", "its list of files", LISTING_LIMIT)
        found = read_repo(self._get(ask, repo_id, revision, deadline), asked=repo_id)
        if found.sizes or found.id == repo_id:
            return found
        # The redirect from an old name may lose what was asked for: the new name is asked once more.
        return replace(self._listed(found.id, revision, deadline), asked=repo_id)

    def _config(self, repo_id: str, revision: str | None, deadline: Deadline) -> HubModel:
        repo = self._repo(repo_id, revision, deadline)
        ask = self._file(repo, "config.json", limit=self.config_limit)
        body = self._kept(
            (repo.id, repo.revision, "config.json"),
            lambda: self._get(ask, repo.id, repo.revision, deadline),
            seconds=None,
            size=len,
        )
        renamed = repo.asked.lower() != repo.id.lower()
        note = f"The Hub has renamed {repo.asked}: this is {repo.id}." if renamed else None
        return HubModel(repo.id, repo.revision, read_config(body, repo), note)

    def _weights(
        self, repo_id: str, revision: str | None, shape: ModelShape, parameters: ParameterCount | None, deadline: Deadline
    ) -> tuple[Weights, ...]:
        repo = self._repo(repo_id, revision, deadline)
        sizes = {name: repo.sizes[name] for name in safetensors_files(repo.sizes)}
        listed = weights.gguf_weights(repo.sizes, parameters=parameters)
        if not sizes:
            return listed
        tables = self._kept(
            (repo.id, repo.revision, "tables"),
            lambda: self._tables(repo, sizes, deadline),
            seconds=None,
            size=lambda tables: 400 * sum(len(table.tensors) for table in tables or ()),
        )
        return (weights.checkpoint(tables, sizes, shape=shape, parameters=parameters), *listed)

    def _tables(self, repo: HubRepo, sizes: Mapping[str, int], deadline: Deadline) -> tuple[SafetensorsTable, ...] | None:
        """The headers of the checkpoint's files: all in one request where this Hub can do that, else file by file."""
        tables = weights.collected_tables(self._collected_headers(repo, deadline), sizes) if len(sizes) > 1 else None
        return tables or weights.file_tables(sizes, lambda name, start, end: self._read(repo, name, (start, end), deadline))

    def _collected_headers(self, repo: HubRepo, deadline: Deadline) -> object:
        """Source of the route: huggingface_hub 2.4 hf_api.py, get_sharded_safetensors_metadata. A mirror may lack it."""
        path = f"/api/models/{repo.id}/safetensors-metadata/model.safetensors.index.json"
        ask = Ask(f"{self.endpoint}{path}", "its tensor headers", HEADERS_LIMIT)
        try:
            return json_object(self._get(ask, repo.id, repo.revision, deadline), "Its tensor headers").get("headers")
        except HubError as error:
            if error.code in {"timeout", "offline", "unreachable", "rate_limited", "gated"}:
                raise
            return None

    def _gguf(self, repo: HubRepo, filename: str, deadline: Deadline) -> GgufHeader:
        size = repo.sizes.get(filename)
        if size is None:
            raise HubError(f"{repo.id} has no file {filename[:80]}: give one of its .gguf files.", code="no_file")
        return read_gguf(lambda start, count: self._read(repo, filename, (start, start + count), deadline), file_bytes=size)

    def _read(self, repo: HubRepo, filename: str, span: tuple[int, int], deadline: Deadline) -> bytes:
        """Bytes [start, end) of a file, fewer where it ends before. Large files may come from another host."""
        ask = self._file(repo, filename, limit=span[1] - span[0], span=span, leave_host=True)
        return self._get(ask, repo.id, repo.revision, deadline)

    def _file(self, repo: HubRepo, filename: str, *, limit: int, span: tuple[int, int] | None = None, leave_host: bool = False) -> Ask:
        url = hf_hub_url(repo.id, read_filename(filename), revision=repo.revision, endpoint=self.endpoint)
        return Ask(url, filename, limit, span, leave_host)

    def _get(self, ask: Ask, repo_id: str, revision: str | None, deadline: Deadline) -> bytes:
        # Never the library's own headers: without a token they carry the login of this machine.
        headers = {"User-Agent": "slotwise"} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        try:
            answer = wire.get(get_session(), ask, headers=headers, deadline=deadline)
        except OfflineModeIsEnabled:
            raise errors.offline() from None
        if answer.status >= 400:
            raise errors.refused(
                answer.status, answer.headers, what=ask.what, repo_id=repo_id, revision=revision, has_token=bool(self.token)
            )
        return answer.body
