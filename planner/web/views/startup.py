"""Start-up lines that were pasted, held against the plan they belong to. Nothing of them is stored."""

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST
from django.views.decorators.vary import vary_on_headers

from planner.answer import held_against
from planner.core.errors import InputError
from planner.web.asking import ask
from planner.web.page import page
from planner.web.requests import HtmxRequest


@require_POST
@vary_on_headers("HX-Request")
def startup(request: HtmxRequest) -> HttpResponse:
    """The comparison alone where htmx asks for it, else the planner's page with it in its place."""
    outcome = ask(QueryDict(request.POST.get("address", "")).dict())
    text = request.POST.get("startup", "")
    context = page(outcome) | {"startup_text": text, "startup_error": ""}
    status = 400 if outcome.answer is None else 200
    if outcome.answer:
        try:
            context["reconciliation"] = held_against(outcome.answer, text)
        except InputError as refused:
            context["startup_error"], status = str(refused), 400
    if request.htmx:
        return render(request, "planner/_compared.html", context)
    return render(request, "planner/page.html", context, status=status)
