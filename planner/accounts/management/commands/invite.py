"""`manage.py invite`: the way in for the first person of a site that is not open."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.urls import reverse

from planner.accounts.joining import invite
from planner.accounts.roles import Role


class Command(BaseCommand):
    help = "Prints a link with which one person can make an account, whatever SITE_MODE is. Example: manage.py invite"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", nargs="?", default="", help="the address that the sign-up page starts with")

    def handle(self, **options: Any) -> None:
        _, secret = invite(None, None, role=Role.READER, email=options["email"].lower())
        self.stdout.write(f"{settings.SITE_URL}{reverse('invitation', args=[secret])}")
