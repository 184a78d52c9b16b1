"""Every address of the site."""

from django.urls import URLPattern, URLResolver, path

from planner.web.views import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.alive, name="health"),
]
