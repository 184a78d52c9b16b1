"""One zip with every file of a plan and a README of the steps; equal plans give equal bytes."""

import io
import zipfile
from collections.abc import Iterator
from typing import Final

from planner.core.engines.contract import HandOver, Step
from planner.core.headline import headline
from planner.core.plan import Plan

# The oldest date a zip can hold: the archive must not differ from one second to the next.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE: Final = 0o100000


def bundle(plan: Plan, hand_over: HandOver, address: str) -> bytes:
    """The archive. Files stand under the path they are installed at; `address` is where the plan can be seen again."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "README.md", "\n".join(_readme(plan, hand_over, address)) + "\n", 0o644)
        for file in hand_over.files:
            _add(archive, file.path.lstrip("/"), file.content, file.mode)
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, text: str, mode: int) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, on every platform: the permission bits below are Unix's
    entry.external_attr = (_REGULAR_FILE | mode) << 16
    archive.writestr(entry, text)


def _readme(plan: Plan, hand_over: HandOver, address: str) -> Iterator[str]:
    answer = headline(plan)
    yield f"# {plan.model.id} on {plan.node.title} with {plan.engine.title} {plan.engine.version}"
    yield ""
    yield answer.text
    yield answer.inequality
    yield ""
    yield f"The plan, to look at or to change: <{address}>"
    yield ""
    yield "## Files"
    yield ""
    for file in hand_over.files:
        yield f"- `{file.path}`: {file.why}"
    yield ""
    yield from _steps("Install", hand_over.apply)
    yield from _steps("Check that it took effect", hand_over.verify)
    if hand_over.expect.lines:
        yield "## The start-up lines to look for"
        yield ""
        for line in hand_over.expect.lines:
            yield from ("```", line.line, "```", line.why, "")
    yield from _steps("Undo", hand_over.undo)


def _steps(title: str, steps: tuple[Step, ...]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    for number, step in enumerate(steps, 1):
        yield f"{number}. {step.why}"
        yield ""
        yield from ("   ```sh", *(f"   {line}" for line in step.command.splitlines()), "   ```")
        if step.expect:
            yield f"   Expect: {step.expect}"
        yield ""
