"""What people paste beside their plan: what it keeps, changes and adds, and what was wrong. Nothing is stored."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from planner.core.errors import InputError
from planner.web.carried import carried, carried_by
from planner.web.reviewing import reviewed


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("Referer")
def review(request: HttpRequest) -> HttpResponse:
    """The box to paste into, and under it the review of what was pasted."""
    if request.method != "POST":
        plan = carried_by(request)
        return render(request, "review/review.html", {"nav": "planner", "plan": plan}, status=400 if plan.refused else 200)
    plan, text = carried(request.POST.get("plan", "")), request.POST.get("text", "")
    context: dict[str, Any] = {"nav": "planner", "plan": plan, "text": text}
    try:
        context["reviewed"] = reviewed(text, plan)
    except InputError as refused:
        # What is not the text's fault is the plan's: it can be changed on the planner's page.
        context |= {"error": str(refused), "error_in": "text" if refused.field == "text" else "plan"}
    return render(request, "review/review.html", context, status=400 if "error" in context or plan.refused else 200)
