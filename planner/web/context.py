"""What every template may use."""

from django.http import HttpRequest

import planner


def site(request: HttpRequest) -> dict[str, str]:  # noqa: ARG001 (Django passes it)
    return {"slotwise_version": planner.VERSION}
