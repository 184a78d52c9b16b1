"""An answer that needs no network is worked out once, and never given to a question that only looks the same."""

from planner.web import asking
from planner.web.asking import ask

INPUTS = {"model": "Qwen/Qwen3-8B", "device": "rtx-4090", "users": "20"}
SMALL = '{"model_type":"llama","num_hidden_layers":4,"num_attention_heads":8,"hidden_size":512,"vocab_size":1000,"max_position_embeddings":4096}'


def test_the_same_question_has_the_same_answer() -> None:
    assert ask(INPUTS).answer is ask(dict(INPUTS)).answer
    assert ask(INPUTS).answer is not ask(INPUTS | {"users": "21"}).answer


def test_a_name_that_was_given_counts_also_where_it_is_the_usual_one() -> None:
    unnamed = ask({"config": SMALL, "device": "rtx-4090"}).answer
    assert unnamed
    usual = unnamed.plan.request.model
    named = ask({"config": SMALL, "device": "rtx-4090", "model": usual}).answer
    assert named
    assert (named.plan.model.id, unnamed.plan.model.id) == (usual, "my-llama")


def test_what_the_hub_says_is_asked_for_each_time() -> None:
    before = asking._of_facts.cache_info().currsize
    assert ask(INPUTS | {"revision": "main"}).errors
    assert ask(INPUTS | {"model": "somebody/some-model"}).errors
    assert asking._of_facts.cache_info().currsize == before
