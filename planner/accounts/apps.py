"""The app of people and teams."""

from django.apps import AppConfig
from django.urls import register_converter

from planner.accounts.keys import PublicId, Secret


class AccountsConfig(AppConfig):
    name = "planner.accounts"
    label = "accounts"

    def ready(self) -> None:
        register_converter(PublicId, "key")
        register_converter(Secret, "secret")
