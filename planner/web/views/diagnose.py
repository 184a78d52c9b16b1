"""Why a server was slow: its log comes in, the diagnosis goes out, and nothing of either is kept."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from planner.core.errors import InputError
from planner.diagnoses import diagnosis_of
from planner.operations.limits import refusal, subject_of, take
from planner.web.carried import carried, carried_by
from planner.web.diagnosing import form, uploaded
from planner.web.diagnosing.page import command, shown
from planner.web.diagnosing.report import FILE_NAME, report_page


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("Referer")
def diagnose(request: HttpRequest) -> HttpResponse:
    """The form, and above it the diagnosis of what was sent; or the same as one file, where that was asked for."""
    if request.method != "POST":
        return render(request, "diagnose/page.html", form.context(carried_by(request)))
    if settings.DIAGNOSE_RATE_LIMIT and not (standing := take(settings.DIAGNOSE_RATE_LIMIT, subject_of(request))).allowed:
        return refusal(request, standing)
    plan = carried(request.POST.get("plan", ""))
    try:
        given = uploaded.material(request.POST, request.FILES)
        answer = diagnosis_of(given, most_bytes=uploaded.most_bytes(), most_beside=uploaded.MAX_BESIDE)
    except InputError as refused:
        field = refused.field if refused.field in uploaded.LABELS else "logs"
        return render(request, "diagnose/page.html", form.context(plan, request.POST, {field: str(refused)}), status=400)
    if "report" in request.POST:
        return HttpResponse(report_page(answer), headers={"Content-Disposition": f'attachment; filename="{FILE_NAME}"'})
    context = form.context(plan, request.POST) | shown(answer, plan=plan) | {"command": _command(request)}
    return render(request, "diagnose/page.html", context)


def _command(request: HttpRequest) -> str:
    beside = {each.name: name for each in uploaded.BESIDE for name in uploaded.names(request.FILES, each.name)[:1]}
    return command(uploaded.names(request.FILES, "logs"), beside | dict(uploaded.typed_numbers(request.POST)))
