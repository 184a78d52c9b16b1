"""One's own account: what it is, and the end of it."""

from django.conf import settings
from django.contrib import auth, messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts.access import Personal
from planner.accounts.forms import DeleteForm
from planner.accounts.joining import delete_account
from planner.core.errors import InputError


def account(request: Personal) -> HttpResponse:
    return render(request, "accounts/account.html", {"nav": "account", "has_password": settings.SITE_MODE != "single"})


@sensitive_post_parameters()
def delete(request: Personal) -> HttpResponse:
    """Deletes everything that is the person's alone, after asking for the password."""
    form = DeleteForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            delete_account(request.user)
        except InputError as refused:
            form.add_error(None, str(refused))
        else:
            auth.logout(request)
            messages.success(request, "Your account and everything in it are deleted.")
            return redirect("login" if settings.SITE_MODE == "private" else "planner")
    return render(request, "accounts/delete.html", {"nav": "account", "form": form}, status=400 if form.errors else 200)
