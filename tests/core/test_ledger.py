"""What else the card carries: slots lost are those of a plan with that much less memory; peaks are the plan's own budget, twice."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.answer import answer
from planner.core.errors import InputError
from planner.core.ledger import Ledger, ledger
from planner.core.ledger.peaks import own_bytes
from planner.core.ledger.report import ledger_json, ledger_text
from planner.core.request import PlanRequest, read_request
from planner.core.sensitivity import Held, held

GIB = 2**30


def kept(**inputs: Any) -> Held:
    values = {
        "model": "Qwen/Qwen3-8B",
        "device": "rtx-4090",
        "engine": "llama-server",
        "generate_seconds": 12,
        "turn_seconds": 90,
        **inputs,
    }
    made = answer(read_request(values), None, simulated=False)
    return held(made.plan, made.source)


def slots(request: PlanRequest, kept_: Held, reserved: int) -> int:
    changed = request.model_copy(update={"reserved_memory": reserved or None, "engine": kept_.engine.name})
    return answer(changed, None, kept_.source, simulated=False).plan.fit.slots_that_fit


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 6 * GIB), min_size=1, max_size=4), st.sampled_from(["llama-server", "vllm"]))
def test_slots_lost_are_those_of_a_plan_with_so_much_memory_left_to_others(sizes: list[int], engine: str) -> None:
    plan = kept(engine=engine)
    found = ledger(plan, ",".join(f"part{number}={size}" for number, size in enumerate(sizes)))
    total = 0
    for size, entry in zip(sizes, found.entries, strict=True):
        total += size
        assert found.slots_alone - entry.slots_lost == slots(plan.request, plan, size)
        assert entry.slots_left == slots(plan.request, plan, total)
        assert entry.slots_lost_low == entry.slots_lost == entry.slots_lost_high
    assert found.total_bytes == total
    assert found.users <= found.users_alone


def test_five_gib_on_a_4090_by_hand() -> None:
    # 18.18 GiB are left for caches of 1.125 GiB: 16 fit; with 5 GiB less 13.18 GiB: 11.
    found = ledger(kept(), "reranker=5GiB")
    assert (found.slots_alone, found.entries[0].slots_left, found.entries[0].slots_lost) == (16, 11, 5)


def test_known_names_have_a_source_and_a_range() -> None:
    found = ledger(kept(), "bge-m3, bge-reranker-v2-m3, whisper-large-v3, desktop")
    for entry in found.entries:
        assert entry.tenant.grade == "estimated"
        assert entry.tenant.low_bytes < entry.tenant.size_bytes < entry.tenant.high_bytes
        assert entry.tenant.source
        assert entry.slots_lost_low <= entry.slots_lost <= entry.slots_lost_high


def test_a_draft_model_has_a_cache_for_every_slot_and_another_model_one_conversation() -> None:
    plan = kept()
    draft, other = ledger(plan, "draft=qwen3-0.6b,qwen3-0.6b").entries
    # Qwen3-0.6B: 2 × 28 layers × 8 heads × 128 × 2 B = 114,688 B a token; 8,192 tokens: 896 MiB for each of the 6 slots.
    assert draft.tenant.size_bytes - other.tenant.size_bytes == 5 * 8192 * 114_688
    assert "cache for 6 slots" in draft.tenant.source


def test_a_machine_without_a_gpu_keeps_what_its_system_takes() -> None:
    plan = kept(device=None, ram=16 * GIB)
    found = ledger(plan, "whisper=1GiB")
    assert found.base_bytes == GIB  # what the plan leaves to the system
    assert found.entries[0].slots_left == slots(plan.request, plan, 2 * GIB)
    assert found.entries[0].slots_lost == 1


def test_nothing_beside_the_model_costs_nothing() -> None:
    found = ledger(kept(), "")
    assert found.entries == ()
    assert found.users == found.users_alone


# What is typed, what the refusal says.
REFUSED = [
    ("nonsense", "is not known here"),
    ("reranker=lots", "a size such as"),
    ("draft=nonsense", "is not known here"),
    ("mmproj", "no encoder"),
    (",".join(f"a{n}=1MiB" for n in range(17)), "At most 16"),
]


@pytest.mark.parametrize(("typed", "said"), REFUSED)
def test_what_cannot_be_used_is_refused_with_what_to_do(typed: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refusal:
        ledger(kept(), typed)
    assert refusal.value.field == "beside"


def test_more_than_the_card_has_leaves_no_slot() -> None:
    found = ledger(kept(), "giant=40GiB")
    assert (found.entries[0].slots_left, found.verdict, found.users) == (0, "does_not_fit", 0)
    assert found.peaks == ()


def peak(found: Ledger, name: str) -> Any:
    return next(each for each in found.peaks if each.name == name)


def test_a_vllm_that_takes_its_share_cannot_start_beside_itself() -> None:
    rolling = peak(ledger(kept(engine="vllm"), ""), "Rolling restart")
    assert rolling.outlook == "does_not_fit"
    assert "will not restart while the old instance drains" in rolling.sentence
    assert "half of the card does not hold the model" in rolling.fix  # 15.3 GiB of weights, 12 GiB of half a card


def test_a_smaller_share_lets_two_instances_run() -> None:
    rolling = peak(ledger(kept(engine="vllm", device="l40s", weights_quant="AWQ"), ""), "Rolling restart")
    assert rolling.outlook == "does_not_fit"
    assert "with a memory share of 0.5 two instances fit" in rolling.fix


def test_the_slots_of_two_instances_are_exact() -> None:
    plan = kept(users=60)
    rolling = peak(ledger(plan, ""), "Rolling restart")
    planned = plan.outline({})
    budgets = {n: plan.engine.budget(planned.job, n) for n in range(1, 12)}
    fitting = [n for n, b in budgets.items() if 2 * own_bytes(plan, b) + b.size_of("reserved") <= b.total_bytes]
    assert f"with {max(fitting)} slots two instances fit" in rolling.fix


def test_a_roomy_machine_restarts_without_a_gap() -> None:
    assert peak(ledger(kept(device="l40s", users=3), ""), "Rolling restart").outlook == "fits"


def test_memory_that_is_shared_holds_the_file_and_its_copy_while_it_loads() -> None:
    plan = kept(model="openai/gpt-oss-120b", device="gb10", users=5)
    cold = peak(ledger(plan, ""), "Cold start")
    assert cold.outlook == "may_fail"
    assert cold.high_bytes - cold.low_bytes == plan.outline({}).job.weights.size_bytes
    assert "drop_caches" in cold.fix
    assert cold.grade == "estimated"


def test_metal_uses_the_pages_of_the_file() -> None:
    found = ledger(kept(device="apple-m4-max-16-64gb"), "")
    assert peak(found, "Cold start").outlook == "fits"


def test_a_disk_that_is_read_at_every_start_is_said() -> None:
    small, large = (peak(ledger(kept(device="l40s", ram=ram * GIB), ""), "Cold start") for ram in (4, 64))
    assert (small.outlook, large.outlook) == ("may_fail", "fits")


def test_the_report_has_every_entry_and_every_peak() -> None:
    found = ledger(kept(), "desktop,reranker=1.2GiB")
    text, written = ledger_text(found), ledger_json(found)
    assert [each["name"] for each in written["entries"]] == ["A desktop", "reranker"]
    assert all(each.sentence in text for each in found.peaks)
    assert "about 600 MiB (200 MiB to 1.500 GiB)" in text
