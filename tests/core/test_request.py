"""The request: text from forms, command lines and JSON in, one frozen object or a sentence for every field out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.request import FIELDS, PlanRequest, RequestError, read_request


def test_text_and_numbers_mean_the_same() -> None:
    typed = read_request({"users": "20", "context": "8k", "gpu_memory": "24GiB", "wait_target": "5%", "turn_seconds": "90", "count": "2"})
    given_numbers = read_request(
        {"users": 20, "context": 8192, "gpu_memory": 24 * 2**30, "wait_target": 0.05, "turn_seconds": 90.0, "count": 2}
    )
    assert typed == given_numbers


def test_blank_text_counts_as_not_given() -> None:
    assert read_request({"users": " ", "device": "", "prefill_rate": None}) == PlanRequest()


REFUSED = [
    ({"users": "0"}, "users", "at least 1"),
    ({"users": "-3"}, "users", "at least 1"),
    ({"users": "many"}, "users", "not a number"),
    ({"users": "2.5"}, "users", "whole number"),
    ({"users": "nan"}, "users", "not a number"),
    ({"context": "8 thousand"}, "context", "tokens such as 8192"),
    ({"generate_seconds": "0"}, "generate_seconds", "at least 0.001"),
    ({"turn_seconds": "inf"}, "turn_seconds", "not a number"),
    ({"wait_target": "7"}, "wait_target", "share"),
    ({"engine": "sglang"}, "engine", "one of"),
    ({"usage": "party"}, "usage", "one of"),
    ({"weights_size": "big"}, "weights_size", "a size such as"),
    ({"port": "70000"}, "port", "at most 65,535"),
    ({"model": "x" * 5000}, "model", "longer than"),
    ({"users": ["20"]}, "users", "whole number"),
    ({"nonsense": "1"}, "nonsense", "not an option"),
    ({"users": 10**400}, "users", "far too large"),
    ({"patience": 10**400}, "patience", "far too large"),
    ({"users": float("nan")}, "users", "finite"),
    ({"users": float("inf")}, "users", "finite"),
    ({"users": True}, "users", "give a number"),
    ({"patience": {"s": 1}}, "patience", "must be a number"),
    ({"generate_seconds": 1e-308}, "generate_seconds", "at least 0.001"),
    ({"decode_rate": 5e-324}, "decode_rate", "at least 0.001"),
    ({"context": 8192.5}, "context", "whole number"),
    ({"turn_seconds": "7,5"}, "turn_seconds", "not a number"),
    ({"model": 5}, "model", "must be text"),
    ({"model": "\ud800"}, "model", "type it again"),
    ({"users": "\ud800\n"}, "users", "not a number"),
    ({"no\nsuch\u202e": 1}, "no\nsuch\u202e", "no such is not an option"),
]


@pytest.mark.parametrize(
    ("values", "field", "words"), REFUSED, ids=[f"{next(iter(v))}={str(next(iter(v.values())))[:12]}" for v, _, _ in REFUSED]
)
def test_bad_input_has_a_sentence_at_its_field(values: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        read_request(values)
    assert words in refused.value.errors[field]
    assert refused.value.errors[field].endswith(".")
    assert refused.value.errors[field].isprintable()


def test_whole_numbers_are_taken_however_json_wrote_them() -> None:
    request = read_request({"users": 20.0, "context": 8192.0, "gpu_memory": 24e9, "patience": 30})
    assert (request.users, request.context, request.gpu_memory, request.patience) == (20, 8192, 24_000_000_000, 30.0)


def test_every_bad_field_is_told_at_once() -> None:
    with pytest.raises(RequestError) as refused:
        read_request({"users": "0", "context": "x", "engine": "vllm"})
    assert set(refused.value.errors) == {"users", "context"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from([10**400, -(10**400), "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "other"]), JSON, max_size=6))
def test_any_json_is_a_request_or_a_refusal(values: dict[str, object]) -> None:
    try:
        request, sentences = read_request(values), ["."]
    except RequestError as refused:
        request, sentences = PlanRequest(), list(refused.errors.values())
    assert read_request(request.model_dump(exclude_defaults=True)) == request
    assert all(0 < len(sentence) < 500 and sentence.isprintable() for sentence in sentences)
