"""What a machine costs to own or rent at the duty cycle of a plan, beside an API that is paid by the token."""

from dataclasses import dataclass
from typing import Final

from planner.core import units
from planner.core.draft import Outline, decode_step
from planner.core.plan import Figure, Workload
from planner.core.prices import Price
from planner.core.running_cost import DAYS_PER_MONTH, Monthly, Tariff, busy_share, monthly
from planner.core.workload import workload

MONTHS: Final = 36
_MILLION: Final = 1e6
# Of what is around the boards at full load, drawn on average over the day: an estimate as the rest of it.
_AROUND_SHARE: Final = (0.3, 0.5, 0.8)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the user enters: an API's prices per million tokens, over how many months a purchase is spread, and watts from a meter.

    Money is in the price book's currency. `idle_watts` and `busy_watts` are those of the whole machine at the wall, as measured.
    """

    api_input: float | None = None
    api_output: float | None = None
    months: int = MONTHS
    idle_watts: float | None = None
    busy_watts: float | None = None


NO_TERMS: Final = Terms()


@dataclass(frozen=True, slots=True)
class Economics:
    """Every figure is a month's, in `currency`; None is not known, and `unknown` says what it would take.

    `answer_tokens` and `prompt_tokens` are what people send and get at this duty cycle. `per_million` is the machine's cost of a
    million answer tokens (electricity or rent, and the purchase spread over `months`), `api_per_million` the API's for the same turns.
    `break_even_months`: after so many the purchase is paid by what the API would have cost; None where there is none, it is not known, or
    `never` is.
    """

    currency: str
    months: int
    purchase: float | None
    kwh: Figure | None
    running: Figure | None
    turns: Figure
    prompt_tokens: Figure | None
    answer_tokens: Figure | None
    per_million: Figure | None
    api: Figure | None
    api_per_million: Figure | None
    break_even_months: Figure | None
    never: bool
    sentences: tuple[str, ...]
    unknown: tuple[str, ...]


def economics(
    planned: Outline,
    *,
    machines: int = 1,
    watts: int | None,
    around_watts: Figure,
    purchase: float | None,
    rent: Price | None,
    currency: str,
    tariff: Tariff,
    prompt_tokens: int,
    terms: Terms = NO_TERMS,
) -> Economics:
    """For `machines` alike that share the plan's users; `watts` and `around_watts` of one. `purchase` is for all of them."""
    busy = busy_share(_share_of(planned.load, machines), tariff)
    month = _electricity(machines=machines, watts=watts, around=around_watts, busy=busy, tariff=tariff, terms=terms, rent=rent)
    turns = _turns(planned, tariff)
    answers = _answer_tokens(planned, turns)
    asked = Figure(turns.value * prompt_tokens, turns.grade, turns.source)
    spread = None if purchase is None or month.cost is None else _plus(month.cost, purchase / terms.months)
    api = _api(terms, asked, answers)
    even, never = _break_even(purchase, month.cost, api)
    return Economics(
        currency=currency,
        months=terms.months,
        purchase=purchase,
        kwh=month.kwh,
        running=month.cost,
        turns=turns,
        prompt_tokens=asked,
        answer_tokens=answers,
        per_million=_per_million(spread, answers),
        api=api,
        api_per_million=_per_million(api, answers),
        break_even_months=even,
        never=never,
        sentences=tuple(_sentences(busy, turns, asked, answers, planned)),
        unknown=tuple(_unknown(month, tariff, purchase, answers, terms)),
    )


def _share_of(load: Workload, machines: int) -> Workload:
    """The load of one machine of several."""
    users = -(-load.users // machines)
    return workload(users=users, generate_seconds=load.generate_seconds, turn_seconds=load.turn_seconds)


def _electricity(
    *, machines: int, watts: int | None, around: Figure, busy: float, tariff: Tariff, terms: Terms, rent: Price | None
) -> Monthly:
    """By the meter's watts where they are given, else by shares of the board power and of what is around the boards."""
    if rent is not None and rent.monthly is not None:
        cost = rent.monthly * machines
        return Monthly(None, Figure(cost, "computed", "The rent; electricity is in it."))
    hours = 24 * DAYS_PER_MONTH
    if terms.idle_watts is not None and terms.busy_watts is not None:
        kwh = (terms.idle_watts * (1 - busy) + terms.busy_watts * busy) * hours / 1000 * machines
        used = Figure(kwh, "computed", "From the idle and busy watts you measured, and the share of hours with a request in flight.")
    else:
        boards = monthly(watts=watts, busy=busy, tariff=tariff).kwh
        if boards is None:
            return Monthly(None, None)
        ends = zip((boards.low, boards.value, boards.high), (around.low, around.value, around.high), _AROUND_SHARE, strict=True)
        low, middle, high = (((each or 0.0) + (beside or 0.0) * share * hours / 1000) * machines for each, beside, share in ends)
        source = "Idle 5 to 25 % and busy 50 to 100 % of the board power; 30 to 80 % of what is around the boards, all day."
        used = Figure(middle, "estimated", source, low, high)
    return Monthly(used, None if tariff.per_kwh is None else _times(used, tariff.per_kwh))


def _turns(planned: Outline, tariff: Tariff) -> Figure:
    """Users × seconds in use ÷ seconds from turn to turn, the wait for a slot in it."""
    load = planned.load
    each = load.turn_seconds + planned.outcome.chosen.mean_wait_seconds
    seconds = tariff.hours_per_day * 3600 * DAYS_PER_MONTH
    return Figure(load.users * seconds / each, "computed", f"{load.users:,} users, a turn every {units.seconds(each)}")


def _answer_tokens(planned: Outline, turns: Figure) -> Figure | None:
    """The answer length given, else what a reply of the plan's duration brings at the speed that everyone gets."""
    if planned.request.output_tokens:
        return Figure(turns.value * planned.request.output_tokens, "computed", f"{planned.request.output_tokens:,} tokens an answer")
    step = decode_step(planned, planned.outcome.slots)
    if step is None:
        return None
    low, middle, high = (
        turns.value * planned.load.generate_seconds / each for each in (step.high or step.value, step.value, step.low or step.value)
    )
    return Figure(middle, step.grade, "seconds of a reply ÷ seconds of a decode step", low, high)


def _api(terms: Terms, asked: Figure, answers: Figure | None) -> Figure | None:
    if terms.api_output is None or answers is None:
        return None
    fixed = asked.value * (terms.api_input or 0.0) / _MILLION
    return _plus(_times(answers, terms.api_output / _MILLION), fixed)


def _break_even(purchase: float | None, running: Figure | None, api: Figure | None) -> tuple[Figure | None, bool]:
    """(months, never): the purchase ÷ what the machine saves each month."""
    if purchase is None or running is None or api is None:
        return None, False
    saved, most, least = (api.value - running.value, _high(api) - _low(running), _low(api) - _high(running))
    if saved <= 0:
        return None, True
    if purchase == 0:
        return None, False
    source = "purchase ÷ (the API's month − the machine's month)"
    if running.grade == api.grade == "computed":
        return Figure(purchase / saved, "computed", source), False
    return Figure(purchase / saved, "estimated", source, purchase / most, purchase / least if least > 0 else None), False


def _per_million(cost: Figure | None, tokens: Figure | None) -> Figure | None:
    if cost is None or tokens is None or tokens.value <= 0:
        return None
    grade = cost.grade if tokens.grade == "computed" else tokens.grade
    value = cost.value / tokens.value * _MILLION
    return Figure(
        value, grade, "cost of a month ÷ its answer tokens", _low(cost) / _high(tokens) * _MILLION, _high(cost) / _low(tokens) * _MILLION
    )


def _low(figure: Figure) -> float:
    return figure.value if figure.low is None else figure.low


def _high(figure: Figure) -> float:
    return figure.value if figure.high is None else figure.high


def _times(figure: Figure, factor: float) -> Figure:
    low, high = (None if end is None else end * factor for end in (figure.low, figure.high))
    return Figure(figure.value * factor, figure.grade, figure.source, low, high)


def _plus(figure: Figure, more: float) -> Figure:
    low, high = (None if end is None else end + more for end in (figure.low, figure.high))
    return Figure(figure.value + more, figure.grade, figure.source, low, high)


def _sentences(busy: float, turns: Figure, asked: Figure, answers: Figure | None, planned: Outline) -> list[str]:
    said = [f"At least one request is in flight for {units.percent(busy)} of all hours; {units.significant(turns.value)} turns a month."]
    if answers is not None:
        mark = "about " if answers.grade == "estimated" else ""
        said.append(
            f"{units.significant(asked.value / _MILLION)} million prompt tokens and {mark}{units.significant(answers.value / _MILLION)} million "
            "answer tokens a month at this duty cycle."
        )
    if planned.request.prompt_tokens is None:
        said.append("No prompt length was given: a usual one is taken for the prompts.")
    return said


def _unknown(month: Monthly, tariff: Tariff, purchase: float | None, answers: Figure | None, terms: Terms) -> list[str]:
    said = []
    if month.cost is None:
        said.append("the board power" if month.kwh is None and tariff.per_kwh is not None else "the price of a kWh")
    if purchase is None:
        said.append("the price of the machine")
    if answers is None:
        said.append("the length of an answer or the decode speed")
    if terms.api_output is None:
        said.append("an API's price per million answer tokens")
    return said
