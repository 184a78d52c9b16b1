"""Care for the catalogue: its own entries are in order, an operator's join it, and what cannot be used is said in a sentence."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.core import catalog
from planner.core.catalog import care
from planner.core.comparing import Scope, compare
from planner.core.errors import InputError
from planner.core.prices import parse_prices
from planner.core.request import read_request
from planner.sources import find_model

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs/catalogue.md").read_text(encoding="utf-8")
SHARED = ROOT.parent / "shared/data/gpus.csv"
MINIMAL = """
[device.acme-mini]
name = "Acme Mini"
vendor = "other"
class = "consumer"
memory = { nominal_gb = 16 }
bandwidth_gb_s = 500
sources = ["its box"]
"""


def example(language: str) -> str:
    return re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)[0]


@pytest.fixture
def added() -> Iterator[None]:
    yield
    catalog.set_additions(None)


def test_nothing_in_the_catalogue_must_be_mended() -> None:
    assert [each for each in care.findings() if each.severity == "error"] == []


def test_what_is_missing_and_disputed_is_listed() -> None:
    found = {(each.severity, each.entry) for each in care.findings()}
    assert ("disputed", "rtx-3080-10gb") in found
    assert ("missing", "rtx-3080-12gb") in found  # no launch price


@pytest.mark.skipif(not SHARED.exists(), reason="the list of devices is not installed")
def test_the_catalogue_agrees_with_the_list_it_came_from() -> None:
    assert [each for each in care.drift(SHARED.read_text(encoding="utf-8")) if "price" not in each.message] == []


def test_a_figure_that_differs_is_drift_and_a_disputed_one_is_not() -> None:
    listed = "id,memory_bandwidth_gb_s,tdp_w\nrtx-4090,1008,500\nrtx-3080-10gb,760.3,350\nunknown-card,1,1\n"
    assert [(each.entry, each.message) for each in care.drift(listed)] == [("rtx-4090", "watts is 450 here and 500 in the list (tdp_w).")]


@pytest.mark.parametrize(
    ("listed", "match"), [("", "no column"), ("a,b\n1,2\n", "no column"), ('id\n"x', "no CSV"), ("x" * (5 * 2**20), "longer")]
)
def test_what_is_no_list_of_devices_is_refused(listed: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        care.drift(listed)


# (change of the minimal entry, what is said)
WRONG = [
    (("bandwidth_gb_s = 500", "bandwidth_gb_s = 5000"), "is the unit right"),
    (("nominal_gb = 16 }", 'nominal_gb = 16, reported_mib = 24564, from = "x" }'), "is it the same card"),
    (("sources", 'tflops = { bf16 = 0.00001e6, fp8 = 90, from = "x" }\nsources'), "dense rates are once to four times"),
]


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(("change", "match"), WRONG)
def test_a_figure_that_cannot_be_is_found(change: tuple[str, str], match: str) -> None:
    catalog.set_additions(catalog.read_additions(MINIMAL.replace(*change)))
    errors = [each.message for each in care.findings() if each.severity == "error"]
    assert len(errors) == 1
    assert match in errors[0]


@pytest.mark.usefixtures("added")
def test_the_example_of_the_manual_is_planned_for_and_in_the_table() -> None:
    catalog.set_additions(catalog.read_additions(example("toml")))
    assert [each for each in care.findings() if each.severity == "error"] == []
    assert catalog.device("Acme X1 48GB").bandwidth_bytes_per_s == 960e9
    request = read_request({"model": "Qwen/Qwen3-8B"})
    rows = compare(request, find_model(request, None), Scope(devices=("acme-x1-48gb",)))
    assert {(row.engine, row.count) for row in rows} == {("llama-server", count) for count in (1, 2, 4, 8)}
    assert {row.watts for row in rows if row.count == 2} == {600}
    assert all(row.decode_rate and row.verdict == "fits" for row in rows)


@pytest.mark.usefixtures("added")
def test_only_what_the_manual_says_is_needed() -> None:
    catalog.set_additions(catalog.read_additions(MINIMAL))
    assert catalog.device("acme-mini").memory_bytes == 16 * 2**30


def test_the_manual_names_every_key() -> None:
    for key in (
        "name",
        "aliases",
        "vendor",
        "class",
        "memory",
        "bandwidth_gb_s",
        "tflops",
        "watts",
        "compute",
        "link",
        "slots",
        "launch",
        "disputed",
        "sources",
    ):
        assert f"`{key}" in DOCS


def test_the_prices_of_the_manual_can_be_read() -> None:
    book = parse_prices(example("csv"))
    assert (book.currency, len(book.by_slug), len(book.offers)) == ("EUR", 3, 1)


# A text and what is said of it.
REFUSED = [
    ("[device.x", "no TOML"),
    ("device = 3", "device"),
    (MINIMAL.replace("bandwidth_gb_s = 500\n", ""), "device.acme-mini.bandwidth_gb_s: field required"),
    (MINIMAL.replace("= 500", "= nan"), "device.acme-mini.bandwidth_gb_s"),
    (MINIMAL.replace('"other"', '"Acme"'), "device.acme-mini.vendor"),
    (MINIMAL.replace("acme-mini", "Acme_Mini"), "Acme_Mini"),
    (MINIMAL + "colour = 'red'\n", "colour"),
    (MINIMAL.replace('["its box"]', "[]"), "sources"),
    ("#" * (2**20 + 1), "longer than"),
    ("a=" + "[" * 5000, "TOML|deeply"),
    (
        "\n".join(f'[device.d{n}]\nname="d{n}"\nvendor="other"\nclass="cpu"\nbandwidth_gb_s=50\nsources=["s"]' for n in range(501)),
        "more than 500",
    ),
]


@pytest.mark.parametrize(("text", "match"), REFUSED)
def test_a_file_that_cannot_be_used_is_refused_with_its_entry(text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        catalog.read_additions(text)


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(("old", "new"), [("acme-mini", "rtx-4090"), ("Acme Mini", "GeForce RTX 4090")])
def test_a_name_that_the_catalogue_has_is_refused_and_changes_nothing(old: str, new: str) -> None:
    with pytest.raises(InputError, match=r"in the catalogue already|names both"):
        catalog.set_additions(catalog.read_additions(MINIMAL.replace(old, new)))
    assert catalog.device("rtx-4090").memory_bytes == 24_564 * 2**20
    assert "acme-mini" not in catalog.devices()
