"""The simulator: a run for the query string, and beside it, each at its own address, sweeps and bad hours."""

from collections.abc import Callable, Iterator, Sequence

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from planner.core.errors import InputError
from planner.core.simulating.recorded import Recorded
from planner.web.address import address
from planner.web.carried import carried_by
from planner.web.simulating.page import page
from planner.web.simulating.sweeps import TYPE, Progress, hours_so_far, streamed, sweep_so_far
from planner.web.simulating.trying import Question, read_question, try_out
from planner.web.simulating.uploaded import uploaded


@require_safe
@vary_on_headers("Referer")
def simulate(request: HttpRequest) -> HttpResponse:
    """The run for the query string. Without one, the plan the reader came from is taken along."""
    if not request.GET and (plan := carried_by(request)).values:
        return HttpResponseRedirect(address("/simulate/", plan.values))
    return _page(request, read_question(request.GET))


@require_POST
def replay(request: HttpRequest) -> HttpResponse:
    """The requests of an uploaded file on the server in `address`. The file is read and forgotten."""
    question = read_question(QueryDict(request.POST.get("address", "")))
    try:
        recorded = uploaded(request.FILES.get("log"))
    except InputError as refused:
        return render(request, "simulate/page.html", page(question, None, replay_error=str(refused)), status=400)
    return _page(request, question, recorded)


@require_GET
@vary_on_headers("Accept")
def sweep(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """The runs of the sweep in the query string, line by line as they are made where a script asks, else as a page."""
    return _part(request, "sweep", sweep_so_far)


@require_GET
@vary_on_headers("Accept")
def bad_hours(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """The bad hours of the plan in the query string, likewise."""
    return _part(request, "hours", hours_so_far)


def _page(request: HttpRequest, question: Question, recorded: Sequence[Recorded] = ()) -> HttpResponse:
    tried = None
    if question.outcome.answer:
        try:
            tried = try_out(question, recorded)
        except InputError as refused:
            question = question.refused(refused)
    return render(request, "simulate/page.html", page(question, tried), status=200 if tried else 400)


def _part(request: HttpRequest, name: str, so_far: Callable[[Question], Iterator[Progress]]) -> HttpResponse | StreamingHttpResponse:
    question = read_question(request.GET)
    template = f"simulate/_{name}.html"
    steps = so_far(question)
    if request.accepts(TYPE) and not request.accepts("text/html"):
        return streamed(template, steps)
    *_, last = steps
    context = {
        "nav": "simulate",
        "part": template,
        "errors": [last.error] if last.error else [],
        "address": address("/simulate/", question.outcome.typed),
        "asked": question,
        **last.context,
    }
    return render(request, f"simulate/{name}.html", context, status=400 if last.error else 200)
