"""The ladder: every rung is a plan, its users are exact, its price is what was given, and one machine too small gets more of them."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core import catalog
from planner.core.draft import outline
from planner.core.engines import engines
from planner.core.errors import InputError
from planner.core.ladder import Ladder, Rung, ladder
from planner.core.ladder.costs import cost_of, together
from planner.core.ladder.report import ladder_json, ladder_text
from planner.core.prices import NO_PRICES, Prices, parse_prices
from planner.core.queueing import slots_needed
from planner.core.request import PlanRequest, read_request
from planner.core.sensitivity.users import bears, serves
from planner.sources import find_model

HELP = Path(__file__).resolve().parents[3] / "shared" / "facts" / "vllm_help.txt"
BOOK = parse_prices(
    "device,price,currency,condition,date,vat\n"
    "rtx-3090,750,EUR,used,2026-11-01,included\n"
    "rtx-3090,1300,EUR,new,2026-10-01,included\n"
    "rtx-4090,1900,EUR,new,2026-11-01,included\n"
)
ON_ONE_MACHINE = {"context", "cache", "weights", "cache_and_weights", "card", "other_card", "bigger", "today"}


@cache
def climbed(have: str = "rtx-3090", prices: Prices = NO_PRICES, **inputs: Any) -> tuple[Ladder, PlanRequest]:
    request = read_request({"model": "Qwen/Qwen3-8B", "users": 120, "context": 8192, "generate_seconds": 12, "turn_seconds": 90, **inputs})
    return ladder(request, find_model(request, None), have=catalog.parse_machines(have) if have else (), prices=prices), request


def at_today(rung: Rung, found: Ladder) -> dict[str, Any]:
    """A rung that changes settings only is on today's machine."""
    return {**dict(found.today.changes), **dict(rung.changes)}


def test_every_rung_serves_its_users_and_not_one_more() -> None:
    found, request = climbed(prices=BOOK)
    source = find_model(request, None)
    for rung in (found.today, *found.rungs):
        if rung.kind not in ON_ONE_MACHINE:
            continue
        changes, engine = at_today(rung, found), engines()[rung.engine]
        for most, holds in ((rung.users, serves), (rung.users_waiting, bears)):
            at, beyond = (outline(request.model_copy(update={**changes, "users": users}), source, engine) for users in (most, most + 1))
            assert holds(at)
            assert not holds(beyond)
        assert rung.gained == rung.users - found.today.users
        assert rung.reaches == (rung.users >= 120)


def test_what_is_free_comes_first_then_what_was_priced_then_launch_prices() -> None:
    found, _ = climbed(prices=BOOK)
    ranks = [0 if rung.cost.count == 0 else 1 if rung.cost.is_offer else 2 for rung in found.rungs]
    assert ranks == sorted(ranks)
    offers = [rung.cost.amount for rung in found.rungs if rung.cost.count and rung.cost.is_offer]
    assert offers == sorted(offers)  # type: ignore[type-var]


def test_a_second_card_has_its_used_and_its_new_price_and_the_lower_one_counts() -> None:
    found, _ = climbed(prices=BOOK)
    card = next(rung for rung in found.rungs if rung.kind == "card")
    assert card.change == "1 more GeForce RTX 3090, 2 in all"
    assert card.cost.amount == 750
    assert [price.condition for price in card.cost.prices] == ["used", "new"]
    assert card.cost.words == "750 EUR (used, VAT included, 2026-11-01); 1,300 EUR (new, VAT included, 2026-10-01)"
    assert (card.watts, card.watts_more) == (700, 350)


def test_without_a_price_list_only_the_launch_price_stands_and_as_such() -> None:
    found, _ = climbed()
    card = next(rung for rung in found.rungs if rung.kind == "card")
    assert card.cost.words == "no price given; list price at launch in 2020: 1,500 USD, no offer"
    assert not card.cost.is_offer
    assert any("no offers" in note for note in found.notes)


def test_launch_prices_are_never_converted() -> None:
    cost = cost_of("l40s", catalog.device("l40s"), 1, BOOK)
    assert cost.amount is None
    assert cost.words.startswith("no price given")


def test_a_cost_of_several_kinds_is_unknown_where_one_of_them_is() -> None:
    known, unknown = cost_of("rtx-3090", catalog.device("rtx-3090"), 2, BOOK), cost_of("l40s", catalog.device("l40s"), 1, BOOK)
    assert together([known, known]).amount == 3000
    assert together([known, unknown]).amount is None


def test_lengths_cut_the_context_to_what_the_longest_turns_need() -> None:
    found, _ = climbed("2x3090", context=16_384, prompt_tokens=3000, output_tokens=400, generate_seconds=None, turn_seconds=None, users=90)
    context = next(rung for rung in found.rungs if rung.kind == "context")
    assert context.context == 3584  # 3,400 tokens, in steps of 256
    assert context.risk is not None
    assert context.risk.grade == "judged"


def test_without_lengths_the_context_is_the_longest_that_serves_everyone() -> None:
    found, request = climbed()
    context = next(rung for rung in found.rungs if rung.kind == "context")
    source, engine = find_model(request, None), engines()[context.engine]
    longer = request.model_copy(update={**at_today(context, found), "context": context.context + 256})
    assert context.reaches
    assert not serves(outline(longer, source, engine))


def test_cache_and_weights_go_together_only_where_neither_is_enough() -> None:
    alone, _ = climbed("rtx-4090", engine="vllm", users=20)
    assert not any(rung.kind == "cache_and_weights" for rung in alone.rungs)
    both, _ = climbed("rtx-4090", engine="vllm", users=150)
    made = next(rung for rung in both.rungs if rung.kind == "cache_and_weights")
    assert made.users > max(rung.users for rung in both.rungs if rung.kind in {"cache", "weights"})


def test_replicas_have_the_slots_of_all_machines_and_the_upstream_for_them() -> None:
    found, request = climbed(users=300)
    replica = next(rung for rung in found.rungs if rung.kind == "replica")
    each = found.today.slots_that_fit
    needed = slots_needed(users=300, generate_seconds=12, turn_seconds=90, wait_target=request.wait_target)
    assert replica.machines == -(-needed // each)
    assert replica.slots_that_fit == replica.machines * each
    front = replica.files[0]
    assert front.path == "/etc/nginx/conf.d/llama-server.conf"
    assert front.content.count("    # server machine-") == replica.machines - 1
    assert "least_conn;" in front.content
    by_hand = [slots_needed(users=n, generate_seconds=12, turn_seconds=90, wait_target=0.05) for n in (replica.users, replica.users + 1)]
    assert by_hand[0] <= replica.slots_that_fit < by_hand[1]


def test_a_second_machine_has_a_front_even_where_one_would_do() -> None:
    found, _ = climbed("2x3090", users=10, engine="vllm")
    replica = next(rung for rung in found.rungs if rung.kind == "replica")
    assert replica.machines == 2
    assert replica.files


def test_unequal_cards_stand_beside_each_other() -> None:
    found, _ = climbed(prices=BOOK)
    other = next(rung for rung in found.rungs if rung.kind == "other_card")
    assert dict(other.changes)["device"] == "1xrtx-3090,1xrtx-4090"
    assert (other.cost.amount, other.watts) == (1900, 800)


def test_a_model_that_no_machine_holds_is_cut_over_nodes_and_said_to_be_untried() -> None:
    found, _ = climbed("8x h200-sxm", model="moonshotai/Kimi-K2-Instruct", users=20, weights_quant="BF16")
    cluster = next(rung for rung in found.rungs if rung.kind == "cluster")
    assert found.today.slots_that_fit == 0
    assert cluster.unverified
    assert cluster.weights == "BF16"
    assert "Not tried here" in cluster.why
    assert cluster.steps[-1].command == (
        "vllm serve moonshotai/Kimi-K2-Instruct --max-model-len 8192 --tensor-parallel-size 8 --pipeline-parallel-size 2 "
        "--distributed-executor-backend ray"
    )
    if HELP.exists():
        text = HELP.read_text()
        assert all(word in text for word in cluster.steps[-1].command.split() if word.startswith("--"))


def test_a_machine_without_a_gpu_is_a_start_like_any_other() -> None:
    found, _ = climbed("", ram=16 * 2**30, users=60)
    assert found.today.machine.startswith("CPU")
    assert {"cache", "bigger"} <= {rung.kind for rung in found.rungs}
    assert found.today.watts is None


def test_rented_machines_stand_in_the_list_with_their_rent() -> None:
    prices = parse_prices("device,price,currency,per,ram,vcpus\nrented-512,90,EUR,month,512,32\n")
    found, _ = climbed("", prices, ram=8 * 2**30, users=60, context=16_384)
    rented = next(rung for rung in found.rungs if rung.cost.monthly)
    assert rented.change.startswith("rented-512")
    assert (rented.cost.amount, rented.cost.monthly) == (0, 90)
    assert "90 EUR a month" in rented.cost.words
    assert any("months of it" in note for note in found.notes)


def test_a_machine_that_is_not_named_is_asked_for() -> None:
    with pytest.raises(InputError):
        climbed("")


def test_the_report_says_every_rung() -> None:
    found, _ = climbed(prices=BOOK)
    text, written = ladder_text(found), ladder_json(found)
    assert [each["change"] for each in written["rungs"]] == [rung.change for rung in found.rungs]
    assert all(rung.change in text and rung.cost.words in text for rung in found.rungs)


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 400), st.sampled_from(["rtx-3060-12gb", "2x3090", "l40s", "apple-m4-max-16-64gb"]), st.sampled_from([4096, 16_384]))
def test_rungs_gain_and_the_first_that_reaches_serves_everyone(users: int, have: str, context: int) -> None:
    found, _ = climbed(have, BOOK, users=users, context=context)
    for rung in found.rungs:
        assert rung.gained > 0 or rung.users_waiting > found.today.users_waiting
        assert rung.next_limit
    if found.first:
        assert found.first.users >= users


def test_an_fp8_cache_is_offered_only_where_the_card_has_the_arithmetic() -> None:
    # Compute capability 8.6 against 8.9: vLLM's usual attention refuses FP8 (e4m3) below 8.9.
    steps = {have: {rung.kind for rung in climbed(have, engine="vllm")[0].rungs} for have in ("rtx-3090", "rtx-4090")}
    assert "cache" not in steps["rtx-3090"]
    assert "cache" in steps["rtx-4090"]
