"""How numbers, commands and files look in templates."""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from planner.core import units
from planner.web import address as addresses

register = template.Library()

register.filter("gib", units.gib)
register.filter("size", units.size)
register.filter("percent", units.percent)
register.filter("seconds", units.seconds)
register.filter("gap", units.gap)


@register.filter
def whole(value: float) -> str:
    """`24,564`: a count with its thousands separated."""
    return f"{value:,.0f}"


@register.filter
def trimmed(value: float, decimals: int = 2) -> str:
    return units.trimmed(value, decimals)


@register.filter
def signed_gib(size_bytes: int) -> str:
    """GiB without the unit, with a true minus sign: the column's head has the unit."""
    return units.gib(size_bytes).removesuffix(" GiB").replace("-", "−")


@register.filter
def rate(bytes_per_s: float) -> str:
    """Bandwidth as vendors give it: decimal GB a second."""
    return f"{units.trimmed(bytes_per_s / 1e9, 1)} GB/s"


@register.filter
def presets(preset: tuple[tuple[str, str], ...]) -> str:
    """What a choice fills other inputs with, as JSON for the script that does it."""
    return json.dumps(dict(preset))


@register.filter
def file_address(path: str) -> str:
    return f"/files/{path.lstrip('/')}"


@register.filter
def words(name: str) -> str:
    """`gated_delta` as people write it."""
    return name.replace("_", " ")


@register.filter
def filename(path: str) -> str:
    return PurePosixPath(path).name


@register.filter
def code(text: str) -> SafeString:
    """A file's text with its comments dimmed."""
    return format_html_join("\n", "{}", ((_line(line),) for line in text.removesuffix("\n").split("\n")))


def _line(line: str) -> SafeString:
    if line.lstrip().startswith(("#", ";")):
        return format_html('<span class="comment">{}</span>', line)
    return format_html("{}", line)


@register.simple_tag
def plan_address(values: Mapping[str, str], path: str = "/", **changes: object) -> str:
    """The address of the plan with `changes` applied."""
    return addresses.address(path, values, **changes)


@register.simple_tag
def changed_address(values: Mapping[str, str], changes: tuple[tuple[str, object], ...]) -> str:
    """The address of the plan that an alternative proposes."""
    return addresses.address("/", values, **dict(changes))
