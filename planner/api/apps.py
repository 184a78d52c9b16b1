"""The app of the API."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "planner.api"
    label = "api"
