"""The request: text from forms, command lines and JSON in, one frozen object or a sentence for every field out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.request import FIELDS, PlanRequest, RequestError, read_request


def test_text_and_numbers_mean_the_same() -> None:
    typed = read_request({"users": "20", "context": "8k", "gpu_memory": "24GiB", "wait_target": "5%", "turn_seconds": "90", "count": "2"})
    given_numbers = read_request({"users": 20, "context": 8192, "gpu_memory": 24 * 2**30, "wait_target": 0.05, "turn_seconds": 90.0, "count": 2})
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
    ({"generate_seconds": "0"}, "generate_seconds", "greater than 0"),
    ({"turn_seconds": "inf"}, "turn_seconds", "not a number"),
    ({"wait_target": "7"}, "wait_target", "share"),
    ({"engine": "sglang"}, "engine", "one of"),
    ({"usage": "party"}, "usage", "one of"),
    ({"weights_size": "big"}, "weights_size", "a size such as"),
    ({"port": "70000"}, "port", "at most 65535"),
    ({"model": "x" * 5000}, "model", "longer than"),
    ({"users": ["20"]}, "users", "whole number"),
    ({"nonsense": "1"}, "nonsense", "not an option"),
]


@pytest.mark.parametrize(("values", "field", "words"), REFUSED, ids=[f"{next(iter(v))}={str(next(iter(v.values())))[:12]}" for v, _, _ in REFUSED])
def test_bad_input_has_a_sentence_at_its_field(values: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        read_request(values)
    assert words in refused.value.errors[field]
    assert refused.value.errors[field].endswith(".")


def test_every_bad_field_is_told_at_once() -> None:
    with pytest.raises(RequestError) as refused:
        read_request({"users": "0", "context": "x", "engine": "vllm"})
    assert set(refused.value.errors) == {"users", "context"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "other"]), JSON, max_size=6))
def test_any_json_is_a_request_or_a_refusal(values: dict[str, object]) -> None:
    try:
        request = read_request(values)
    except RequestError as refused:
        assert all(0 < len(sentence) < 500 and "\n" not in sentence for sentence in refused.errors.values())
    else:
        assert read_request(request.model_dump(exclude_defaults=True)) == request
