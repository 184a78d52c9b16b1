"""No pattern of a log format can be made to run long: none repeats what repeats, and 100 kB of near misses are read as what they are."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants, _parser  # the parsed form of a pattern has no public name

import pytest

from planner.core import logs
from planner.core.logs.reading import read
from planner.core.logs.record import Task

REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
# What one repeat may take at most of a line, and what may follow it of the same before it is tried again.
MOST = 4000
LONGEST = 20_000


def patterns() -> Iterator[tuple[str, re.Pattern[bytes] | re.Pattern[str]]]:
    for module in pkgutil.walk_packages(logs.__path__, f"{logs.__name__}."):
        loaded = importlib.import_module(module.name)
        for name, value in vars(loaded).items():
            if isinstance(value, re.Pattern) and name.isupper():
                yield f"{module.name.rpartition('.')[2]}.{name}", value
        if hasattr(loaded, "FORMAT"):
            yield f"{module.name.rpartition('.')[2]}.own", loaded.FORMAT.own


ALL = dict(patterns())


def repeats(parsed: object, *, inside: int = 1) -> Iterator[tuple[int, int]]:
    """Every repeat of a parsed pattern as (its most, the product of the most of those it stands in)."""
    for code, argument in parsed:  # type: ignore[attr-defined]
        if code in REPEATS:
            _, most, item = argument
            yield int(most), inside
            yield from repeats(item, inside=inside * min(int(most), 1 << 40))
        elif code is _constants.SUBPATTERN:
            yield from repeats(argument[-1], inside=inside)
        elif code is _constants.BRANCH:
            for branch in argument[1]:
                yield from repeats(branch, inside=inside)
        elif code in {_constants.ASSERT, _constants.ASSERT_NOT}:
            yield from repeats(argument[1], inside=inside)
        elif code is _constants.ATOMIC_GROUP:
            yield from repeats(argument, inside=inside)


def test_there_are_patterns_to_hold_to_this() -> None:
    assert len(ALL) > 30
    assert {"llama_server.own", "_llama_slots._SLOT", "vllm.own"} <= ALL.keys()


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_pattern_repeats_nothing_that_repeats_and_nothing_without_bound(name: str) -> None:
    for most, inside in repeats(_parser.parse(ALL[name].pattern, ALL[name].flags)):
        assert inside == 1 or most == 1 or most * inside <= MOST, f"a repeat of {most} within {inside}"
        assert most <= MOST, "a repeat has no bound"


NEAR_MISSES = [
    b"slot print_timing: id  3 | task 7 | n_gen = " + b" " * 100,
    b"slot print_timing: id  3 | task 7 | prompt eval time = " + b"9" * 100,
    b"slot print_timing: id  3 | task 7 | " + b"prompt processing, n_tokens =" * 10,
    b"| task " * 50,
    b"srv  log_server_r: done request: " + b"a " * 100,
    b"srv    send_error: task id = 1, error: " + b"request (" * 30,
    b"srv " * 60,
    b"0.00.000.000 " * 20,
    b"prompt eval time = " * 10,
    b"eval time = 1.1 ms / " * 10,
    b"draft acceptance rate = 0.5 ( " * 10,
    b"INFO [ launch_slot_with_task] slot is processing task | timestamp=1 id_slot=0 " + b"id_task= " * 20,
    b"llama_kv_cache: size = 1.00 MiB ( " + b"1 cells, " * 20,
    b" KV buffer size = " * 20,
    b"build " * 40,
    b"Nov 29 12:00:00 " * 20,
    b"2026-11-29T12:00:00.000Z " * 12,
    b'{"type":"log","time":1,"level":"info","msg":"' * 8,
    b'{"log":"slot ' * 30,
    b"Avg prompt throughput: " * 12,
    b"[GIN] 2026/08/19 - " * 12,
    b"time=2026-08-19T08:08:01.500-05:00 level=INFO source=" * 6,
    b"a.b-c_d" * 40,
    b"((((((((((" * 30,
]


@pytest.mark.parametrize("miss", NEAR_MISSES, ids=lambda miss: miss[:24].decode())
@pytest.mark.parametrize("between", [b"\n", b""], ids=["lines", "one line"])
def test_100_kb_of_near_misses_are_read_and_counted(miss: bytes, between: bytes) -> None:
    times = 100_000 // len(miss) + 1
    known = b"slot launch_slot_: id  0 | task 1 | processing task, is_child = 0\n"
    reading = read([known, (miss + between) * times, b"\n", known.replace(b"task 1", b"task 2")], engine="llama-server")
    numbers = [item.number for item in reading if isinstance(item, Task)]
    assert {1, 2} <= set(numbers)
    assert reading.counts.lines == 2 + times * between.count(b"\n") + 1
    assert reading.counts.unparsed_lines + reading.counts.other_lines <= reading.counts.lines


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_pattern_finds_its_way_through_100_kb_of_near_misses(name: str) -> None:
    pattern = ALL[name]
    for miss in NEAR_MISSES:
        text = (miss * (100_000 // len(miss) + 1))[:100_000]
        subject = text if isinstance(pattern.pattern, bytes) else text.decode()
        found = pattern.search(subject)  # type: ignore[arg-type]
        # A match that is no longer than its repeats allow: none swallows the text.
        assert found is None or found.end() - found.start() <= LONGEST
