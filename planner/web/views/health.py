"""Is the process alive?"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe


@require_safe
def alive(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 (Django passes it)
    return HttpResponse("ok\n", content_type="text/plain")
