"""Mails: text from a template whose first line is the subject, sent without letting anybody wait for it."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

_CONSOLE: Final = "django.core.mail.backends.console.EmailBackend"
log = logging.getLogger(__name__)
_SENDER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


def send(template: str, *, to: str, **context: object) -> None:
    """One mail. Links in it begin with SITE_URL, never with what a request called this site."""
    if settings.MAIL_IN_BACKGROUND:
        _SENDER.submit(_deliver, template, to, context)
    else:
        _deliver(template, to, context)


def where() -> str:
    """What to say of a mail where it goes nowhere, so that who tries this at home finds it."""
    return " On this machine it is printed where the server runs." if settings.EMAIL_BACKEND == _CONSOLE else ""


def _deliver(template: str, to: str, context: dict[str, object]) -> None:
    # Written here as well, so that whoever asked does not wait for that either.
    subject, _, text = render_to_string(template, {"site": settings.SITE_URL, **context}).strip().partition("\n")
    message = EmailMessage(" ".join(subject.split())[:200], text.lstrip("\n"), to=[to])
    try:
        message.send()
    except (OSError, ValueError) as problem:  # smtplib's own errors, and an address that no mail can have in its head
        log.warning("A mail could not be sent: %s", type(problem).__name__)
