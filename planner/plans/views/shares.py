"""The links to a plan, for who may make them."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from planner.accounts.access import PersonalReached
from planner.core.errors import InputError
from planner.plans import sharing
from planner.plans.forms import ShareForm
from planner.plans.models import SavedPlan


@sensitive_post_parameters()
def share(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    """The list of links; a new one is shown this once, for only its hash is kept."""
    plan = request.access.subject
    form = ShareForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            _, secret = sharing.make_link(plan, request.user, label=said["label"], password=said["password"], expires_at=form.expires_at)
        except InputError as refused:
            form.add_error("label", str(refused))
        else:
            context["made_link"] = request.build_absolute_uri(reverse("share", args=[secret]))
            form = ShareForm()
    context |= {"nav": "plans", "plan": plan, "title": plan.newest.title, "form": form}
    context["links"] = list(plan.links.live().select_related("made_by"))
    context["dead"] = list(plan.links.exclude(pk__in=[link.pk for link in context["links"]])[:20])
    return render(request, "plans/shares.html", context, status=400 if form.errors else 200)


def unshare(request: PersonalReached[SavedPlan], plan_id: str, link_id: int) -> HttpResponse:
    if sharing.revoke(request.access.subject, link_id):
        messages.success(request, "The link is revoked. Whoever opens it now finds nothing.")
    return redirect("plan-share", plan_id)
