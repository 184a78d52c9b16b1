"""The key that a site for this machine alone signs with: made at the first start and kept beside the database."""

import os
import secrets
from pathlib import Path


def kept_key(path: Path) -> str:
    """The key in `path`, which is made if it is missing. Where nothing can be written, one that lasts as long as the process."""
    try:
        return path.read_text()
    except OSError:
        key = secrets.token_urlsafe(50)
    try:
        _write_once(path, key)
    except FileExistsError:
        return path.read_text()
    except OSError:
        return key
    return key


def _write_once(path: Path, text: str) -> None:
    """Written whole under another name and then linked: of two processes that start at once, both read the first one's."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.key")
    draft.touch(mode=0o600)
    try:
        draft.write_text(text)
        os.link(draft, path)
    finally:
        draft.unlink()
