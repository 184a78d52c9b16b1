"""Who may do what: one table of every address of the site, and the one place that holds requests to it.

An address that names an object (a plan, a team, a shared link, an invitation) has it looked up here and put on the request as
`request.access`. Who may not see it gets the same 404 as for what does not exist; who may see it but not do this gets a 403.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user
from django.core.exceptions import ImproperlyConfigured, ObjectDoesNotExist, PermissionDenied
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.utils.cache import add_never_cache_headers, patch_cache_control

from planner.accounts.access import Access
from planner.accounts.keys import hashed
from planner.accounts.models import Invitation, Team
from planner.accounts.onward import log_in_first
from planner.accounts.roles import Role
from planner.accounts.scopes import Scope
from planner.operations.problems import problem
from planner.plans.models import SavedPlan, ShareLink

READER, EDITOR, OWNER = Role.READER, Role.EDITOR, Role.OWNER
COMPUTE, READ, WRITE, SHARE = Scope.COMPUTE, Scope.READ, Scope.WRITE, Scope.SHARE
Find = Callable[[HttpRequest, Mapping[str, str]], Access[Any] | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """`methods` are those an address has (HEAD comes with GET, but for calls), each with the least role on the object, None where there is no role.

    `find` looks the object up, None where the address names none. `personal`: only for who is logged in. `always`: also without
    a log-in where the site asks for one on every page. `accounts`: about logging in, so not there where nobody does.
    `scopes`: what a token must be for, by method, where the address is a call of the API; None for a page.
    """

    methods: Mapping[str, Role | None]
    find: Find | None = None
    personal: bool = False
    always: bool = False
    accounts: bool = False
    scopes: Mapping[str, Scope] | None = None


def _plan(request: HttpRequest, named: Mapping[str, str]) -> Access[SavedPlan] | None:
    found = SavedPlan.objects.seen_by(request.user).select_related("team", "owner").filter(public_id=named["plan_id"]).first()
    return Access(found, Role(found.role)) if found else None


def _team(request: HttpRequest, named: Mapping[str, str]) -> Access[Team] | None:
    found = Team.objects.seen_by(request.user).filter(public_id=named["team_id"]).first()
    return Access(found, Role(found.role)) if found else None


def _link(request: HttpRequest, named: Mapping[str, str]) -> Access[ShareLink] | None:  # noqa: ARG001 (who asks does not matter)
    found = ShareLink.objects.of(named["secret"])
    return Access(found) if found else None


def _invitation(request: HttpRequest, named: Mapping[str, str]) -> Access[Invitation] | None:  # noqa: ARG001 (likewise)
    found = Invitation.objects.open().select_related("team").filter(secret_hash=hashed(named["secret"])).first()
    return Access(found) if found else None


def _public(*methods: str) -> Rule:
    """A page that keeps nothing and knows nobody."""
    return Rule(dict.fromkeys(methods))


def _entry(*methods: str) -> Rule:
    """A page on the way into an account."""
    return Rule(dict.fromkeys(methods), always=True, accounts=True)


def _own(*methods: str, accounts: bool = False) -> Rule:
    """A page about the reader's own things."""
    return Rule(dict.fromkeys(methods), personal=True, accounts=accounts)


def _on_plan(**methods: Role) -> Rule:
    return Rule(methods, _plan, personal=True)


def _on_team(**methods: Role) -> Rule:
    return Rule(methods, _team, personal=True)


def _by_link(*methods: str, personal: bool = False) -> Rule:
    return Rule(dict.fromkeys(methods), _link, personal=personal)


def _call(**scopes: Scope) -> Rule:
    """A call that keeps nothing: for everybody, as the pages are, and for tokens that may do it."""
    return Rule(dict.fromkeys(scopes or ("GET",)), scopes=scopes)


def _own_call(**scopes: Scope) -> Rule:
    return Rule(dict.fromkeys(scopes), personal=True, scopes=scopes)


def _plan_call(**methods: tuple[Scope, Role]) -> Rule:
    roles, scopes = {name: role for name, (_, role) in methods.items()}, {name: scope for name, (scope, _) in methods.items()}
    return Rule(roles, _plan, personal=True, scopes=scopes)


RULES: Final[Mapping[str, Rule]] = {
    # the planner, which needs no account
    "planner": _public("GET"),
    "accuracy": _public("GET"),
    "config": _public("POST"),
    "curve": _public("GET"),
    "diagnose": _public("GET", "POST"),
    "archive": _public("GET"),
    "file": _public("GET"),
    "glossary": _public("GET"),
    "guide": _public("GET"),
    "symptom": _public("GET"),
    "hardware": _public("GET"),
    "hardware-change": _public("GET"),
    "hardware-chart": _public("GET"),
    "hardware-note": _public("GET"),
    "hardware-note-file": _public("GET"),
    "hardware-prices": _public("POST"),
    "hardware-table": _public("GET"),
    "review": _public("GET", "POST"),
    "simulate": _public("GET"),
    "sweep": _public("GET"),
    "bad-hours": _public("GET"),
    "replay": _public("POST"),
    "startup": _public("POST"),
    "health": Rule({"GET": None}, always=True),
    "ready": Rule({"GET": None}, always=True),
    "metrics": Rule({"GET": None}, always=True),
    # accounts
    "signup": _entry("GET", "POST"),
    "signup-confirm": _entry("GET", "POST"),
    "login": _entry("GET", "POST"),
    "logout": _entry("POST"),
    "password-reset": _entry("GET", "POST"),
    "password-reset-confirm": _entry("GET", "POST"),
    "password-change": _own("GET", "POST", accounts=True),
    "account": _own("GET"),
    "account-name": _own("GET", "POST"),
    "account-address": _own("GET", "POST", accounts=True),
    "account-address-confirm": _own("GET", "POST", accounts=True),
    "account-delete": _own("GET", "POST", accounts=True),
    "account-export": _own("GET"),
    "tokens": _own("GET", "POST"),
    "token-revoke": _own("POST"),
    # teams
    "teams": _own("GET", "POST"),
    "team": _on_team(GET=READER),
    "team-rename": _on_team(POST=OWNER),
    "team-delete": _on_team(GET=OWNER, POST=OWNER),
    "team-leave": _on_team(POST=READER),
    "team-invite": _on_team(POST=OWNER),
    "team-uninvite": _on_team(POST=OWNER),
    "team-member": _on_team(POST=OWNER),
    "team-prices": _on_team(GET=READER),
    "team-device": _on_team(POST=EDITOR),
    "team-device-remove": _on_team(POST=EDITOR),
    "invitation": Rule({"GET": None, "POST": None}, _invitation, always=True, accounts=True),
    # saved plans
    "plans": _own("GET"),
    "plan-new": _own("GET", "POST"),
    "plan-compare": _public("GET"),
    "plan": _on_plan(GET=READER),
    "plan-edit": _on_plan(GET=EDITOR, POST=EDITOR),
    "plan-files": _on_plan(GET=READER),
    "plan-versions": _on_plan(GET=READER),
    "plan-version": _on_plan(GET=READER),
    "plan-restore": _on_plan(POST=EDITOR),
    "plan-approve": _on_plan(POST=EDITOR),
    "plan-copy": _on_plan(POST=READER),
    "plan-move": _on_plan(POST=OWNER),
    "plan-delete": _on_plan(GET=OWNER, POST=OWNER),
    "plan-comment": _on_plan(POST=READER),
    "plan-uncomment": _on_plan(POST=READER),
    "plan-share": _on_plan(GET=EDITOR, POST=EDITOR),
    "plan-unshare": _on_plan(POST=EDITOR),
    # shared links
    "share": _by_link("GET", "POST"),
    "share-files": _by_link("GET"),
    "share-copy": _by_link("GET", "POST", personal=True),
    # the API
    "api-docs": _public("GET"),
    "api:api-root": _call(),
    "api:openapi": _call(),
    "api:plan": _call(POST=COMPUTE),
    "api:compare": _call(POST=COMPUTE),
    "api:simulate": _call(POST=COMPUTE),
    "api:diagnose": _call(POST=COMPUTE),
    "api:plans": _own_call(GET=READ, POST=WRITE),
    "api:saved-plan": _plan_call(GET=(READ, READER), PUT=(WRITE, EDITOR), DELETE=(WRITE, OWNER)),
    "api:versions": _plan_call(GET=(READ, READER)),
    "api:version": _plan_call(GET=(READ, READER)),
    "api:links": _plan_call(GET=(SHARE, EDITOR), POST=(SHARE, EDITOR)),
    "api:link": _plan_call(DELETE=(SHARE, EDITOR)),
}


class Permissions:
    """Middleware: holds every request to its rule, and keeps what is not for everyone out of caches."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        rule = RULES.get(request.resolver_match.view_name) if request.resolver_match else None
        if rule and (rule.find or rule.personal or rule.accounts):
            add_never_cache_headers(response)
            patch_cache_control(response, private=True)
        elif settings.SESSION_COOKIE_NAME in request.COOKIES:
            patch_cache_control(response, private=True)  # the head of the page has the reader's name
        return response

    def process_view(self, request: HttpRequest, view: object, args: object, named: dict[str, str]) -> HttpResponseBase | None:  # noqa: ARG002 (Django's)
        name = request.resolver_match.view_name if request.resolver_match else ""
        if name not in RULES:
            raise ImproperlyConfigured(f"The address “{name}” has no rule: add one to planner/permissions.py.")
        return admit(request, RULES[name], named)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        """What a view was let in to may be gone before it is through: then the answer is that of who comes a moment later."""
        match = request.resolver_match
        if match is None or not isinstance(exception, ObjectDoesNotExist | IntegrityError):
            return None
        rule = RULES[match.view_name]
        if rule.scopes is None and settings.SITE_MODE != "single":
            request.user = get_user(request)
        return admit(request, rule, match.kwargs)


def admit(request: HttpRequest, rule: Rule, named: Mapping[str, str]) -> HttpResponseBase | None:
    """None for a request that may go on. Raises Http404 or PermissionDenied, or answers, for any other."""
    if rule.accounts and settings.SITE_MODE == "single":
        raise Http404
    if rule.scopes is not None and (refused := _refused_call(request, rule, rule.scopes)):
        return refused
    known = request.user.is_authenticated
    if not known and not rule.always and (settings.SITE_MODE == "private" or (rule.personal and rule.find in {None, _link})):
        return log_in_first(request)
    access = rule.find(request, named) if rule.find else None
    if rule.find and access is None:
        raise Http404
    request.access = access  # type: ignore[attr-defined]
    heads = "GET" in rule.methods and rule.scopes is None
    method = "GET" if request.method == "HEAD" and heads else request.method or ""
    if method not in rule.methods:
        return HttpResponseNotAllowed([*rule.methods, *(["HEAD"] if heads else [])])
    least = rule.methods[method]
    if least is not None and (access is None or access.role is None or access.role < least):
        raise PermissionDenied
    return None


def _refused_call(request: HttpRequest, rule: Rule, scopes: Mapping[str, Scope]) -> HttpResponse | None:
    """The answer to a call without the token that it takes (RFC 6750), before anything is looked up."""
    token = request.token  # type: ignore[attr-defined]  # set for every call by accounts.middleware
    wanted = scopes.get(request.method or "")
    if request.wrong_token:  # type: ignore[attr-defined]
        detail = "This token is not known, has ended or was revoked: make a new one on your account’s page."
        return _bearer(401, detail, 'error="invalid_token"')
    if token is None and (rule.personal or settings.SITE_MODE == "private"):
        return _bearer(401)
    if token and wanted and wanted not in token.scopes:
        return _bearer(
            403, f"This token is not for this: it takes one with the scope “{wanted}”.", f'error="insufficient_scope", scope="{wanted}"'
        )
    return None


def _bearer(status: int, detail: str = "", error: str = "") -> HttpResponse:
    headers = {"WWW-Authenticate": ", ".join(filter(None, ('Bearer realm="Slotwise"', error)))}
    return problem(status, detail, headers=headers)
