"""The hardware table: every machine for the need in the query string, its files, its charts, and prices that come as a file."""

from http import HTTPStatus
from typing import Final

from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import reswap

from planner.core.comparing.report import comparison_csv, comparison_json
from planner.core.comparing.table import assumptions
from planner.core.errors import InputError
from planner.web.address import address
from planner.web.hardware.page import page
from planner.web.hardware.pictures import PICTURES
from planner.web.hardware.question import Found, Question, found, read_question
from planner.web.hardware.typed_prices import uploaded_prices
from planner.web.requests import HtmxRequest

FILES: Final = ("csv", "json")


@require_safe
@vary_on_headers("HX-Request")
def hardware(request: HtmxRequest) -> HttpResponse:
    """The table for the query string, whole or as the part that filters and order change."""
    question, rows = _answered(read_question(request.GET))
    context = page(question, rows)
    if request.htmx and not request.htmx.history_restore_request:
        response = render(request, "hardware/_live.html", context)
        response["HX-Push-Url"] = address("/hardware/", question.typed)
        return response if rows else reswap(response, "none")  # the last table stays where it is
    return render(request, "hardware/page.html", context, status=HTTPStatus.OK if rows else HTTPStatus.BAD_REQUEST)


@require_safe
def table(request: HtmxRequest, kind: str) -> HttpResponse:
    """The rows that the page shows at this address, on all of its pages, as CSV or as the command’s JSON."""
    if kind not in FILES:
        raise Http404
    question, rows = _answered(read_question(request.GET))
    if rows is None or question.asked is None:
        refusal = "\n".join(question.errors.values()) + "\n"
        return HttpResponse(refusal, content_type="text/plain; charset=utf-8", status=HTTPStatus.BAD_REQUEST)
    asked = question.asked
    named = {"Content-Disposition": f'attachment; filename="hardware.{kind}"'}
    if kind == "csv":
        return HttpResponse(comparison_csv(rows.rows), content_type="text/csv; charset=utf-8", headers=named)
    shown = comparison_json(rows.rows, model=asked.source.id, currency=asked.prices.currency, assumed=assumptions(asked.request))
    return JsonResponse(shown, headers=named)


@require_safe
@vary_on_headers("HX-Request")
def chart(request: HtmxRequest, name: str) -> HttpResponse:
    """One chart with its table: a part of the page where htmx asks for it, a page of its own otherwise."""
    drawn = next((picture for picture in PICTURES if picture.name == name), None)
    if drawn is None:
        raise Http404
    question, rows = _answered(read_question(request.GET))
    context = {
        "nav": "hardware",
        "drawn": drawn,
        "typed": question.typed,
        "errors": question.errors,
        "back": address("/hardware/", question.typed),
    }
    if rows and question.asked:
        try:
            context["picture"] = drawn.draw(question.asked, rows)
        except InputError as refused:
            context["errors"] = {"": str(refused)}
    template = "hardware/_chart.html" if request.htmx else "hardware/chart.html"
    refused_page = "picture" not in context and not request.htmx
    return render(request, template, context, status=HTTPStatus.BAD_REQUEST if refused_page else HTTPStatus.OK)


@require_POST
def prices(request: HtmxRequest) -> HttpResponse:
    """Puts an uploaded price list into the address of the page that it came from; nothing of it is kept here."""
    question = read_question(QueryDict(request.POST.get("address", "")))
    try:
        text = uploaded_prices(request.FILES.get("prices"))
    except InputError as refused:
        _, rows = _answered(question)
        return render(request, "hardware/page.html", page(question, rows, prices_error=str(refused)), status=HTTPStatus.BAD_REQUEST)
    return HttpResponseRedirect(address("/hardware/", {**question.typed, "prices": text}, page=""))


def _answered(question: Question) -> tuple[Question, Found | None]:
    """The rows, or the question with the sentence of a refusal that came later."""
    if question.asked is None:
        return question, None
    try:
        return question, found(question.asked)
    except InputError as refused:
        return Question(question.typed, errors={refused.field or "": str(refused)}), None
