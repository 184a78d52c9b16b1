"""The Hugging Face Hub: configurations, file sizes and file heads, as plain types. The only user of huggingface_hub.

huggingface_hub gives the shared connection, its offline switch and the addresses. Its own calls are not used, because they bound
neither the size of an answer nor the time for all of it (2.4: `model_info` waits for ever on a stall, `hf_raise_for_status`
reads an error page of any length).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

from huggingface_hub import get_session, hf_hub_url
from huggingface_hub.errors import OfflineModeIsEnabled

from planner import hub_errors, hub_wire
from planner.hub_address import HubAddress, normalize_id, read_address, read_filename, read_revision
from planner.hub_cache import Cache
from planner.hub_errors import HubError

__all__ = ["Hub", "HubAddress", "HubError", "HubFile", "HubModel", "HubRepo", "normalize_id", "read_address"]

CONFIG_LIMIT: Final = 2**20
LISTING_LIMIT: Final = 8 * 2**20
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
