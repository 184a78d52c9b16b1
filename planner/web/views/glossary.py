"""The words of the field, each explained once."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.web.terms import TERMS


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"nav": "glossary", "terms": TERMS})
