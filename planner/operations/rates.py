"""A rate limit as it is written, and where somebody stands with it, in the standard header fields."""

import re
from dataclasses import dataclass
from typing import Final

from django.core.exceptions import ImproperlyConfigured

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_TEXT: Final = re.compile(r"([1-9][0-9]{0,8})/([smhd])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limit:
    """So many requests in so many seconds, for each subject. `name` is part of the key and of the header: letters and hyphens."""

    name: str
    requests: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a subject stands with a limit after one more request."""

    limit: Limit
    used: int
    reset_seconds: int

    @property
    def allowed(self) -> bool:
        return self.used <= self.limit.requests

    @property
    def remaining(self) -> int:
        return max(0, self.limit.requests - self.used)

    def headers(self) -> dict[str, str]:
        """RateLimit-Policy and RateLimit as draft-ietf-httpapi-ratelimit-headers-10 has them; Retry-After (RFC 9110) when it is over."""
        fields = {
            "RateLimit-Policy": f'"{self.limit.name}";q={self.limit.requests};w={self.limit.seconds}',
            "RateLimit": f'"{self.limit.name}";r={self.remaining};t={self.reset_seconds}',
        }
        return fields if self.allowed else fields | {"Retry-After": str(self.reset_seconds)}


def read_limit(name: str, text: str) -> Limit | None:
    """“600/m” as a limit, None for “off”. Raises ImproperlyConfigured for anything else."""
    if text == "off":
        return None
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ImproperlyConfigured(f"The limit “{text[:40]}”: write a count and s, m, h or d, such as 600/m, or off.")
    return Limit(name, int(found[1]), _SECONDS[found[2]])
