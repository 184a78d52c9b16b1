"""Comments on a plan: saying something, and taking it back."""

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from planner.accounts.access import PersonalReached
from planner.core.errors import InputError
from planner.plans import talking
from planner.plans.models import SavedPlan
from planner.plans.views.plan import plan_page


def comment(request: PersonalReached[SavedPlan], plan_id: str) -> HttpResponse:
    text = request.POST.get("text", "")
    try:
        talking.comment(request.access.subject, request.user, text)
    except InputError as refused:
        return plan_page(request, status=400, comment_text=text, comment_error=str(refused))
    return _to_comments(plan_id)


def uncomment(request: PersonalReached[SavedPlan], plan_id: str, comment_id: int) -> HttpResponse:
    """One's own comment; an owner of the plan may take away any."""
    said = request.access.subject.comments.filter(pk=comment_id)
    if not request.access.owns:
        said = said.filter(author=request.user)
    if not said.delete()[0]:
        raise Http404
    return _to_comments(plan_id)


def _to_comments(plan_id: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(f"{reverse('plan', args=[plan_id])}#comments")
