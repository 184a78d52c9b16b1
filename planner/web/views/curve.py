"""The slots that fit at other context lengths: a table, and the figure that plotly draws from it."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from planner.web import charts
from planner.web.asking import ask, curve_points
from planner.web.requests import HtmxRequest


@require_safe
@vary_on_headers("HX-Request")
def curve(request: HtmxRequest) -> HttpResponse:
    """A part of the planner's page where htmx asks for it, a page of its own otherwise."""
    outcome = ask(request.GET.dict())
    context: dict[str, Any] = {"nav": "planner", "typed": outcome.typed, "errors": outcome.errors}
    if outcome.answer:
        plan = outcome.answer.plan
        points = curve_points(plan.request)
        context |= {
            "plan": plan,
            "points": points,
            "figure": charts.slots_by_context(points, context=plan.request.context, needed=plan.fit.slots_needed),
        }
    template = "planner/_curve.html" if request.htmx else "planner/curve.html"
    return render(request, template, context, status=400 if outcome.errors and not request.htmx else 200)
