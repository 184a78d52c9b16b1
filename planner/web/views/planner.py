"""The planner: a plan for the query string, whole or as the part that changed."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import reswap
from django_htmx.middleware import HtmxDetails

from planner.web.address import address
from planner.web.asking import Outcome, ask
from planner.web.changing import SAVED, changing
from planner.web.page import page
from planner.web.requests import HtmxRequest


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
def planner(request: HtmxRequest) -> HttpResponse:
    """The plan for the query string, so that every plan has an address to share."""
    values = request.GET.dict()
    saved = changing(values.pop(SAVED, ""))
    outcome = ask(values)
    context = page(outcome) | {"saved": saved}
    if request.htmx and not request.htmx.history_restore_request:
        return _part(request, request.htmx, outcome, context)
    return render(request, "planner/page.html", context, status=400 if outcome.errors else 200)


def _part(request: HtmxRequest, htmx: HtmxDetails, outcome: Outcome, context: dict[str, Any]) -> HttpResponse:
    """What typing replaces, or (for a link) inputs and answer together. A refused input leaves the last answer where it is."""
    if htmx.target == "planner":
        return render(request, "planner/_replaced.html", context)
    response = render(request, "planner/_live.html", context)
    response["HX-Replace-Url"] = address("/", outcome.typed, **{SAVED: context["saved"]})
    return reswap(response, "none") if outcome.errors else response
