"""What people write: comments and whom they ask, notes, and that none of it can do anything but be read."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest
from django.core import mail
from django.http import HttpResponse
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from planner.plans.labels import LabelsField, read_labels
from planner.plans.models import Comment, Mention, SavedPlan, Version
from planner.plans.notes import comment_html, mentioned, notes_html
from planner.plans.saving import Content, save_new
from tests.plans.conftest import INPUTS, MakeRecord, People

TextOf = Callable[[HttpResponse], str]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>{{7*7}}"


class Elements(HTMLParser):
    """The elements of a page, as a browser would make them of it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.bare_scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.bare_scripts += tag == "script" and "src" not in dict(attrs)


def say(people: People, name: str, plan: SavedPlan, text: str) -> HttpResponse:
    return people.client(name).post(reverse("plan-comment", args=[plan.public_id]), {"text": text})


def test_whoever_is_mentioned_gets_a_mail_and_sees_it_until_it_is_read(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    say(people, "editor", plan, "@READER, is this enough? Also @owner, @editor and @stranger, and not a@owner.example")
    assert {message.to[0] for message in mail.outbox} == {"reader@example.org", "owner@example.org"}
    assert f"http://127.0.0.1:8000/plans/{plan.public_id}/#comments" in str(mail.outbox[0].body)
    reader = people.client("reader")
    assert "You are asked editor : @READER, is this enough?" in text_of(reader.get(reverse("plans")))
    page = reader.get(reverse("plan", args=[plan.public_id])).content.decode()
    assert '<b class="mention">@READER</b>' in page
    assert '<b class="mention">@stranger</b>' not in page
    assert "You are asked" not in text_of(reader.get(reverse("plans")))


def test_a_mention_is_not_shown_to_who_lost_the_plan(plan: SavedPlan, people: People, text_of: TextOf) -> None:
    say(people, "editor", plan, "@reader?")
    people.team.memberships.filter(user=people.reader).delete()
    assert Mention.objects.exists()
    assert "You are asked" not in text_of(people.client("reader").get(reverse("plans")))


@pytest.mark.parametrize(("text", "sentence"), [(" \n ", "Write something first."), ("x" * 4_001, "has at most 4,000 characters")])
def test_a_comment_that_is_none_is_refused_and_kept_in_its_field(
    plan: SavedPlan, people: People, text_of: TextOf, text: str, sentence: str
) -> None:
    response = say(people, "reader", plan, text)
    assert response.status_code == 400
    assert sentence in text_of(response)
    assert text.strip()[:50] in response.content.decode()
    assert not Comment.objects.exists()


def test_ones_own_comment_can_be_taken_back_and_an_owner_takes_any(plan: SavedPlan, people: People) -> None:
    say(people, "reader", plan, "One.")
    say(people, "reader", plan, "Two.")
    first, second = Comment.objects.order_by("pk")
    assert people.client("editor").post(reverse("plan-uncomment", args=[plan.public_id, first.pk])).status_code == 404
    people.client("reader").post(reverse("plan-uncomment", args=[plan.public_id, first.pk]))
    people.client("owner").post(reverse("plan-uncomment", args=[plan.public_id, second.pk]))
    assert not Comment.objects.exists()


def test_what_people_write_runs_nowhere(people: People, made: MakeRecord) -> None:
    content = Content(HOSTILE[:120], {**INPUTS, "model_path": HOSTILE}, notes=HOSTILE, tags=("<i>x</i>",), owned=(HOSTILE[:60],))
    plan = save_new(people.owner, content, made(), team=people.team)
    owner = people.client("owner")
    say(people, "owner", plan, HOSTILE)
    shared = owner.post(reverse("plan-share", args=[plan.public_id]), {"label": HOSTILE[:80]})
    secret = re.search(r"/s/([^<]+)/<", shared.content.decode())
    assert secret
    owner.post(reverse("team-rename", args=[people.team.public_id]), {"name": HOSTILE[:80]})
    key = [plan.public_id]
    pages = [
        owner.get(address)
        for address in (
            reverse("plan", args=key),
            reverse("plans"),
            reverse("plan-edit", args=key),
            reverse("plan-versions", args=key),
            reverse("plan-version", args=[*key, 1]),
            reverse("plan-delete", args=key),
            reverse("plan-share", args=key),
            reverse("share", args=[secret[1]]),
            reverse("share-copy", args=[secret[1]]),
            reverse("plan-compare") + f"?a={plan.public_id}&b={plan.public_id}",
            reverse("team", args=[people.team.public_id]),
            reverse("teams"),
        )
    ]
    owner.post(reverse("plan-edit", args=key), {"base": "1", "inputs": urlencode(INPUTS), "title": "x"})
    late = {"base": "1", "inputs": urlencode(INPUTS), "title": HOSTILE[:120], "notes": HOSTILE}
    pages.append(owner.post(reverse("plan-edit", args=key), late))
    assert pages[-1].status_code == 409
    for page in [*pages, shared]:
        found = Elements()
        found.feed(page.content.decode())
        assert {"i", "img"}.isdisjoint(found.names)
        assert not [name for name in found.attributes if name.startswith("on")]
        assert found.bare_scripts == 0
        assert "unsafe" not in page["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold** and `code`", "<p><strong>bold</strong> and <code>code</code></p>"),
        ("# Head", "<h3>Head</h3>"),
        ("[a](https://example.org)", '<p><a href="https://example.org" rel="nofollow noopener noreferrer">a</a></p>'),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("[a](data:text/html,x)", "<p>[a](data:text/html,x)</p>"),
        ("![a](https://example.org/x.png)", "<p></p>"),
        ("<b onclick=x>a</b>", "<p>&lt;b onclick=x&gt;a&lt;/b&gt;</p>"),
        ("<style>*{display:none}</style>", "&lt;style&gt;*{display:none}&lt;/style&gt;"),
    ],
)
def test_notes_are_markdown_without_anything_that_acts(text: str, html: str) -> None:
    assert html in notes_html(text).replace("\n", "")


@given(st.text(max_size=300))
def test_no_text_makes_an_element_that_is_not_allowed(text: str) -> None:
    for element in re.findall(r"<\s*/?\s*([a-z0-9]+)", f"{notes_html(text)}{comment_html(text, {'a'})}", re.IGNORECASE):
        assert element in {
            "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "h3", "h4", "h5", "h6",
            "table", "thead", "tbody", "tr", "th", "td", "b",
        }  # fmt: skip


def test_notes_nested_without_end_are_shown_without_harm() -> None:
    assert notes_html("> " * 9_000 + "x")
    assert notes_html("[" * 9_000 + "](" * 9_000)


def test_a_few_words_do_not_stand_for_a_million_cells() -> None:
    wide = "|a" * 2_500 + "\n" + "|-" * 2_500 + "\n" + "a\n" * 5_000
    assert "<td>" not in notes_html(wide)
    assert notes_html("|a|b|\n|-|-|\n" + "|1|2|\n" * 1_000).count("<td>") == 2_000


@pytest.mark.parametrize(
    ("text", "names"),
    [("@a, @B.c! @b-", ["a", "B.c", "b"]), ("x@a.example @@b", []), ("@a @A", ["A"]), ("@", [])],
)
def test_names_are_found_as_they_are_written(text: str, names: list[str]) -> None:
    assert mentioned(text) == names


@given(
    st.lists(
        st.text(alphabet=st.characters(categories=("L", "N", "P")), min_size=1, max_size=20).filter(lambda s: "," not in s),
        unique=True,
        max_size=10,
    )
)
def test_labels_come_back_as_they_were_put_in(labels: list[str]) -> None:
    read = read_labels(", ".join(labels), field="tags")
    assert set(read) == set(labels)
    field = LabelsField()
    assert field.from_db_value(field.get_prep_value(read)) == read


def test_a_tag_is_found_as_a_whole(plan: SavedPlan, people: People) -> None:
    for wanted, found in (("lab", 1), ("la", 0), ("chat", 1), ("lab\nchat", 0)):
        response = people.client("reader").get(reverse("plans"), {"tag": wanted})
        assert response.content.decode().count('class="icon') == found, wanted
    assert Version.objects.get().tags == ("chat", "lab")
