"""Where a reader wanted to go before being asked to log in: kept on the way, and never off this site."""

from typing import Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

# A plan's address may itself fill most of the line that a server reads: a longer one is kept in the session instead.
_LONGEST_IN_ADDRESS: Final = 1_500
# Nobody's address; a browser would not follow a redirect to a much longer one.
_LONGEST: Final = 12_000
_KEPT: Final = "onward"


def log_in_first(request: HttpRequest) -> HttpResponseRedirect:
    """To the log-in, and afterwards to the page that was asked for; a form that was sent leads back to the list of plans."""
    wanted = request.get_full_path() if request.method in {"GET", "HEAD"} else reverse("plans")
    return HttpResponseRedirect(with_next(request, reverse("login"), wanted))


def with_next(request: HttpRequest, path: str, wanted: str) -> str:
    """The address of `path` that leads on to `wanted`, which the session keeps where it is long."""
    if not wanted:
        return path
    query = urlencode({"next": wanted}, safe="/")
    if len(query) <= _LONGEST_IN_ADDRESS:
        return f"{path}?{query}"
    request.session[_KEPT] = wanted
    return path


def wanted_next(request: HttpRequest) -> str:
    """The page to go on to, "" where there is none or where it is not on this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or request.session.get(_KEPT) or ""
    # What stands before the query decides where it leads; the query may be longer than Django would look at.
    path = wanted.partition("?")[0]
    safe = path.startswith("/") and len(wanted) <= _LONGEST and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    return wanted if safe else ""


def go_on(request: HttpRequest) -> HttpResponseRedirect:
    """To that page, or to the list of plans; once."""
    wanted = wanted_next(request) or reverse("plans")
    request.session.pop(_KEPT, None)
    return HttpResponseRedirect(wanted)
