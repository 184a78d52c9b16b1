"""What people type about themselves and their teams."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, PasswordResetForm, SetPasswordForm
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from planner.accounts import mail
from planner.accounts.models import Invitation, Team, TeamDevice, User
from planner.accounts.scopes import Scope
from planner.core import catalog
from planner.core.errors import one_line

_AT_LEAST = "At least 10 characters. A few words that only you put together are good."


class OneLine(forms.CharField):
    """Text of one line: whatever could break it or turn the writing round becomes a space."""

    def to_python(self, value: Any) -> str:
        return one_line(str(super().to_python(value) or ""))


class AddressForm(forms.Form):
    """A mail address, in the spelling that is stored."""

    email = forms.EmailField(label="Mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "username"}))

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"]).lower()


class PersonForm(forms.ModelForm):  # type: ignore[type-arg]  # Django’s forms take no parameters at run time
    """What others see of a person."""

    class Meta:
        model = User
        fields: ClassVar[tuple[str, ...]] = ("username",)
        labels: ClassVar = {"username": "Name"}
        widgets: ClassVar = {
            "username": forms.TextInput(attrs={"autocomplete": "nickname", "spellcheck": "false", "autocapitalize": "off"})
        }

    def kept(self) -> User | None:
        """The person as stored, None with the reason in the form. Two who are as fast as each other are held apart by the database."""
        if not self.is_valid():
            return None
        try:
            with transaction.atomic():
                person: User = self.save()
        except IntegrityError:
            self.add_error(None, "This name or this address was taken a moment ago.")
            return None
        return person


class NewAccountForm(PersonForm):
    """The rest of an account whose address is known."""

    password = forms.CharField(
        label="Password", max_length=4_096, help_text=_AT_LEAST, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def _post_clean(self) -> None:
        # After the person is filled in, so that the password can be held against the name and the address.
        super()._post_clean()  # type: ignore[misc]  # Django's own hook, which its stubs leave out
        try:
            password_validation.validate_password(self.cleaned_data.get("password", ""), self.instance)
        except ValidationError as refused:
            self.add_error("password", refused)

    def save(self, commit: bool = True) -> User:  # noqa: FBT001, FBT002 (Django's signature)
        person: User = self.instance
        person.set_password(self.cleaned_data["password"])
        super().save(commit)
        return person


class SignUpForm(AddressForm, NewAccountForm):
    """All of an account at once, where no mail can prove the address."""

    class Meta(PersonForm.Meta):
        fields = ("email", "username")


class LogInForm(AuthenticationForm):
    username = forms.EmailField(label="Mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "username"}))
    password = forms.CharField(
        label="Password", max_length=4_096, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )
    error_messages = {  # noqa: RUF012 (Django's own attribute)
        "invalid_login": "This address and this password do not belong together.",
        "inactive": "This address and this password do not belong together.",
    }


class ChangePasswordForm(PasswordChangeForm):
    error_messages = {**PasswordChangeForm.error_messages, "password_incorrect": "This is not your present password."}  # noqa: RUF012 (likewise)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["old_password"].label = "Present password"
        _tell_of_new_password(self)


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _tell_of_new_password(self)


def _tell_of_new_password(form: forms.Form) -> None:
    form.fields["new_password1"].help_text = _AT_LEAST
    form.fields["new_password2"].label = "New password again"


class ResetForm(PasswordResetForm):
    """Writes to whom the address belongs, with the site's own address in the link."""

    email = forms.EmailField(label="Mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "username"}))

    def send_mail(self, subject_template_name: str, email_template_name: str, context: dict[str, Any], *_: Any, **__: Any) -> None:  # noqa: ARG002 (Django's signature)
        mail.send("accounts/mail/reset.txt", to=context["email"], user=context["user"], uid=context["uid"], token=context["token"])


class PasswordAgainForm(forms.Form):
    """The password once more, so that a page left open does not cost somebody everything."""

    password = forms.CharField(
        label="Password", max_length=4_096, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        if not self.user.check_password(password):
            raise ValidationError("This is not your password.")
        return password


class ChangeAddressForm(AddressForm, PasswordAgainForm):
    email = forms.EmailField(label="New mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    field_order = ("email", "password")


class TeamForm(forms.ModelForm):  # type: ignore[type-arg]
    name = OneLine(label="Name", max_length=80)

    class Meta:
        model = Team
        fields = ("name",)


class InviteForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Invitation
        fields = ("email", "role")
        labels: ClassVar = {"email": "Mail address"}
        help_texts: ClassVar = {"email": "Without one you get a link to pass on yourself."}


class DeviceForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = TeamDevice
        fields = ("device", "owned", "price", "currency")
        labels: ClassVar = {"owned": "You own", "price": "Price of one"}
        widgets: ClassVar = {"device": forms.TextInput(attrs={"list": "devices", "autocomplete": "off", "spellcheck": "false"})}

    def clean_device(self) -> str:
        slug = str(self.cleaned_data["device"])
        if slug not in catalog.devices():
            raise ValidationError("The catalogue has no such device: take a name from the list.")
        return slug


_TOKEN_LASTS: Final = {"30": "for 30 days", "90": "for 90 days", "365": "for a year", "": "until revoked"}


class TokenForm(forms.Form):
    name = OneLine(label="What uses it", max_length=80, help_text="Only for your own list: nightly report, my notebook.")
    scopes = forms.TypedMultipleChoiceField(
        label="It may", choices=Scope.choices, coerce=Scope, initial=[Scope.COMPUTE, Scope.READ], widget=forms.CheckboxSelectMultiple
    )
    days = forms.ChoiceField(label="It works", required=False, choices=list(_TOKEN_LASTS.items()), initial="90")

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None
