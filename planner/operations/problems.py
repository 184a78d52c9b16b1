"""What a program is told when its call is refused: problem+json (RFC 9457), whoever refuses it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

GetResponse = Callable[[HttpRequest], HttpResponse]
TYPE: Final = "application/problem+json"
# Calls are for programs; the page that describes them, in the same folder, is for people.
CALLS: Final = "/api/"
_PAGES: Final = frozenset({"/api/v1/docs"})
# The reason phrases of RFC 9110, which Python's own table has by other names in older versions.
_TITLES: Final[Mapping[int, str]] = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
_DETAILS: Final[Mapping[int, str]] = {
    400: "The request cannot be read.",
    401: "This call needs a token: make one on your account’s page and send it as “Authorization: Bearer …”.",
    403: "This token, or its owner, may not do this.",
    404: "There is nothing at this address, or it is not yours to see. The calls are described at /api/v1/docs.",
    405: "This address does not have this method; the field Allow has those it has.",
    413: "The body is larger than this call takes.",
    500: "Something went wrong on our side. It is in the log under the id in the field X-Request-ID.",
    503: "The database does not answer just now: try again in a few seconds.",
}
# What a refusal says beside its text, and what came with it from further out.
_KEPT: Final = ("Allow", "Retry-After", "RateLimit", "RateLimit-Policy", "WWW-Authenticate", "Cache-Control", "Vary")


def is_call(request: HttpRequest) -> bool:
    return request.path_info.startswith(CALLS) and request.path_info not in _PAGES


def problem(status: int, detail: str = "", *, headers: Mapping[str, str] | None = None, **more: Any) -> HttpResponse:
    """A refusal. `detail` says what to do; `more` are members of this kind of problem, such as `errors`."""
    told = {"type": "about:blank", "title": _TITLES[status], "status": status, "detail": detail or _DETAILS[status], **more}
    return JsonResponse(told, status=status, content_type=TYPE, headers=headers)


def problems_only(get_response: GetResponse) -> GetResponse:
    """Whatever refuses a call, on whatever layer and as whatever page: the client reads a problem, and nothing of the page."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.status_code < 400 or not is_call(request) or response.headers.get("Content-Type") == TYPE:
            return response
        return _told(response)

    return middleware


def _told(response: HttpResponseBase) -> HttpResponse:
    kept = {name: response.headers[name] for name in _KEPT if name in response.headers}
    status = response.status_code if response.status_code in _DETAILS else 500 if response.status_code >= 500 else 400
    return problem(status, headers=kept)
