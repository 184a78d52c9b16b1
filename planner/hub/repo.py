"""What the Hub says of a repository: its commit, its files and their sizes, read from an answer that may hold anything."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from planner.core.errors import InputError
from planner.core.readers.json_text import parse_config
from planner.core.units import MAX_BYTES
from planner.hub import errors
from planner.hub.address import normalize_id
from planner.hub.errors import HubError

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A repository at one commit. `asked` is the id that was asked for: it differs from `id` after a renaming."""

    id: str
    revision: str
    asked: str
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HubModel:
    """A config.json and where it came from. `note` is a sentence for the reader when the repository was renamed."""

    id: str
    revision: str
    config: Mapping[str, object]
    note: str | None = None


def read_repo(body: bytes, *, asked: str) -> HubRepo:
    """The parts of `/api/models/{id}?blobs=true` that are used. Raises HubError where they are not what the Hub sends."""
    listing = json_object(body, "The list of files")
    repo_id, revision, siblings = listing.get("id"), listing.get("sha"), listing.get("siblings")
    if not isinstance(repo_id, str) or not isinstance(revision, str) or not _COMMIT.fullmatch(revision) or not isinstance(siblings, list):
        raise errors.not_json("The list of files")
    return HubRepo(id=normalize_id(repo_id)[0], revision=revision, asked=asked, sizes=_sizes(siblings))


def read_config(body: bytes, repo: HubRepo) -> dict[str, object]:
    """The object in the bytes of a config.json. Raises HubError for anything else."""
    try:
        return parse_config(body)
    except InputError:
        raise HubError(f"The config.json of {repo.id} is not a JSON object that can be read: {errors.PASTE}.", code="not_json") from None


def json_object(body: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise errors.not_json(what) from None
    if not isinstance(value, dict):
        raise errors.not_json(what)
    return value


def _sizes(siblings: list[Any]) -> dict[str, int]:
    sizes = {}
    for entry in siblings:
        name, size = (entry.get("rfilename"), entry.get("size")) if isinstance(entry, dict) else (None, None)
        if isinstance(name, str) and type(size) is int and 0 <= size <= MAX_BYTES:
            sizes[name] = size
    return sizes
