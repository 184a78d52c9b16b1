"""Prices as people type or upload them for a page: a device a line, or a whole price list with its head."""

import re
from typing import Final

from django.core.files.uploadedfile import UploadedFile

from planner.core import units
from planner.core.errors import InputError
from planner.core.prices import NO_PRICES, Prices, parse_prices

# They stand in the address of the page: what is longer than this no server takes as one.
MAX_TYPED: Final = 3_500
_LINE: Final = re.compile(r"^Line (\d+)")
_HEAD: Final = ("device", "price", "currency", "condition")


def read_prices(text: str) -> Prices:
    """`rtx-4090, 1899, EUR` a line, or a price list whose first line names its columns. Raises InputError (field "prices")."""
    if not text.strip():
        return NO_PRICES
    if len(text) > MAX_TYPED:
        raise InputError(
            f"These prices have {len(text):,} characters, and {MAX_TYPED:,} are the most in an address: keep the devices you look at, or "
            "use manage.py compare --prices.",
            field="prices",
        )
    lines = text.strip().splitlines()
    first = lines[0].lower()
    if "device" in first and "price" in first:
        return parse_prices(text)
    separator = max(",;\t", key=first.count)
    try:
        return parse_prices("\n".join((separator.join(_HEAD), *lines)))
    except InputError as refused:  # the head that nobody typed is no line of theirs
        raise InputError(_LINE.sub(lambda found: f"Line {int(found[1]) - 1}", str(refused)), field="prices") from None


def uploaded_prices(file: object) -> str:
    """The text of an uploaded price list that a page can hold. Raises InputError (field "prices") for any other."""
    if not isinstance(file, UploadedFile) or file.file is None:
        raise InputError("Choose a file: a CSV with a first line such as device,price,currency.", field="prices")
    if (file.size or 0) > 4 * MAX_TYPED:
        raise InputError(
            f"This file has {units.size(file.size or 0)}, and the address of a page holds {MAX_TYPED:,} characters: keep the devices you look "
            "at, or use manage.py compare --prices.",
            field="prices",
        )
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("This file is not in UTF-8: save it as such.", field="prices") from None
    read_prices(text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
