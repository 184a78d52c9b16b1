"""The app of saved plans."""

from django.apps import AppConfig


class PlansConfig(AppConfig):
    name = "planner.plans"
    label = "plans"
