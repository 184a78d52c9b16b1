"""The calls that work something out: they answer what the commands print, in the shape that the schema says."""

import pytest

from tests.api.conftest import QUESTION, Caller

pytestmark = pytest.mark.django_db


def test_a_plan_is_what_the_command_prints(anybody: Caller) -> None:
    told = anybody("post", "plan", QUESTION).json()
    assert told["schema"] == 1
    assert told["fit"]["verdict"] in {"fits", "tight", "does_not_fit"}
    assert told["engine"]["name"] == "vllm"
