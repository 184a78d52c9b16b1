"""The files of a plan: one by one under the name they are installed as, or all in one zip."""

from pathlib import PurePosixPath

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.web.asking import Outcome, ask
from planner.web.bundle import bundle
from planner.web.page import page


@require_safe
def file(request: HttpRequest, path: str) -> HttpResponse:
    """One file of the plan for the query string. `path` is where it goes on the target, without the leading slash."""
    outcome = ask(request.GET.dict())
    if outcome.answer is None:
        return _refused(request, outcome)
    for each in outcome.answer.hand_over.files:
        if each.path.lstrip("/") == path:
            return _download(each.content.encode(), PurePosixPath(path).name, "text/plain; charset=utf-8")
    raise Http404


@require_safe
def archive(request: HttpRequest) -> HttpResponse:
    """Every file of the plan for the query string and a README of the steps."""
    outcome = ask(request.GET.dict())
    if outcome.answer is None:
        return _refused(request, outcome)
    plan = outcome.answer.plan
    address = request.build_absolute_uri("/?" + request.GET.urlencode(safe="/,:"))
    return _download(bundle(plan, outcome.answer.hand_over, address), f"slotwise-{plan.engine.name}.zip", "application/zip")


def _download(content: bytes, name: str, content_type: str) -> HttpResponse:
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _refused(request: HttpRequest, outcome: Outcome) -> HttpResponse:
    """No plan, no files: the planner with the sentence that says what to change."""
    return render(request, "planner/page.html", page(outcome), status=400)
