"""Reading as a whole: each line handed to one rule, in order, whatever the pieces; and what every format must keep to."""

import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.logs import reading as module
from planner.core.logs.formats import Rule, formats
from planner.core.logs.formats.llama_server import LlamaServer
from planner.core.logs.log import Item, Log
from planner.core.logs.reading import read
from planner.core.logs.record import Counts, Notice

FORMATS = sorted(formats())


@pytest.mark.parametrize("engine", FORMATS)
def test_a_format_says_its_own_lines_with_one_group_from_the_newline_on(engine: str) -> None:
    form = formats()[engine]
    assert form.engine == engine
    assert form.own.groups == 1
    assert form.own.pattern.startswith(rb"\n")
    assert form.wraps <= set(FORMATS)
    assert form.sniff(b"\nsomebody's own words\n" * 100) == 0


@pytest.mark.parametrize("engine", FORMATS)
def test_a_format_reads_what_is_nobodys_as_nobodys(engine: str) -> None:
    found = read([b"somebody's own words\n" * 100], engine=engine)
    assert list(found) == []
    assert (found.counts.lines, found.counts.other_lines, found.counts.unparsed_lines) == (100, 100, 0)
    assert found.facts.engine == engine


class Letters:
    """A made-up engine: `a` and `b` lines are read, `c` turns to reading nothing but `b`, `d` is its own and silent, `e` unknown."""

    engine = "letters"
    own = re.compile(rb"\n(?:(d)|e)")
    wraps: frozenset[str] = frozenset()

    def sniff(self, head: bytes) -> int:
        return head.count(b"\na")

    def start(self, log: Log) -> "Letters":
        self.log = log
        self.rules: tuple[Rule, ...] = (Rule(b"a", self.read), Rule(b"b", self.read), Rule(b"c", self.turn))
        return self

    def read(self, block: bytes, start: int, at: int) -> None:
        self.log.put(Notice(code=block[start : block.index(b"\n", start)].decode(), line=self.log.line, value=at - start))

    def turn(self, *_: object) -> None:
        self.rules = (Rule(b"b", self.read),)

    def finish(self) -> None:
        self.log.put(Notice(code="end", line=self.log.line))


def of_letters(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Item], Counts]:
    monkeypatch.setattr(module, "formats", lambda: {"letters": Letters()})
    found = read([text.encode()])
    return list(found), found.counts


def test_a_line_goes_to_the_rule_whose_anchor_stands_first_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    items, counts = of_letters("a\nxxba\nx\nab\nd\ne\n", monkeypatch)
    told = [(item.code, item.line, item.value) for item in items if isinstance(item, Notice)]
    assert told == [("a", 1, 0), ("xxba", 2, 2), ("ab", 4, 0), ("end", 4, None)]
    assert (counts.lines, counts.other_lines, counts.unparsed_lines, counts.unparsed_examples) == (6, 1, 1, ["e"])


def test_new_rules_hold_from_the_next_line_on(monkeypatch: pytest.MonkeyPatch) -> None:
    items, counts = of_letters("a\nc\na\nb\nab\n", monkeypatch)
    assert [item.line for item in items if isinstance(item, Notice) and item.code != "end"] == [1, 4, 5]
    assert counts.other_lines == 1


SLOT = "slot print_timing: id {slot:2} | task {task} | "
LINES = st.sampled_from(
    [
        "slot get_availabl: id {slot:2} | task -1 | selected slot by LRU, t_last = 5",
        "slot launch_slot_: id {slot:2} | task {task} | processing task, is_child = 0",
        SLOT + "n_gen =    102, tg =  33.65 t/s, tg_3s =  33.98 t/s",
        SLOT + "prompt processing, n_tokens =   2048, progress = 0.66, t =   4.00 s / 512.00 tokens per second",
        SLOT + "prompt eval time =    1226.28 ms /   200 tokens (    6.13 ms per token,   163.09 tokens per second)",
        SLOT + "       eval time =    3322.58 ms /   120 tokens (   27.92 ms per token,    35.82 tokens per second)",
        SLOT + "      total time =    4548.86 ms /   320 tokens",
        SLOT + "something that nobody knows",
        SLOT,
        "slot      release: id {slot:2} | task {task} | stop processing: n_tokens = 319, truncated = 0",
        "slot        reset: id {slot:2} | task -1 | ",
        "srv          stop: cancel task, id_task = {task}",
        "srv    load_model: loading model 'm.gguf'",
        "srv  update_slots: all slots are idle",
        "prompt eval time =     786.23 ms /   100 tokens (    7.86 ms per token,   127.19 tokens per second)",
        "       eval time =     884.45 ms /    40 tokens (   22.11 ms per token,    45.23 tokens per second)",
        "somebody's own words | task 7 | and more | task 8 |",
        "",
    ]
)
LOG = st.lists(st.tuples(LINES, st.sampled_from("IWE"), st.integers(0, 120), st.integers(1, 4), st.booleans()), max_size=60)


def written(rows: Iterable[tuple[str, str, int, int, bool]]) -> bytes:
    lines = []
    for text, level, second, task, timed in rows:
        stamp = f"{second // 60}.{second % 60:02}.000.{task:03} {level} " if timed else ""
        lines.append(stamp + text.format(slot=task % 3, task=task))
    return "".join(line + "\n" for line in ["srv    load_model: loading model 'm.gguf'", *lines]).encode()


@settings(max_examples=300)
@given(rows=LOG, size=st.integers(1, 200))
def test_a_sweep_over_many_lines_says_what_reading_them_one_by_one_says(rows: list[tuple[str, str, int, int, bool]], size: int) -> None:
    data = written(rows)
    swept = read([data[begin : begin + size] for begin in range(0, len(data), size)], engine="llama-server")
    items = list(swept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LlamaServer, "rules", property(_without_sweep, _keep_rules), raising=False)
        single = read([data], engine="llama-server")
        assert list(single) == items
    assert swept.counts == single.counts
    assert swept.facts == single.facts


_KEPT: dict[int, tuple[tuple[Rule, ...], tuple[Rule, ...]]] = {}


def _keep_rules(state: LlamaServer, rules: tuple[Rule, ...]) -> None:
    _KEPT[id(state)] = (rules, tuple(rule._replace(sweep=None) for rule in rules))


def _without_sweep(state: LlamaServer) -> tuple[Rule, ...]:
    return _KEPT[id(state)][1]


@given(rows=LOG)
def test_every_line_is_counted_once(rows: list[tuple[str, str, int, int, bool]]) -> None:
    found = read([written(rows)], engine="llama-server")
    list(found)
    counts = found.counts
    assert counts.lines == len(rows) + 1
    assert 0 <= counts.other_lines + counts.unparsed_lines <= counts.lines


@given(st.binary(max_size=400))
def test_any_bytes_at_all_are_read_or_refused_in_a_sentence(data: bytes) -> None:
    for engine in FORMATS:
        found = read([b"slot launch_slot_: id  0 | task 1 | processing task\n", data.replace(b"\0", b" ")], engine=engine)
        list(found)
        assert found.counts.other_lines <= found.counts.lines
