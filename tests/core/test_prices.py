"""Price lists: what people write into a spreadsheet is read, and what cannot be used is named with its line."""

import contextlib
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import catalog
from planner.core.errors import InputError
from planner.core.prices import HOURS_PER_MONTH, MAX_ROWS, NO_PRICES, Price, launch_price, parse_prices, price_of


def test_every_column_is_read() -> None:
    book = parse_prices(
        "device,price,currency,per,vat,date,condition,note\nGeForce RTX 4090,1899.50,EUR,once,incl,2026-11-20,new,from  the shop\n"
    )
    assert book.by_slug["rtx-4090"] == (
        Price(1899.5, "EUR", per="once", vat="included", date=dt.date(2026, 11, 20), condition="new", note="from the shop"),
    )


# What spreadsheets make of the same line: separators, quotes, a byte order mark, symbols, thousands, blank lines.
SAME = [
    "device,price,currency\nrtx-4090,1899,EUR\n",
    "\ufeffdevice;price;currency\r\nrtx-4090;1899;EUR\r\n",
    "Device\tPrice\tCurrency\nrtx-4090\t1899\tEUR\n",
    'price,device\n"1,899 €",rtx-4090\n',
    "device,price\n\nrtx-4090,EUR 1899\n\n",
    "device,price,currency,note\nrtx-4090,1899,eur\n",
]


@pytest.mark.parametrize("text", SAME)
def test_a_line_reads_alike_however_it_is_written(text: str) -> None:
    book = parse_prices(text)
    assert (book.currency, book.of("rtx-4090")) == ("EUR", Price(1899, "EUR"))


def test_the_lowest_price_to_buy_counts_and_a_condition_can_be_asked_for() -> None:
    book = parse_prices("device,price,condition,per\nrtx-3090,1400,new,\nrtx-3090,700,used,\nrtx-3090,1,new,hour\n")
    assert book.of("rtx-3090").amount == 700
    assert book.of("rtx-3090", condition="new").amount == 1400
    assert book.of("l40s") is None


def test_rent_by_the_hour_is_a_month_of_hours() -> None:
    price = parse_prices("device,price,per\nl40s,0.5,hour\n").of("l40s")
    assert price.monthly == 0.5 * HOURS_PER_MONTH
    assert Price(100, "USD").monthly is None


def test_offers_are_machines_of_their_own() -> None:
    book = parse_prices("device,price,per,ram,vcpus,bandwidth\nhost-8,39,month,32,8,40\nhost-16,59,month,64GB,,\n")
    assert [(o.name, o.ram_bytes, o.vcpus, o.bandwidth_bytes_per_s) for o in book.offers] == [
        ("host-8", 32 * 2**30, 8, 40e9),
        ("host-16", 64 * 10**9, None, None),
    ]


def test_launch_prices_are_shown_as_such_and_never_converted() -> None:
    device = catalog.device("rtx-4090")
    assert launch_price(device) == Price(1600, "USD", origin="launch", year=2022, note="list price at launch")
    assert price_of(device, NO_PRICES).origin == "launch"
    assert price_of(device, parse_prices("device,price,currency\nl40s,7000,EUR\n")) is None
    assert launch_price(catalog.device("cpu-epyc-9004")) is None


# A list and what is said of it.
REFUSED = [
    ("", "empty"),
    ("rtx-4090,1899\n", "no column"),
    ("device,price,colour\n", "“colour” is no column"),
    ("device,device\n", "device and price, once each"),
    ("device,price\nrtx-4090,\n", "Line 2: “” is no price"),
    ("device,price\nrtx-4090,cheap\n", "“cheap” is no price"),
    ("device;price\nrtx-4090;1.899,00\n", "with a point for the decimals"),
    ("device,price\nrtx-4090,-1\n", "out of range"),
    ("device,price\nrtx-4090,1e9\n", "out of range"),
    ("device,price\nrtx-4090,nan\n", "is no price"),
    ("device,price\nrtx-9999,1\n", "Line 2: “rtx-9999” is not in the catalogue"),
    ("device,price\n,1\n", "the device is missing"),
    ("device,price,currency\nrtx-4090,1,euros\n", "is no currency"),
    ("device,price,currency\nrtx-4090,1,EUR\nl40s,1,USD\n", "Line 3 is in USD and others are in EUR"),
    ("device,price\nrtx-4090,1\nrtx-4090,2\n", "Line 3: “rtx-4090” has a price already"),
    ("device,price,per\nrtx-4090,1,year\n", "not known for per: give once, month, hour"),
    ("device,price,vat\nrtx-4090,1,19%\n", "not known for vat"),
    ("device,price,date\nrtx-4090,1,20.11.2026\n", "write 2026-11-29"),
    ("device,price,date\nrtx-4090,1,2026-13-40\n", "is no date"),
    ("device,price,ram,vcpus\nvps,1,32GB,0\n", "vcpus"),
    ("device,price,ram,bandwidth\nvps,1,32GB,0\n", "bandwidth"),
    ("device,price,ram\nvps,1,lots\n", "Line 2: “lots” is not understood"),
    ("device,price\nrtx-4090,1,2,3\n", "more cells"),
    ('device,price\n"rtx-4090,1\n', "no CSV"),
    ("device,price\n" + "rtx-4090,1\n" * (MAX_ROWS + 1), "already|more than"),
    ("device,price\n" + "x" * 2**21, "longer than"),
]


@pytest.mark.parametrize(("text", "match"), REFUSED)
def test_what_cannot_be_used_is_named(text: str, match: str) -> None:
    with pytest.raises(InputError, match=match) as refused:
        parse_prices(text)
    assert refused.value.field == "prices"


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        book = parse_prices(f"device,price\n{text}")
        assert all(price.amount >= 0 for prices in book.by_slug.values() for price in prices)
