"""HubError, and the sentence for every way in which the Hub can refuse or fail."""

import re
from collections.abc import Mapping
from typing import Final

from planner.core import units
from planner.core.errors import InputError

PASTE: Final = "paste the model's config.json instead"

# RateLimit: "api";r=0;t=55, the form of draft-ietf-httpapi-ratelimit-headers-09 that the Hub sends.
_RATE_LIMIT: Final = re.compile(r";\s*t\s*=\s*(\d{1,6})")


class HubError(InputError):
    """The Hub could not give what was asked. The text says what to do; `code` names the case for scripts and tests."""

    def __init__(self, message: str, *, code: str, field: str | None = "model") -> None:
        super().__init__(message, field=field)
        self.code = code


def refused(status: int, headers: Mapping[str, str], *, what: str, repo_id: str, revision: str | None, has_token: bool) -> HubError:
    """The error for an answer of 400 and above to a request for `what` of a repository."""
    code = headers.get("x-error-code", "")
    if code == "GatedRepo" or (status == 403 and code != "RepoNotFound"):
        permission = "the operator's token has no access to it" if has_token else "its licence must be accepted on the Hub first"
        return HubError(f"{repo_id} is gated: {permission}, so {PASTE}.", code="gated")
    if code == "RevisionNotFound":
        return HubError(
            f"{repo_id} has no revision “{revision}”: give a branch, a tag or a commit it has, or leave it out for main.",
            code="no_revision",
            field="revision",
        )
    if code == "EntryNotFound":
        return HubError(f"{repo_id} has no {what}: give a repository that has one, or {PASTE}.", code="no_file")
    if status in {401, 404} or code == "RepoNotFound":
        return HubError(
            f"{repo_id} is not on the Hub, or is private or gated: check the spelling, or {PASTE}.",
            code="missing",
        )
    if status == 429:
        return HubError(f"The Hub takes no more requests from this machine for now: {_retry(headers)}, or {PASTE}.", code="rate_limited")
    if status in {410, 451}:
        return HubError(f"{repo_id} is disabled on the Hub: {PASTE}.", code="disabled")
    if status >= 500:
        return HubError(f"The Hub has a fault of its own (HTTP {status}): try again in a minute, or {PASTE}.", code="hub_fault")
    return HubError(f"The Hub refused to give {what} of {repo_id} (HTTP {status}): {PASTE}.", code="refused")


def _retry(headers: Mapping[str, str]) -> str:
    """When to come back. Source: huggingface_hub 2.4 utils/_http.py reads the same two headers in the same order."""
    limit = _RATE_LIMIT.search(headers.get("ratelimit", ""))
    plain = headers.get("retry-after", "").strip()
    seconds = int(limit[1]) if limit else int(plain) if re.fullmatch(r"\d{1,6}", plain) else None
    return f"try again in {units.seconds(max(1, seconds))}" if seconds is not None else "try again in a few minutes"


def unreachable(host: str) -> HubError:
    return HubError(
        f"The Hub ({host}) cannot be reached from this machine: check its network or HF_ENDPOINT, or {PASTE}.", code="unreachable"
    )


def offline() -> HubError:
    return HubError(f"This machine is set to work without the Hub (HF_HUB_OFFLINE): {PASTE}.", code="offline")


def timed_out(host: str, seconds: float) -> HubError:
    return HubError(f"The Hub ({host}) did not answer in full within {units.seconds(seconds)}: try again, or {PASTE}.", code="timeout")


def ended_early(what: str) -> HubError:
    return HubError(f"The Hub's answer for {what} ended early: try again, or {PASTE}.", code="ended_early")


def wrong_length(what: str) -> HubError:
    return HubError(f"The Hub sent another length of {what} than it announced: try again, or {PASTE}.", code="wrong_length")


def too_large(what: str, limit: int) -> HubError:
    return HubError(f"{what} on the Hub is larger than {units.size(limit)}, so it is not read: {PASTE}.", code="too_large")


def not_json(what: str) -> HubError:
    return HubError(f"{what} on the Hub is not a JSON object: {PASTE}.", code="not_json")


def elsewhere(what: str, host: str) -> HubError:
    return HubError(f"The Hub sends the request for {what} on to {host[:80]}, which is not followed: {PASTE}.", code="redirect")
