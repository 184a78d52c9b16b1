"""Addresses on the Hub: a model id, or any of its web addresses, taken apart into repository, revision and file."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from planner.hub.errors import HubError

# The public Hub's own names; a mirror's pages link to them, and people paste those links.
PUBLIC_HOSTS: Final = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})
MAX_ADDRESS: Final = 512

_PART: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_ID: Final = re.compile(rf"(?:{_PART}/)?{_PART}", re.ASCII)
_REVISION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}", re.ASCII)
_FILE: Final = re.compile(r"[^\x00-\x1f\x7f\\?#]{1,255}")
_SCHEME: Final = re.compile(r"(https?)://", re.IGNORECASE)
_VIEWS: Final = {"blob", "resolve", "raw", "tree"}
_OTHER_KINDS: Final = {"datasets", "spaces", "collections", "papers", "docs", "kernels", "buckets", "models", "api", "blog", "chat"}


@dataclass(frozen=True, slots=True)
class HubAddress:
    """What an address names; `revision` and `filename` are None where it does not say."""

    repo_id: str
    revision: str | None = None
    filename: str | None = None


def read_revision(text: str) -> str:
    """A branch, tag, pull request or commit. Raises HubError (field "revision") for anything that cannot be one."""
    revision = text.strip()
    if not _REVISION.fullmatch(revision) or ".." in revision or "//" in revision or revision.endswith("/"):
        raise HubError(
            f"“{revision[:80]}” is not a revision: give a branch, a tag or a commit such as main.", code="bad_revision", field="revision"
        )
    return revision


def read_address(text: str, *, endpoint: str = "https://huggingface.co") -> HubAddress:
    """The parts of `text`: an id, or an address of a model's page or of a file in it on `endpoint` or the public Hub.

    Raises HubError with a sentence that says what is accepted.
    """
    cleaned = text.strip()
    if len(cleaned) > MAX_ADDRESS:
        raise HubError(f"This address is longer than {MAX_ADDRESS} characters: give a model id such as Qwen/Qwen3-8B.", code="bad_id")
    hosts = PUBLIC_HOSTS | {urlsplit(endpoint).netloc.lower()}
    scheme = _SCHEME.match(cleaned)
    rest = cleaned[scheme.end() :] if scheme else cleaned
    host, _, path = rest.partition("/")
    if scheme or host.lower() in hosts:
        if host.lower() not in hosts:
            raise HubError(
                f"“{host[:80]}” is not the Hub: give a model id such as Qwen/Qwen3-8B, or paste the model's config.json.", code="bad_id"
            )
        return _page(path, cleaned)
    if not _is_id(cleaned):
        raise _no_id(cleaned)
    return HubAddress(cleaned)


def normalize_id(text: str, *, endpoint: str = "https://huggingface.co") -> tuple[str, str | None]:
    """The repository id and the revision, None where not given, that `text` names. Raises HubError as `read_address` does."""
    address = read_address(text, endpoint=endpoint)
    return address.repo_id, address.revision


def _is_id(text: str) -> bool:
    # The Hub's own rules for a repository's name: huggingface_hub 2.4 utils/_validators.py, validate_repo_id.
    return _ID.fullmatch(text) is not None and len(text) <= 96 and ".." not in text and "--" not in text and not text.endswith(".git")


def _no_id(text: str) -> HubError:
    return HubError(
        f"“{text[:80]}” is not a model id: give one such as Qwen/Qwen3-8B, the address of its page, or paste its config.json.",
        code="bad_id",
    )


def _page(path: str, whole: str) -> HubAddress:
    parts = [unquote(part) for part in re.split(r"[?#]", path, maxsplit=1)[0].split("/") if part]
    if parts and parts[0] in _OTHER_KINDS:
        raise HubError(f"“{whole[:80]}” is a page about {parts[0]}, not about one model: give the model's own page or id.", code="bad_id")
    view = next((i for i in (1, 2) if len(parts) > i and parts[i] in _VIEWS), None)
    repo_id = "/".join(parts[: view or 2])
    if not _is_id(repo_id):
        raise _no_id(whole)
    if view is None or len(parts) <= view + 1:
        return HubAddress(repo_id)
    width = 3 if parts[view + 1] == "refs" else 1  # refs/pr/7 is one revision in three parts
    revision = read_revision("/".join(parts[view + 1 : view + 1 + width]))
    filename = "/".join(parts[view + 1 + width :])
    if not filename or parts[view] == "tree":
        return HubAddress(repo_id, revision)
    return HubAddress(repo_id, revision, read_filename(filename))


def read_filename(text: str) -> str:
    """A file's path inside its repository. Raises HubError for one that leaves it."""
    if not _FILE.fullmatch(text) or text.startswith("/") or any(part in {"", ".", ".."} for part in text.split("/")):
        raise HubError(f"“{text[:80]}” is not a file of a model repository.", code="bad_id")
    return text
