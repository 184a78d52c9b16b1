"""Notes and comments: what people write, as HTML that can do nothing but be read."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Final

import nh3
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

MAX_NOTES: Final = 20_000
_TAGS: Final = {
    "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "h3", "h4", "h5", "h6",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
_WITHOUT_TABLES: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["strikethrough"])
# A row that is shorter than the table's head is filled up, so a few kilobytes may stand for a million cells.
_MOST_CELLS: Final = 5_000
_LINE_END: Final = re.compile(r"\r\n?|\n")
_MENTION: Final = re.compile(r"(?<![\w@.])@([A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?)", re.ASCII)


@lru_cache(maxsize=64)
def notes_html(text: str) -> SafeString:
    """Markdown as HTML. Headings begin below the page's own; images, HTML of the writer's and immense tables are left out."""
    markdown = _MARKDOWN if _cells_at_most(text) <= _MOST_CELLS else _WITHOUT_TABLES
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    html = nh3.clean(
        markdown.renderer.render(tokens, markdown.options, {}),
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
    )
    return mark_safe(html)  # noqa: S308 (cleaned in the line above)


def _cells_at_most(text: str) -> int:
    lines = _LINE_END.split(text)
    return len(lines) * max(line.count("|") for line in lines)


def mentioned(text: str) -> list[str]:
    """The names after an @, as they are written, each once in any case."""
    return list({name.lower(): name for name in _MENTION.findall(text)}.values())


def comment_html(text: str, names: Collection[str]) -> SafeString:
    """A comment's text with the @names of `names` (in lower case) marked."""
    parts = _MENTION.split(text)
    return format_html_join("", "{}", ((_part(part, names, is_name=number % 2 == 1),) for number, part in enumerate(parts)))


def _part(text: str, names: Collection[str], *, is_name: bool) -> SafeString:
    if not is_name:
        return format_html("{}", text)
    return format_html('<b class="mention">@{}</b>', text) if text.lower() in names else format_html("@{}", text)
