"""A diagnosis as one HTML file that asks nobody for anything: its styles, scripts and pictures are in it."""

import base64
import hashlib
from pathlib import Path
from typing import Final

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from planner import VERSION
from planner.core.diagnosing import Diagnosis
from planner.web import charts
from planner.web.diagnosing.page import shown

FILE_NAME: Final = "diagnosis.html"
_STYLES: Final = ("app.css", "diagnose.css")
_SCRIPTS: Final = ("copy.js", "curve.js", "zoom.js")


def report_page(diagnosis: Diagnosis) -> str:
    """The whole file. Nothing in it came with the log as words: no prompt, path, address or key."""
    context = shown(diagnosis, shared=True)
    scripts = [charts.library()] if context["pictures"] else []
    scripts += [_static(name) for name in _SCRIPTS]
    inlined = [_script(text) for text in scripts]
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {' '.join(_hash(text) for text in inlined)}"
    return render_to_string(
        "diagnose/report.html",
        context
        | {
            "report": True,
            "slotwise_version": VERSION,
            "policy": policy,
            "styles": [_style(_static(name)) for name in _STYLES],
            "scripts": inlined,
        },
    )


def _static(name: str) -> str:
    return Path(str(finders.find(name))).read_text(encoding="utf-8")


def _script(text: str) -> SafeString:
    """Our own script and plotly's, written so that no text in them ends the element."""
    return mark_safe(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))  # noqa: S308 - nothing of it came from outside


def _style(text: str) -> SafeString:
    return mark_safe(text.replace("</style", "<\\/style"))  # noqa: S308 - likewise


def _hash(text: str) -> str:
    """What a content security policy calls this one script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
