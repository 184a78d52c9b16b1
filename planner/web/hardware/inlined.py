"""Our own style sheets as text, for a page that is saved as one file."""

from pathlib import Path

from django.contrib.staticfiles import finders
from django.utils.safestring import SafeString, mark_safe


def style(name: str) -> SafeString:
    """Written so that no text in it ends the element."""
    text = Path(str(finders.find(name))).read_text(encoding="utf-8")
    return mark_safe(text.replace("</style", "<\\/style"))  # noqa: S308 - nothing of it came from outside
