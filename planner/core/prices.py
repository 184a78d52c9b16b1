"""What devices cost: entered by the user or imported as CSV, with currency, VAT, date and note. Launch prices are shown as such only."""

import csv
import datetime as dt
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeVar

from planner.core import catalog, units
from planner.core.errors import InputError
from planner.core.hardware import Device

Per = Literal["once", "month", "hour"]
Condition = Literal["new", "used"]
Vat = Literal["included", "excluded", ""]
W = TypeVar("W", bound=str)

MAX_BYTES: Final = 2**20
MAX_ROWS: Final = 5_000
MAX_AMOUNT: Final = 10_000_000.0
MAX_NOTE: Final = 200
# A month of rent by the hour: 365.25 days × 24 h ÷ 12.
HOURS_PER_MONTH: Final = 730.5

COLUMNS: Final = ("device", "price", "currency", "per", "vat", "date", "condition", "note", "ram", "vcpus", "bandwidth")
WANTED: Final = "a first line such as device,price,currency and then one device a line, for example rtx-4090,1899,EUR"
_SYMBOLS: Final = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
_PER: Final[Mapping[str, Per]] = MappingProxyType({"": "once", "once": "once", "month": "month", "monthly": "month", "hour": "hour"})
_VAT: Final[Mapping[str, Vat]] = MappingProxyType(
    {"": "", "included": "included", "incl": "included", "yes": "included", "excluded": "excluded", "excl": "excluded", "no": "excluded"}
)
_CONDITION: Final[Mapping[str, Condition]] = MappingProxyType({"": "new", "new": "new", "used": "used"})
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Price:
    """What one device (or a whole offer) costs: `amount` in `currency`, once, a month or an hour.

    `origin` “launch” is the catalogue's list price of `year`: a hint, never an offer. `vat` "" and `date` None are not known.
    """

    amount: float
    currency: str
    per: Per = "once"
    vat: Vat = ""
    date: dt.date | None = None
    condition: Condition = "new"
    note: str = ""
    origin: Literal["entered", "launch"] = "entered"
    year: int | None = None

    @property
    def monthly(self) -> float | None:
        """Rent a month; None for what is bought."""
        if self.per == "once":
            return None
        return self.amount * (HOURS_PER_MONTH if self.per == "hour" else 1.0)


@dataclass(frozen=True, slots=True)
class Offer:
    """A machine without a GPU that somebody rents out or sells: a name, its main memory and what is known of its speed.

    `bandwidth_bytes_per_s` is that of its memory; None where nobody says it, as for most virtual servers.
    """

    name: str
    ram_bytes: int
    vcpus: int | None = None
    bandwidth_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """A price book in one currency. `by_slug` has every price of a device; `offers` are the machines that no catalogue has, by name."""

    currency: str = "USD"
    by_slug: Mapping[str, tuple[Price, ...]] = field(default_factory=dict, hash=False)
    offers: tuple[Offer, ...] = ()

    def of(self, slug: str, *, condition: Condition | None = None) -> Price | None:
        """The lowest price to buy the device `slug` at, else to rent it; None where the book has none."""
        found = [price for price in self.by_slug.get(slug, ()) if condition in {None, price.condition}]
        return min(found, key=lambda price: (price.per != "once", price.monthly or price.amount), default=None)


NO_PRICES: Final = Prices()


def launch_price(device: Device) -> Price | None:
    """The catalogue's list price at launch in US dollars, None where it has none."""
    if device.launch_price_usd is None:
        return None
    return Price(device.launch_price_usd, "USD", origin="launch", year=device.launch_year, note="list price at launch")


def price_of(device: Device, prices: Prices) -> Price | None:
    """The book's price, else the launch price where the book counts in dollars, too: nothing is converted."""
    found = prices.of(device.slug)
    if found is None and prices.currency == "USD":
        return launch_price(device)
    return found


def parse_prices(text: str) -> Prices:
    """A price book from CSV, separated by commas, semicolons or tabs; the first line names the columns (`COLUMNS`).

    A line with `ram` whose device no catalogue has is an offer. Raises InputError (field "prices") with the line that cannot be used.
    """
    if len(text) > MAX_BYTES:
        raise InputError(f"The price list is longer than {units.size(MAX_BYTES)}: keep the lines you need.", field="prices")
    book: dict[str, list[Price]] = {}
    offers: dict[str, Offer] = {}
    currencies: dict[str, int] = {}
    for number, row in _rows(text):
        try:
            name, price, offer = _read(row)
        except InputError as problem:
            raise InputError(f"Line {number}: {problem}", field="prices") from None
        same = [other for other in book.get(name, ()) if (other.condition, other.per) == (price.condition, price.per)]
        if same or name in offers:
            raise InputError(f"Line {number}: “{name}” has a price already: keep one of the two lines.", field="prices")
        book.setdefault(name, []).append(price)
        if offer:
            offers[name] = offer
        currencies.setdefault(price.currency, number)
    if len(currencies) > 1:
        (first, _), (second, line) = list(currencies.items())[:2]
        raise InputError(f"Line {line} is in {second} and others are in {first}: give all prices in one currency.", field="prices")
    kept = MappingProxyType({name: tuple(prices) for name, prices in book.items()})
    return Prices(next(iter(currencies), "USD"), kept, tuple(offers.values()))


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, its cells by column name) of every line that is not blank."""
    text = text.removeprefix("\ufeff")
    head = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=head.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    names: list[str] | None = None
    count = 0
    try:
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _columns(cells)
                continue
            count += 1
            if count > MAX_ROWS:
                raise InputError(f"The price list has more than {MAX_ROWS:,} lines: keep those you need.", field="prices")
            if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
                raise InputError(f"Line {lines.line_num} has more cells than the first line has names.", field="prices")
            yield lines.line_num, dict(zip(names, (cell.strip() for cell in cells), strict=False))
    except csv.Error as problem:
        raise InputError(f"Line {lines.line_num} is no CSV ({problem}): write {WANTED}.", field="prices") from None
    if names is None:
        raise InputError(f"The price list is empty: write {WANTED}.", field="prices")


def _columns(cells: list[str]) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    unknown = next((name for name in names if name not in COLUMNS), None)
    if unknown is not None or not {"device", "price"} <= set(names) or len(set(names)) < len(names):
        said = (
            f"“{unknown[:40]}” is no column of a price list"
            if unknown is not None
            else "The first line must name device and price, once each"
        )
        raise InputError(f"{said}: write {WANTED}. Columns: {', '.join(COLUMNS)}.", field="prices")
    return names


def _read(row: Mapping[str, str]) -> tuple[str, Price, Offer | None]:
    """The slug (or the offer's name), the price and the offer in one line."""
    named = row.get("device", "")
    if not named:
        raise InputError("the device is missing: give a slug such as rtx-4090.")
    price = Price(
        amount=_amount(row.get("price", "")),
        currency=_currency(row.get("currency", ""), row.get("price", "")),
        per=_word(row, "per", _PER),
        vat=_word(row, "vat", _VAT),
        date=_date(row.get("date", "")),
        condition=_word(row, "condition", _CONDITION),
        note=" ".join(row.get("note", "").split())[:MAX_NOTE],
    )
    if row.get("ram"):
        offer = _offer(named, row)
        return offer.name, price, offer
    return catalog.device(named).slug, price, None


def _offer(named: str, row: Mapping[str, str]) -> Offer:
    vcpus, bandwidth = row.get("vcpus", ""), row.get("bandwidth", "")
    ram = units.parse_bytes(row["ram"] if not row["ram"].isdecimal() else f"{row['ram']}GiB")
    count = units.parse_number(vcpus) if vcpus else None
    if count is not None and (not count.is_integer() or not 1 <= count <= 1024):
        raise InputError(f"vcpus is a whole number from 1 to 1,024, not “{vcpus[:20]}”.")
    rate = units.parse_number(bandwidth) if bandwidth else None
    if rate is not None and not 1 <= rate <= 20_000:
        raise InputError(f"bandwidth is in GB/s, from 1 to 20,000, not “{bandwidth[:20]}”.")
    return Offer(" ".join(named.split())[:80], ram, None if count is None else int(count), None if rate is None else rate * 1e9)


def _amount(text: str) -> float:
    for symbol, code in _SYMBOLS.items():
        text = text.replace(symbol, "").replace(code, "")
    try:
        amount = units.parse_number(text)
    except InputError:
        raise InputError(
            f"“{text.strip()[:40]}” is no price: give a number such as 1899 or 1899.50, with a point for the decimals."
        ) from None
    if not 0 <= amount <= MAX_AMOUNT:
        raise InputError(f"“{text.strip()[:40]}” is out of range: a price lies between 0 and {MAX_AMOUNT:,.0f}.")
    return amount


def _currency(code: str, price: str) -> str:
    code = code.strip().upper() or next((code for symbol, code in _SYMBOLS.items() if symbol in price or code in price), "USD")
    code = _SYMBOLS.get(code, code)
    if not re.fullmatch(r"[A-Z]{3}", code):
        raise InputError(f"“{code[:20]}” is no currency: give its three letters, such as EUR or USD.")
    return code


def _word(row: Mapping[str, str], column: str, known: Mapping[str, W]) -> W:
    word = row.get(column, "").lower()
    if word not in known:
        raise InputError(f"“{word[:20]}” is not known for {column}: give {', '.join(dict.fromkeys(filter(None, known.values())))}.")
    return known[word]


def _date(text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text) if _DATE.fullmatch(text) else _no_date(text)
    except ValueError:
        return _no_date(text)


def _no_date(text: str) -> dt.date:
    raise InputError(f"“{text[:20]}” is no date: write 2026-11-29.")
