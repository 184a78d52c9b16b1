"""How right is it? Our answers beside what engines printed."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.web.accuracy import shown


@require_safe
def accuracy(request: HttpRequest) -> HttpResponse:
    return render(request, "accuracy.html", {"nav": "accuracy", "tables": shown()})
