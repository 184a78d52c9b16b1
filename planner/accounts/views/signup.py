"""A new account: made at once, or where mails are sent, in two steps of which the mail with the link tells its reader alone who is here."""

from django.conf import settings
from django.contrib import auth, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts import limits, mail, proofs
from planner.accounts.forms import AddressForm, NewAccountForm, SignUpForm
from planner.accounts.joining import accept, open_invitation
from planner.accounts.models import Invitation, User
from planner.accounts.onward import go_on, wanted_next, with_next
from planner.operations.limits import refusal

_PASSWORDS = "django.contrib.auth.backends.ModelBackend"


@sensitive_post_parameters()
def signup(request: HttpRequest) -> HttpResponse:
    """For everybody where the site is open, else for who was invited."""
    secret = request.POST.get("invitation") or request.GET.get("invitation", "")
    invitation = open_invitation(secret)
    if not _may(invitation):
        return _invited_only(request)
    if request.user.is_authenticated:
        return redirect("invitation", secret) if invitation else go_on(request)
    kind = AddressForm if proofs.is_asked_for() else SignUpForm
    form = kind(request.POST if request.method == "POST" else None, initial={"email": invitation.email if invitation else ""})
    if request.method == "POST":
        standing = limits.by_network(limits.SIGN_UPS, request)
        if not standing.allowed:
            return refusal(request, standing)
        if isinstance(form, SignUpForm):
            person = form.kept()
            if person:
                return _welcome(request, person, invitation)
        elif form.is_valid():
            return _write(request, form.cleaned_data["email"], secret if invitation else "")
    wanted = wanted_next(request)
    context = {"nav": "account", "form": form, "next": wanted, "invitation": invitation, "secret": secret}
    context |= {"login": with_next(request, reverse("login"), wanted), "by_mail": proofs.is_asked_for()}
    return render(request, "accounts/signup.html", context, status=400 if form.errors else 200)


@sensitive_post_parameters()
def confirm(request: HttpRequest, proof: str) -> HttpResponse:
    """The rest of the account, for who followed the link in the mail."""
    found = proofs.account_of(proof)
    if found is None:
        return render(request, "accounts/link_over.html", {"nav": "account", "again": reverse("signup")}, status=410)
    email, secret = found
    invitation = open_invitation(secret)
    if not _may(invitation):
        return _invited_only(request)
    form = NewAccountForm(request.POST if request.method == "POST" else None, instance=User(email=email))
    if request.method == "POST":
        standing = limits.by_network(limits.SIGN_UPS, request)
        if not standing.allowed:
            return refusal(request, standing)
        person = form.kept()
        if person:
            return _welcome(request, person, invitation)
    context = {"nav": "account", "form": form, "email": email, "next": wanted_next(request), "invitation": invitation}
    return render(request, "accounts/signup_confirm.html", context, status=400 if form.errors else 200)


def _may(invitation: Invitation | None) -> bool:
    return settings.SITE_MODE == "open" or invitation is not None


def _invited_only(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/invited_only.html", {"nav": "account"}, status=403)


def _write(request: HttpRequest, email: str, secret: str) -> HttpResponse:
    """The same page and the same work for an address that has an account and for one that has none."""
    path = with_next(request, reverse("signup-confirm", args=[proofs.for_account(email, invitation=secret)]), wanted_next(request))
    known = User.objects.filter(email=email).exists()
    if limits.by_name(limits.PROOFS_OF_ONE, email).allowed:
        mail.send("accounts/mail/known.txt" if known else "accounts/mail/signup.txt", to=email, path=path)
    messages.info(request, "A mail is on its way to you. Follow the link in it; this page is no longer needed.")
    return redirect("login")


def _welcome(request: HttpRequest, person: User, invitation: Invitation | None) -> HttpResponseRedirect:
    auth.login(request, person, backend=_PASSWORDS)
    if invitation and accept(invitation, person) and invitation.team:
        return redirect("team", invitation.team.public_id)
    return go_on(request)
