"""The tokens of one's account: made, shown this once, listed with their last use, revoked."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from planner.accounts.access import Personal
from planner.accounts.forms import TokenForm
from planner.accounts.tokens import make_token, revoke_token
from planner.core.errors import InputError


def tokens(request: Personal) -> HttpResponse:
    """The list. A new token is shown this once, for only its hash is kept."""
    form = TokenForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            _, context["made_token"] = make_token(request.user, name=said["name"], scopes=said["scopes"], expires_at=form.expires_at)
        except InputError as refused:
            form.add_error(refused.field, str(refused))
        else:
            form = TokenForm()
    live = list(request.user.tokens.live())
    dead = list(request.user.tokens.exclude(pk__in=[token.pk for token in live])[:20])
    context |= {"nav": "account", "form": form, "tokens": live, "dead": dead}
    return render(request, "accounts/tokens.html", context, status=400 if form.errors else 200)


def revoke(request: Personal, token_id: int) -> HttpResponse:
    if revoke_token(request.user, token_id):
        messages.success(request, "The token is revoked. Whatever uses it is refused from now on.")
    return redirect("tokens")
