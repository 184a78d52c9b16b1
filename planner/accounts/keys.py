"""Keys in addresses: which object it is (public) and who may see it (secret, of which only the hash is stored)."""

import hashlib
import re
import secrets
from typing import Final

from django.urls.converters import StringConverter

# 128 and 192 bits, as urlsafe base64.
_PUBLIC_BYTES: Final = 16
_SECRET_BYTES: Final = 24
PUBLIC_LENGTH: Final = 22
SECRET_LENGTH: Final = 32
HASH_LENGTH: Final = 64


def new_public_id() -> str:
    return secrets.token_urlsafe(_PUBLIC_BYTES)


def new_secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


def hashed(secret: str) -> str:
    """What is stored of a secret. It has 192 random bits, so a plain hash cannot be guessed back."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_public_id(text: str) -> bool:
    return re.fullmatch(PublicId.regex, text) is not None


class PublicId(StringConverter):
    """`<key:…>` in a URL: anything else never reaches the database."""

    regex = f"[A-Za-z0-9_-]{{{PUBLIC_LENGTH}}}"


class Secret(StringConverter):
    """`<secret:…>` in a URL."""

    regex = f"[A-Za-z0-9_-]{{{SECRET_LENGTH}}}"
