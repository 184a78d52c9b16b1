"""The devices of a team: what it has, and what one costs it."""

import csv
import io

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from planner.accounts.access import PersonalReached
from planner.accounts.forms import DeviceForm
from planner.accounts.models import Team
from planner.accounts.views.teams import team_page


def prices(request: PersonalReached[Team], team_id: str) -> HttpResponse:  # noqa: ARG001 (the permission used it)
    """The prices as the hardware table and `manage.py compare --prices` read them."""
    response = HttpResponse(prices_csv(request.access.subject), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="prices.csv"'
    return response


def prices_csv(team: Team) -> str:
    """`device,price,currency`, one device a line, those that have a price."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("device", "price", "currency"))
    writer.writerows((each.device, each.price, each.currency) for each in team.devices.exclude(price=None))
    return table.getvalue()


def device(request: PersonalReached[Team], team_id: str) -> HttpResponse:
    """Adds a device, or gives one that is there other figures."""
    team = request.access.subject
    known = team.devices.filter(device=request.POST.get("device", "")).first()
    form = DeviceForm(request.POST, instance=known, auto_id="device-%s")
    if not form.is_valid():
        return team_page(request, status=400, device_form=form)
    fields = {name: form.cleaned_data[name] for name in ("owned", "price", "currency")}
    team.devices.update_or_create(device=form.cleaned_data["device"], defaults=fields)
    return redirect("team", team_id)


def remove(request: PersonalReached[Team], team_id: str, device_id: int) -> HttpResponse:
    request.access.subject.devices.filter(pk=device_id).delete()
    messages.success(request, "The device is taken out.")
    return redirect("team", team_id)
