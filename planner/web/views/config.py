"""A config.json that was uploaded or pasted: checked, made small, and moved into the plan's address."""

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_POST

from planner.core.errors import InputError
from planner.core.readers.hf_config import compact_config, parse_config, read_shape
from planner.sources import fit_name
from planner.web.address import address
from planner.web.asking import ask
from planner.web.page import page

MAX_CONFIG_BYTES: Final = 2**20
# gunicorn reads 4,094 bytes of a request's first line, other servers more. Real configurations stay below half of it.
MAX_ADDRESS: Final = 4_000


@require_POST
def config(request: HttpRequest) -> HttpResponse:
    """Goes on to the plan with the config in its address, or shows the form again with everything as it was typed."""
    values = QueryDict(request.POST.get("address", "")).dict()
    if by_hand := request.POST.get("bytes_per_token", "").strip():
        values["bytes_per_token"] = by_hand
    text = request.POST.get("config_text", "")
    try:
        parsed = parse_config(_given(request, text))
        # A plan by hand needs only the keys that are there; any other config must be readable before it goes into the address.
        shape_name = "model" if values.get("bytes_per_token") else read_shape(parsed).model_type
        place = _address(values, config=compact_config(parsed), model=f"my-{fit_name(shape_name)}")
    except InputError as refused:
        return render(request, "planner/page.html", page(ask(values), config_text=text, config_error=str(refused)), status=400)
    response = HttpResponseRedirect(place)
    response.status_code = 303
    return response


def _address(values: Mapping[str, str], *, config: str, model: str) -> str:
    """Where the plan is. Raises InputError for a configuration that no address can hold."""
    place = address("/", values, config=config, model=model, revision=None)
    if len(place) > MAX_ADDRESS:
        raise InputError(
            f"What this configuration says takes {len(place):,} characters of an address, and {MAX_ADDRESS:,} are the most: "
            "leave out what is not about the model’s size, or use manage.py plan --config."
        )
    return place


def _given(request: HttpRequest, text: str) -> str | bytes:
    """The uploaded file, else the pasted text. Raises InputError when there is neither or too much."""
    uploaded = request.FILES.get("config_file")
    if uploaded is not None and not isinstance(uploaded, list):
        if (uploaded.size or 0) > MAX_CONFIG_BYTES:
            raise InputError(f"This file is {uploaded.size:,} B long; a config.json has a few thousand. Weights are not needed.")
        return bytes(uploaded.read())
    if not text.strip():
        raise InputError("Choose a file or paste the text of the model’s config.json.")
    if len(text.encode()) > MAX_CONFIG_BYTES:
        raise InputError("This text is longer than 1 MiB; a config.json has a few thousand characters.")
    return text
