"""Why a plan has its slots, its context, its queue: sentences in the plan's own numbers, the same for every engine."""

from planner.core import units
from planner.core.plan import Plan


def count(number: int, noun: str) -> str:
    """`1 slot`, `1,024 slots`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def people(plan: Plan) -> str:
    load = plan.workload
    return f"{count(load.users, 'user')} who generate for {units.seconds(load.generate_seconds)} in every turn of {units.seconds(load.turn_seconds)}"


def slots_why(plan: Plan) -> str:
    """Why this many slots: those people need, those that fit, or those that were asked for."""
    fit = plan.fit
    waits = f"{units.percent(fit.chosen.wait_probability)} of turns wait, {units.seconds(fit.chosen.mean_wait_seconds)} on average over all turns"
    if plan.request.slots:
        return f"The {count(fit.slots, 'slot')} you asked for: {waits}."
    if fit.slots >= fit.slots_needed:
        target = units.percent(plan.request.wait_target)
        return f"{count(fit.slots, 'slot')} keep the share of turns that wait within {target} for {people(plan)}: {waits}."
    binds = "the engine serves no more at once" if fit.limit == "engine" else f"no more fit ({fit.inequality.rstrip('.')})"
    return f"{count(fit.slots, 'slot')} of the {fit.slots_needed:,} you would need, because {binds}: {waits}."


def context_why(plan: Plan) -> str:
    """Why this context: what one conversation of it costs."""
    return (
        f"Your {plan.fit.context_per_slot:,} tokens per conversation, prompt and answer together: "
        f"{units.size(plan.cache.request_bytes)} of cache for each one."
    )


def cache_type_why(plan: Plan) -> str:
    return (
        f"You chose this cache type: {units.size(plan.cache.bytes_per_token)} per token and "
        f"{units.size(plan.cache.request_bytes)} per conversation of {plan.fit.context_per_slot:,} tokens."
    )


def verdict(plan: Plan) -> str:
    fit = plan.fit
    word = {"fits": "fits", "tight": "is tight", "does_not_fit": "does not fit"}[fit.verdict]
    return f"The plan {word}: {count(fit.slots_that_fit, 'slot')} of {fit.context_per_slot:,} tokens fit, and the work needs {fit.slots_needed:,}."


def head(plan: Plan, *, origin: str = "") -> list[str]:
    """What every file begins with: engine and version, the plan in two sentences, and where it came from."""
    lines = [
        f"{plan.engine.title} {plan.engine.version} · {plan.model.id} on {plan.node.title}",
        f"{count(plan.fit.slots, 'slot')} × {plan.fit.context_per_slot:,} tokens for {people(plan)}. {verdict(plan)}",
    ]
    return [*lines, f"Made by Slotwise. {origin}".rstrip()]
