"""The symptom guide: what people see, by group, and for each what to check and what to change."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from planner.core.guide import GROUPS, SYMPTOMS, search
from planner.web import guidance
from planner.web.carried import Carried, carried_by

MAX_SEARCH = 200


@require_safe
@vary_on_headers("Referer")
def guide(request: HttpRequest) -> HttpResponse:
    """Every symptom, or those that `?q=` finds."""
    wanted, plan = request.GET.get("q", "")[:MAX_SEARCH].strip(), carried_by(request)
    context = {"nav": "guide", "plan": plan, "wanted": wanted, "groups": list(search(wanted))}
    return render(request, "guide/guide.html", context, status=_status(plan))


@require_safe
@vary_on_headers("Referer")
def symptom(request: HttpRequest, slug: str) -> HttpResponse:
    """One symptom under one engine: `?engine=`, else the plan's."""
    if slug not in SYMPTOMS:
        raise Http404
    shown, plan = SYMPTOMS[slug], carried_by(request)
    advice = guidance.advice_for(shown, request.GET.get("engine", ""), plan)
    context = {
        "nav": "guide",
        "plan": plan,
        "group": next(group for group in GROUPS if shown in group.symptoms),
        "symptom": shown,
        "advice": advice,
        "tabs": guidance.tabs(shown, advice, plan),
        "checks": guidance.checks(advice, plan),
        "in_a_log": guidance.IN_A_LOG.get(slug, ""),
        "settings": guidance.settings(advice, plan),
        "related": [SYMPTOMS[other] for other in shown.related],
    }
    return render(request, "guide/symptom.html", context, status=_status(plan))


def _status(plan: Carried) -> int:
    """The guide is there even where the plan in the address is not one."""
    return 400 if plan.refused else 200
