"""Passwords: changed by who knows the present one, or by who can read the account's mail."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts import limits, mail
from planner.accounts.access import Personal
from planner.accounts.forms import ChangePasswordForm, NewPasswordForm, ResetForm
from planner.operations.limits import refusal


@sensitive_post_parameters()
def change(request: Personal) -> HttpResponse:
    """A new password. Every other session of the account ends with the old one."""
    form = ChangePasswordForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        standing = limits.by_user(limits.PASSWORDS_AGAIN, request)
        if not standing.allowed:
            return refusal(request, standing)
        if form.is_valid():
            update_session_auth_hash(request, form.save())
            messages.success(request, "Your password is changed. You are logged out everywhere else.")
            return redirect("account")
    return render(request, "accounts/password.html", {"nav": "account", "form": form}, status=400 if form.errors else 200)


def reset(request: HttpRequest) -> HttpResponse:
    """Writes to the address if it is an account's, and says the same whether it is or not."""
    form = ResetForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        standing = limits.by_network(limits.RESETS, request)
        if not standing.allowed:
            return refusal(request, standing)
        if form.is_valid():
            if limits.by_name(limits.RESETS_OF_ONE, form.cleaned_data["email"].lower()).allowed:
                form.save(domain_override=settings.SITE_URL.partition("://")[2], use_https=settings.SITE_URL.startswith("https:"))
            messages.info(request, f"If there is an account for that address, a mail with a link is on its way to it.{mail.where()}")
            return redirect("login")
    return render(request, "accounts/reset.html", {"nav": "account", "form": form}, status=400 if form.errors else 200)


class Confirm(PasswordResetConfirmView):
    """Django's own, which takes the token out of the address before anything can pass it on."""

    template_name = "accounts/reset_confirm.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("login")

    def form_valid(self, form: NewPasswordForm) -> HttpResponse:  # type: ignore[override]
        messages.success(self.request, "Your new password is set. Log in with it.")
        return super().form_valid(form)


confirm = Confirm.as_view()
