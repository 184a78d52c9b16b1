"""The purchase note for the query string, as a page and as a file."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from planner.web.hardware.note import FILE_NAME, Noted, note_file, note_page, read_note


@require_safe
def note(request: HttpRequest) -> HttpResponse:
    return _page(request, read_note(request.GET))


@require_safe
def saved(request: HttpRequest) -> HttpResponse:
    """The note as one HTML file; where it cannot be made, the page says why."""
    noted = read_note(request.GET)
    if noted.note is None:
        return _page(request, noted)
    return HttpResponse(note_file(noted, origin=_origin(request)), headers={"Content-Disposition": f'attachment; filename="{FILE_NAME}"'})


def _page(request: HttpRequest, noted: Noted) -> HttpResponse:
    status = HTTPStatus.OK if noted.note else HTTPStatus.BAD_REQUEST
    return render(request, "hardware/note.html", note_page(noted, origin=_origin(request)), status=status)


def _origin(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")
