"""Mails: text from a template whose first line is the subject, sent without letting anybody wait for it."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

log = logging.getLogger(__name__)
_SENDER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mail")


def send(template: str, *, to: str, **context: object) -> None:
    """One mail. Links in it begin with SITE_URL, never with what a request called this site."""
    subject, _, text = render_to_string(template, {"site": settings.SITE_URL, **context}).strip().partition("\n")
    message = EmailMessage(" ".join(subject.split())[:200], text.lstrip("\n"), to=[to])
    if settings.MAIL_IN_BACKGROUND:
        _SENDER.submit(_deliver, message)
    else:
        _deliver(message)


def _deliver(message: EmailMessage) -> None:
    try:
        message.send()
    except OSError as problem:  # smtplib's own errors are among them
        log.warning("A mail could not be sent: %s", type(problem).__name__)
