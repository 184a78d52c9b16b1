"""Sizes, tokens, shares and durations: what is accepted, what is refused, and how they are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core import units
from planner.core.errors import InputError
from planner.core.units import parse_bytes, parse_number, parse_share, parse_tokens


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24GiB", 24 * 2**30),
        ("24564MiB", 24_564 * 2**20),
        ("24 GB", 24 * 10**9),
        ("16.4gb", 16_400_000_000),
        ("1_000", 1000),
        ("1,024 KiB", 2**20),
        ("1\u202f000\u2009MB", 10**9),
        ("17179869184", 17_179_869_184),
    ],
)
def test_sizes_as_people_type_them(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GB",
        "-1GB",
        "0",
        "1e9",
        "24 Gi",
        "24GB extra",
        "٢٤GB",
        "nan",
        "9" * 400,
        "2048TiB",
        "1.2.3GB",
        "7,5GiB",
        "24" + " " * 60 + "GiB",
    ],
)
def test_what_is_no_size_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"\.$"):
        parse_bytes(text)


@pytest.mark.parametrize(("text", "tokens"), [("8192", 8192), ("8,192", 8192), ("8k", 8192), ("8K", 8192), ("1m", 2**20), ("1.5k", 1536)])
def test_token_counts(text: str, tokens: int) -> None:
    assert parse_tokens(text) == tokens


@pytest.mark.parametrize("text", ["0", "-8k", "0.5", "8kb", "1.0001k", "8 000 000 000 000", "8,19", "8" + " " * 60 + "k"])
def test_what_is_no_token_count_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_tokens(text)


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("-1", -1), ("7.5", 7.5), (".5", 0.5), ("1e-3", 0.001), ("1,000", 1000), ("+5", 5)]
)
def test_numbers(text: str, number: float) -> None:
    assert parse_number(text) == number


# 7,5 is how half of the world writes 7.5: read as 75 it would be a silent mistake.
@pytest.mark.parametrize("text", ["7,5", "1,00", "0,500", "1_0", "٢٠", "nan", "-inf", "1e400", "0x10", "--5", "", "1" * 5000])
def test_what_is_no_number_or_could_be_two_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_number(text)


@pytest.mark.parametrize(("text", "share"), [("0.05", 0.05), ("5%", 0.05), ("5 %", 0.05), ("0", 0.0), ("100%", 1.0)])
def test_shares(text: str, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["5", "-1%", "101%", "nan", "inf", "%", "", "0,05", "1%%", "０"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_share(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (147_456, "144 KiB"),
        (1_207_959_552, "1.125 GiB"),
        (6_039_797_760, "5.625 GiB"),
        (25_757_220_864, "23.99 GiB"),
        (512, "512 B"),
        (0, "0 B"),
    ],
)
def test_a_size_is_shown_in_its_own_unit(size: int, text: str) -> None:
    assert units.size(size) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (1e-9, "0 s"),
        (0.0001, "0.1 ms"),
        (0.0042, "4.2 ms"),
        (0.00994, "9.9 ms"),
        (0.00996, "0.01 s"),
        (0.4378, "0.44 s"),
        (7.193, "7.2 s"),
        (9.0, "9 s"),
        (130, "2 min 10 s"),
        (180, "3 min"),
        (9000, "2.5 h"),
    ],
)
def test_durations(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_percent_is_whole_from_ten_on() -> None:
    assert [units.percent(share) for share in (0.0349, 0.6139, 0.0995, 0.0, 1.0)] == ["3.5 %", "61 %", "10 %", "0 %", "100 %"]


@given(st.integers(1, units.MAX_BYTES))
def test_a_bare_number_is_bytes(size: int) -> None:
    assert parse_bytes(str(size)) == parse_bytes(f"{size:,}") == size


@given(st.integers(1, units.MAX_BYTES))
def test_a_size_can_be_typed_as_it_is_shown(size: int) -> None:
    assert parse_bytes(units.size(size)) == pytest.approx(size, rel=0.005)


@given(st.text(max_size=60))
def test_any_text_is_a_size_in_range_or_a_refusal(text: str) -> None:
    try:
        size, sentence = parse_bytes(text), ""
    except InputError as refusal:
        size, sentence = 1, str(refusal)
    assert 1 <= size <= units.MAX_BYTES
    assert len(sentence) < 200
    assert sentence.isprintable()


@given(st.floats(-1e18, 1e18, allow_nan=False))
def test_no_number_is_shown_as_minus_zero(value: float) -> None:
    assert units.trimmed(value) not in {"-0", ""}


@pytest.mark.parametrize(
    ("left", "right", "texts"),
    [
        (19 * 2**30, 18 * 2**30, ("19.00 GiB", "18.00 GiB")),
        (18_010_341_376, 18_003_132_416, ("17,176 MiB", "17,169.12 MiB")),  # both 16.77 GiB
        (2**30 + 1, 2**30, ("1,073,741,825 B", "1,073,741,824 B")),
        (2**30, 2**30, ("1.000 GiB", "1.000 GiB")),
    ],
)
def test_two_sizes_that_differ_are_shown_to_differ(left: int, right: int, texts: tuple[str, str]) -> None:
    assert units.apart(left, right) == texts


@given(left=st.integers(0, 2**50), more=st.integers(1, 2**40))
def test_no_comparison_of_sizes_reads_as_equal(left: int, more: int) -> None:
    shown = units.apart(left + more, left)
    assert shown[0] != shown[1]


def test_one_thing_is_not_counted_as_many() -> None:
    assert [units.counted(count, "slot") for count in (0, 1, 2, 1200)] == ["0 slots", "1 slot", "2 slots", "1,200 slots"]
