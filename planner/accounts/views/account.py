"""One's own account: what it is, its name and its address, and the end of it."""

from django.conf import settings
from django.contrib import auth, messages
from django.db import IntegrityError, transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts import limits, mail, proofs
from planner.accounts.access import Personal
from planner.accounts.forms import ChangeAddressForm, PasswordAgainForm, PersonForm
from planner.accounts.joining import delete_account
from planner.accounts.models import User
from planner.core.errors import InputError
from planner.operations.limits import refusal


def account(request: Personal) -> HttpResponse:
    return render(request, "accounts/account.html", {"nav": "account", "has_password": settings.SITE_MODE != "single"})


def name(request: Personal) -> HttpResponse:
    """The name that others see and mention."""
    # A person of its own for the form, which fills it in before it knows whether that can be kept.
    form = PersonForm(request.POST if request.method == "POST" else None, instance=User.objects.get(pk=request.user.pk))
    if request.method == "POST" and form.kept():
        messages.success(request, "Your name is changed.")
        return redirect("account")
    return render(request, "accounts/name.html", {"nav": "account", "form": form}, status=400 if form.errors else 200)


@sensitive_post_parameters()
def address(request: Personal) -> HttpResponse:
    """Writes to the new address; it is taken when the link there is followed. Says the same whether somebody has it or not."""
    form = ChangeAddressForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        standing = limits.by_user(limits.PASSWORDS_AGAIN, request)
        if not standing.allowed:
            return refusal(request, standing)
        if form.is_valid():
            _write(request.user, form.cleaned_data["email"])
            messages.info(
                request, f"A mail is on its way to the new address. Follow the link in it while you are logged in here.{mail.where()}"
            )
            return redirect("account")
    return render(request, "accounts/address.html", {"nav": "account", "form": form}, status=400 if form.errors else 200)


def address_confirm(request: Personal, proof: str) -> HttpResponse:
    """The new address, after asking: some mail servers follow links by themselves."""
    email = proofs.address_of(request.user, proof)
    if email is None:
        return render(request, "accounts/link_over.html", {"nav": "account", "again": reverse("account-address")}, status=410)
    if request.method != "POST":
        return render(request, "accounts/address_confirm.html", {"nav": "account", "email": email})
    was = request.user.email
    try:
        with transaction.atomic():
            changed = User.objects.filter(pk=request.user.pk, email=was).update(email=email)
    except IntegrityError:  # somebody has it by now
        changed = 0
    if not changed:
        return render(request, "accounts/link_over.html", {"nav": "account", "again": reverse("account-address")}, status=410)
    mail.send("accounts/mail/address_changed.txt", to=was, email=email)
    messages.success(request, f"You log in with {email} from now on.")
    return redirect("account")


@sensitive_post_parameters()
def delete(request: Personal) -> HttpResponse:
    """Deletes everything that is the person's alone, after asking for the password."""
    form = PasswordAgainForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        standing = limits.by_user(limits.PASSWORDS_AGAIN, request)
        if not standing.allowed:
            return refusal(request, standing)
        if form.is_valid():
            try:
                delete_account(request.user)
            except InputError as refused:
                form.add_error(None, str(refused))
            else:
                auth.logout(request)
                messages.success(request, "Your account and everything in it are deleted.")
                return redirect("login" if settings.SITE_MODE == "private" else "planner")
    return render(request, "accounts/delete.html", {"nav": "account", "form": form}, status=400 if form.errors else 200)


def _write(user: User, email: str) -> None:
    """A link to the new address, or to who has it already, that somebody tried."""
    if not limits.by_name(limits.PROOFS_OF_ONE, email).allowed:
        return
    path = reverse("account-address-confirm", args=[proofs.for_address(user, email)])
    taken = User.objects.filter(email=email).exclude(pk=user.pk).exists()
    mail.send("accounts/mail/known.txt" if taken else "accounts/mail/address.txt", to=email, path=path, user=user)
