"""Saving from the planner: a new plan, or a new version of one, and what the second of two editors sees."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse

from planner.accounts.access import Personal, PersonalReached
from planner.accounts.models import Team
from planner.answer import Answer
from planner.core.errors import InputError
from planner.plans import saving
from planner.plans.forms import SaveForm, initial_of
from planner.plans.inputs import inputs_of, read_inputs
from planner.plans.models import SavedPlan, Version
from planner.plans.record import Made, record
from planner.web.address import address, query
from planner.web.asking import ask
from planner.web.changing import SAVED, changing


def new(request: Personal) -> HttpResponse:
    """Saves what the planner shows. What was typed there stands in the address, so no way through a log-in loses it."""
    if request.method == "POST":
        return _save_new(request)
    inputs = inputs_of(request.GET.dict())
    change = changing(request.GET.get(SAVED, ""))
    if change and SavedPlan.objects.edited_by(request.user).filter(public_id=change.plan).exists():
        return HttpResponseRedirect(address(reverse("plan-edit", args=[change.plan]), inputs) + f"&base={change.version}")
    outcome = ask(inputs)
    if outcome.answer is None:
        return HttpResponseRedirect(address(reverse("planner"), inputs))
    form = SaveForm(initial={"title": _usual_title(outcome.answer)}, teams=_teams(request))
    return _form(request, form, inputs, record(outcome.answer))


def _save_new(request: Personal) -> HttpResponse:
    inputs = _given(request)
    made, teams = _made(inputs), _teams(request)
    form = SaveForm(request.POST, teams=teams)
    if not form.is_valid() or made is None:
        return _form(request, form, inputs, made, status=400)
    team = next((each for each in teams if each.public_id == form.cleaned_data.get("team")), None)
    try:
        plan = saving.save_new(request.user, _content(form, inputs), made, team=team)
    except InputError as refused:
        form.add_error("title", str(refused))
        return _form(request, form, inputs, made, status=400)
    messages.success(request, "Saved. The plan has an address of its own now.")
    return redirect("plan", plan.public_id)


def edit(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:
    """A new version: of the inputs in the address where one comes from the planner, else of those that are saved."""
    if request.method == "POST":
        return _save_version(request, plan_id)
    plan = request.access.subject
    base = _base(plan, request.GET.get("base", ""))
    version = plan.versions.get(number=base)
    given = request.GET.dict()
    given.pop("base", None)
    inputs = inputs_of(given) if given else dict(version.inputs)
    made = _made(inputs, version)
    if made is None:
        return HttpResponseRedirect(address(reverse("planner"), inputs, **{SAVED: f"{plan_id}.{base}"}))
    told = list(saving.changes(version, replace(saving.content_of(version), inputs=inputs), made))
    return _form(request, SaveForm(initial=initial_of(version)), inputs, made, plan=plan, base=base, told=told)


def _save_version(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:
    plan = request.access.subject
    base = _base(plan, request.POST.get("base", ""))
    inputs = _given(request)
    made = _made(inputs, plan.versions.get(number=base))
    form = SaveForm(request.POST)
    if not form.is_valid() or made is None:
        return _form(request, form, inputs, made, plan=plan, base=base, status=400)
    content = _content(form, inputs)
    try:
        version = saving.save_version(plan, request.user, content, made, base=base)
    except InputError as refused:
        form.add_error("title", str(refused))
        return _form(request, form, inputs, made, plan=plan, base=base, status=400)
    except saving.Conflict as conflict:
        return _conflict(request, conflict, content, made)
    messages.success(request, f"Saved as version {version.number}.")
    return redirect("plan", plan_id)


def _conflict(request: PersonalReached[SavedPlan], conflict: saving.Conflict, content: saving.Content, made: Made) -> HttpResponse:
    """Both versions beside each other, and three ways on; nothing is saved yet and nothing is lost."""
    plan, base, newest = request.access.subject, conflict.base, conflict.newest
    context = {
        "nav": "plans",
        "plan": plan,
        "base": base,
        "newest": newest,
        "theirs": list(plan.versions.filter(number__gt=base.number if base else 0).select_related("author").order_by("number")[:50]),
        "mine": list(saving.changes(base, content, made)) if base else [],
        "between": list(saving.changes(newest, content, made)),
        "content": content,
        "query": query(content.inputs),
        "teams": _teams(request),
    }
    return render(request, "plans/conflict.html", context, status=409)


def _form(
    request: Personal | PersonalReached[SavedPlan],
    form: SaveForm,
    inputs: Mapping[str, str],
    made: Made | None,
    *,
    plan: SavedPlan | None = None,
    base: int = 0,
    told: Sequence[str] = (),
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "nav": "plans",
        "form": form,
        "plan": plan,
        "base": base,
        "told": told,
        "query": query(inputs),
        "planner": address(reverse("planner"), inputs, **({SAVED: f"{plan.public_id}.{base}"} if plan else {})),
        "made": made,
        "action": reverse("plan-edit", args=[plan.public_id]) if plan else reverse("plan-new"),
    }
    return render(request, "plans/save.html", context, status=status)


def _given(request: Personal | PersonalReached[SavedPlan]) -> dict[str, str]:
    """The inputs in the hidden field, none where it has been tampered with."""
    try:
        return read_inputs(request.POST.get("inputs", ""))
    except InputError:
        return {}


def _made(inputs: Mapping[str, str], saved: Version | None = None) -> Made | None:
    """What the inputs give. Without an answer today it is what `saved` kept of the same inputs: its words can be changed all the same."""
    answer = ask(inputs).answer if inputs else None
    if answer:
        return record(answer)
    return saving.made_of(saved) if saved and dict(saved.inputs) == dict(inputs) else None


def _content(form: SaveForm, inputs: Mapping[str, str]) -> saving.Content:
    said = form.cleaned_data
    return saving.Content(said["title"], inputs, said["notes"].replace("\r\n", "\n"), said["tags"], said["owned"])


def _base(plan: SavedPlan, text: str) -> int:
    """The version that somebody began with: the one that is named if there is one, else the newest."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else plan.head
    return number if 1 <= number <= plan.head else plan.head


def _usual_title(answer: Answer) -> str:
    return f"{answer.plan.model.id.rpartition('/')[2]} on {answer.plan.node.title}"[:120]


def _teams(request: Personal | PersonalReached[SavedPlan]) -> list[Team]:
    return list(Team.objects.edited_by(request.user))
