"""A real browser against a real server: skipped, with the command that would install it, where there is none."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

# playwright leaves an event loop in the thread, which Django takes for an asynchronous caller.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install -r requirements-dev.txt")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
INSTALL = "no Chromium: apt-get install --no-install-recommends chromium fonts-dejavu-core, or set CHROMIUM to one"
# The first keeps it working as root in a container; the rest keep it from calling home.
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
# plotly's map module tries to add a style sheet of its own, which the policy rightly stops; no chart of ours needs it.
_OTHERS = "vendor/plotly/plotly.min.js"
# Pages asked for because they fail, and requests that a newer one replaced: htmx logs those.
_MEANT = ("Failed to load resource: the server responded with a status of 4", "htmx:afterRequest", "htmx:sendAbort", "htmx:abort")

OpenPage = Callable[..., "sync_api.Page"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator["sync_api.Browser"]:
    if not CHROMIUM:
        pytest.skip(INSTALL)
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser: "sync_api.Browser", live_server: object) -> Iterator[OpenPage]:
    """Opens an address of the site. What leaves the host, what the console complains of and what a script throws fails the test."""
    contexts, complaints = [], []
    base = str(live_server)

    def requested(request: "sync_api.Request") -> None:
        if not request.url.startswith((base, "data:", "blob:")):
            complaints.append(f"a request left the host: {request.url}")

    def said(message: "sync_api.ConsoleMessage") -> None:
        if message.type in {"error", "warning"} and _OTHERS not in str(message.location) and not message.text.startswith(_MEANT):
            complaints.append(f"console: {message.text} ({message.location})")

    def open_(
        address: str = "/", *, width: int = 1440, scheme: str = "light", script: bool = True, motion: str = "reduce"
    ) -> "sync_api.Page":
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script, reduced_motion=motion
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", requested)
        page.on("console", said)
        page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
        page.goto(base + address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
