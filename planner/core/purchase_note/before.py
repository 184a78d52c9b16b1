"""The first half of a note: the need, what is assumed, what was chosen, and the steps from today."""

from collections.abc import Iterator

from planner.core import units
from planner.core.headline import headline
from planner.core.plan import Figure
from planner.core.purchase_note.case import Case
from planner.core.purchase_note.options import options, rejected
from planner.core.purchase_note.tree import Section, Sentence, Sure, Table
from planner.core.workload import PRESETS


def title(case: Case) -> str:
    return f"{case.source.id} for {units.counted(case.request.users, 'user')}: {machine(case)}"


def machine(case: Case) -> str:
    one = case.plan.node.title
    return one if case.machines == 1 else f"{case.machines} machines with {one}"


def summary(case: Case) -> str:
    answer = headline(case.plan)
    return f"{machine(case)}, {case.plan.engine.title}: {answer.text} To buy: {case.cost.words}."


def sections(case: Case) -> tuple[Section, ...]:
    return (_need(case), _assumptions(case), options(case), _choice(case), rejected(case), *_steps(case))


def _need(case: Case) -> Section:
    load, request = case.plan.workload, case.plan.request
    flight = f"{units.trimmed(load.in_flight_mean, 1)} requests are in flight on average, at most {load.in_flight_p95:,} in 95 % of moments"
    waits = f"At most {units.percent(request.wait_target)} of turns may find no slot free, and people wait up to {units.seconds(request.patience)}"
    cycle = f"A reply takes {units.seconds(load.generate_seconds)} and a turn comes every {units.seconds(load.turn_seconds)}"
    said = (
        f"{units.counted(load.users, 'user')} share {case.source.id} with {request.context:,} tokens of context each.",
        f"{cycle}: {flight}.",
        f"{waits} in the queue: that takes {units.counted(case.plan.fit.slots_needed, 'slot')}.",
    )
    return Section("need", "What is needed", tuple(Sentence(text) for text in said))


def _assumptions(case: Case) -> Section:
    table = Table("Each with how sure it is", ("Assumption", "Value", "How sure", "Source"), tuple(_assumed(case)))
    return Section("assumptions", "What is assumed", (), (table,))


def _assumed(case: Case) -> Iterator[tuple[str, str, str, str]]:
    request, plan, weights = case.plan.request, case.plan, case.drawn.job.weights
    yield ("Duty cycle", f"{units.seconds(plan.workload.generate_seconds)} of {units.seconds(plan.workload.turn_seconds)}", *_duty(case))
    yield (
        "Context",
        f"{request.context:,} tokens",
        "entered" if "context" in case.request.model_fields_set else "judged",
        "as entered" if "context" in case.request.model_fields_set else "the default",
    )
    size = f"{weights.format}, {units.gib(weights.size_bytes)}"
    span = f" ({units.gib(weights.low_bytes)} to {units.gib(weights.high_bytes)})" if weights.low_bytes != weights.high_bytes else ""
    yield "Weights", f"{size}{span}", weights.grade, weights.source
    for name, rate in (("Prefill speed", plan.speed.prefill_rate), ("Decode speed", plan.speed.decode_rate)):
        yield name, _rate(rate), rate.grade if rate else "", rate.source if rate else "the speed is not known"
    for device in plan.node.kinds:
        grade = "entered" if device.memory_grade == "user" else device.memory_grade
        yield f"Memory of {device.name}", units.gib(device.memory_bytes), grade, device.source
    yield (
        "Price",
        case.cost.words,
        "entered" if case.cost.is_offer and case.cost.count else "",
        _priced_by(case),
    )
    kwh = case.tariff.per_kwh
    yield (
        "Electricity",
        "not given" if kwh is None else f"{kwh:g} {case.prices.currency} a kWh, {units.trimmed(case.tariff.hours_per_day)} h a day",
        "" if kwh is None else "entered",
        "as entered" if kwh is not None else "",
    )


def _priced_by(case: Case) -> str:
    if not case.cost.count:
        return ""
    if case.cost.is_offer:
        return "the price list"
    return "the catalogue: a hint, no offer" if case.cost.prices else "nobody gave one"


def _duty(case: Case) -> tuple[Sure, str]:
    """How sure the duty cycle is, and from where."""
    request, preset = case.plan.request, PRESETS[case.plan.request.usage]
    if request.generate_seconds is not None:
        return "entered", "as entered"
    if request.output_tokens:
        known = case.plan.speed.measured
        return (
            "computed" if known else "estimated"
        ), f"the lengths entered, at the {'speeds measured' if known else 'estimated speeds below'}"
    return "estimated", f"{preset.title}: {preset.why}"


def _rate(rate: Figure | None) -> str:
    if rate is None:
        return "not known"
    ends = f" ({units.significant(rate.low, 2)} to {units.significant(rate.high, 2)})" if rate.low and rate.high else ""
    return f"{units.significant(rate.value)} tokens/s{ends}"


def _choice(case: Case) -> Section:
    plan, answer = case.plan, headline(case.plan)
    said = [
        Sentence(
            f"{machine(case)} with {plan.engine.title} {plan.engine.version}, {case.drawn.job.weights.format} weights and a {plan.engine.cache_type_k} cache. {case.why}"
        ),
        Sentence(f"{answer.word}: {answer.sentence} {answer.felt}", "computed", "closed queue M/M/c//N on the plan's memory budget"),
        Sentence(answer.inequality, "computed"),
    ]
    # A choice of the table names its engine: that the request does so is no reason.
    if case.request.engine != "auto" or plan.request.engine == "auto":
        said.append(Sentence(f"The engine: {plan.engine.why}"))
    if plan.speed.ttft_seconds:
        ttft, pause = plan.speed.ttft_seconds, plan.speed.pause_seconds
        felt = f"The first token comes within {units.seconds(ttft.p50)} for half of the turns and {units.seconds(ttft.p95)} for 95 %"
        more = f"; the longest pause is within {units.seconds(pause.p95)} for 95 % of replies" if pause else ""
        grade: Sure = "measured" if plan.speed.measured else "estimated"
        said.append(Sentence(f"{felt}{more}.", grade, plan.speed.felt_source))
    if case.machines > 1:
        said.append(
            Sentence(
                f"{case.machines} such machines stand behind a load balancer (least connections); the figures above are for one of them with its share."
            )
        )
    return Section("choice", "What to buy, and why", tuple(said))


def _steps(case: Case) -> Iterator[Section]:
    """The ladder, where a machine stands there already."""
    if case.ladder is None:
        return
    rows = tuple(
        (
            rung.change,
            f"{rung.users:,} ({rung.gained:+,})",
            rung.cost.words,
            "" if rung.watts_more is None else f"{rung.watts_more:+,} W",
            rung.risk.text if rung.risk else "none",
            rung.next_limit,
        )
        for rung in case.ladder.rungs
    )
    columns = ("Change", "Users", "Price", "Power", "Quality risk", "Next limit")
    said = (
        Sentence(
            f"Today: {case.ladder.today.change}, {units.counted(case.ladder.today.users, 'user')}. {case.ladder.today.next_limit}",
            "computed",
        ),
        *(Sentence(note) for note in case.ladder.notes),
    )
    yield Section("ladder", "The smallest steps from today's machine", said, (Table("In order of cost", columns, rows),))
