"""What would change the verdict of the plan in the query string."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.web.hardware.change import change_page


@require_safe
def change(request: HttpRequest) -> HttpResponse:
    context, answered = change_page(request.GET)
    return render(request, "hardware/change.html", context, status=HTTPStatus.OK if answered else HTTPStatus.BAD_REQUEST)
