"""Where a service finds its model and where it listens: text from outside, accepted only if every file can hold it."""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from planner.core.errors import InputError
from planner.core.plan import Plan

MAX_PATH: Final = 1_024

# A Hub id: owner/name or name. Source: huggingface_hub 2.4, utils/_validators.py, validate_repo_id (96 characters, no `--`, no `..`).
_HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(?:/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:@+/-]{0,199}", re.ASCII)
_REVISION: Final = re.compile(r"[A-Za-z0-9][\w./-]{0,99}", re.ASCII)
_HOST_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """`name` is what clients call the model. `path` is an absolute path on the machine or None, `hub_id` a Hub id or None: one is set.

    `host` is an address or a host name, None for the engine's own default; so is `port`.
    """

    name: str
    path: str | None
    hub_id: str | None
    revision: str | None
    host: str | None
    port: int | None

    @property
    def model(self) -> str:
        return self.path or self.hub_id or self.name

    @property
    def slug(self) -> str:
        """The last part of the name, fit for a file name."""
        return re.sub(r"[^\w.-]+", "-", self.name.rsplit("/", 1)[-1]).strip("-.") or "model"


def _shown(text: str) -> str:
    """The beginning of refused text, safe to print."""
    return "".join(c if c.isprintable() else "�" for c in text[:40])


def read_host(text: str) -> str:
    """An IP address or host name to listen on. Raises InputError for anything else."""
    if len(text) <= 253 and "%" not in text:
        labels = text.split(".")
        if all(_HOST_LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit():
            return text
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            pass
    raise InputError(f"“{_shown(text)}” is no address to listen on: give an IP address such as 127.0.0.1 or a host name.", field="host")


def read_path(text: str) -> str:
    """An absolute path without `..`, of printable characters. Raises InputError for anything else."""
    refused = None
    if len(text) > MAX_PATH:
        refused = f"is longer than {MAX_PATH:,} characters"
    elif any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in text):
        refused = "holds a control character or a line separator, which no unit file can hold"
    elif ".." in text.split("/") or text.endswith("/"):
        refused = "must name one file or folder directly: leave out “..” and the slash at the end"
    if refused:
        raise InputError(f"The model path “{_shown(text)}” {refused}.", field="model_path")
    return text


def is_hub_id(text: str) -> bool:
    return bool(_HUB_ID.fullmatch(text)) and ".." not in text and "--" not in text and not text.endswith((".git", ".", "-"))


def read_model_path(text: str) -> tuple[str | None, str | None]:
    """(absolute path, Hub id), one of them None. Raises InputError for text that is neither."""
    if text.startswith("/"):
        return read_path(text), None
    if is_hub_id(text):
        return None, text
    raise InputError(
        f"“{_shown(text)}” is neither an absolute path on the machine nor a Hub id: give one such as /srv/models/model.gguf or Qwen/Qwen3-8B.",
        field="model_path",
    )


def read_name(text: str) -> str:
    """What clients call the model. Raises InputError for a name that would need quoting somewhere."""
    if _NAME.fullmatch(text) and ".." not in text and "//" not in text:
        return text
    raise InputError(
        f"“{_shown(text)}” cannot be the served name: use letters, digits and . _ - + : @ /, at most 200 characters, beginning with a letter or digit.",
        field="model",
    )


def read_place(plan: Plan) -> Place:
    """The place of a plan. Raises InputError with the field for whatever the generated files could not hold."""
    name = read_name(plan.model.id)
    given = plan.request.model_path
    path, hub_id = read_model_path(given) if given else (None, name if is_hub_id(name) else None)
    revision = plan.model.revision
    if revision is not None and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise InputError(f"“{_shown(revision)}” is no revision: give a branch, a tag or a commit.", field="revision")
    host = plan.request.host
    return Place(
        name=name,
        path=path,
        hub_id=hub_id,
        revision=revision if hub_id == name else None,
        host=read_host(host) if host else None,
        port=plan.request.port,
    )
