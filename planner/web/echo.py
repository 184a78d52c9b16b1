"""What the plan made of each input, in a few words under its field: `8k` is shown as `8,192 tokens`."""

from planner.core import units
from planner.core.plan import Plan
from planner.core.workload import PRESETS


def model(plan: Plan) -> str:
    shape = plan.model.shape
    kinds = " + ".join(f"{group.layers} {group.kind}" for group in plan.cache.groups)
    parts = [f"{len(shape.layers)} layers ({kinds})" if len(plan.cache.groups) > 1 else f"{len(shape.layers)} layers", shape.model_type]
    if plan.model.parameters:
        parts.append(f"{units.trimmed(plan.model.parameters.value / 1e9)} B parameters")
    if shape.max_context:
        parts.append(f"up to {shape.max_context:,} tokens")
    return " · ".join(parts)


def weights(plan: Plan) -> str:
    if plan.weights is None:
        return ""
    each = f", {units.gib(plan.memory.size_of('weights'))} on the fullest card" if len(plan.node.devices) > 1 else ""
    return f"{plan.weights.format}, {units.gib(plan.weights.size_bytes)}{each}"


def device(plan: Plan) -> str:
    if len(plan.node.kinds) > 1:
        return " · ".join(f"{card.name}: {units.trimmed(card.memory_bytes / units.MIB, 0)} MiB" for card in plan.node.kinds)
    card = plan.node.device
    parts = [card.name]
    if card.nominal_gb:
        parts.append(f"{units.trimmed(card.nominal_gb)} GB on the box")
    parts.append(f"{units.trimmed(card.memory_bytes / units.MIB, 0)} MiB {_MEMORY_GRADE[card.memory_grade]}")
    if card.bandwidth_bytes_per_s:
        parts.append(f"{units.trimmed(card.bandwidth_bytes_per_s / 1e9, 0)} GB/s")
    return " · ".join(parts)


_MEMORY_GRADE = {"measured": "reported by its driver", "estimated": "assumed", "user": "as you typed"}


def context(plan: Plan) -> str:
    return f"{plan.request.context:,} tokens"


def usage(plan: Plan) -> str:
    return PRESETS[plan.request.usage].why


def duty_cycle(plan: Plan) -> str:
    load = plan.workload
    if load.always_in_flight:
        return f"{units.seconds(load.generate_seconds)} without a pause: everyone is always in flight"
    return f"{units.seconds(load.generate_seconds)} of every {units.seconds(load.turn_seconds)}"


def wait_target(plan: Plan) -> str:
    return f"at most {units.percent(plan.request.wait_target)} of turns"


def engine(plan: Plan) -> str:
    return f"{plan.engine.title} {plan.engine.version}"


def cache_type(plan: Plan) -> str:
    k, v = plan.engine.cache_type_k, plan.engine.cache_type_v
    return k if k == v else f"{k} keys, {v} values"


def gpu_memory(plan: Plan) -> str:
    return _size(plan.request.gpu_memory)


def ram(plan: Plan) -> str:
    return _size(plan.request.ram)


def reserved_memory(plan: Plan) -> str:
    return _size(plan.request.reserved_memory)


def weights_size(plan: Plan) -> str:
    return _size(plan.request.weights_size)


def cache_memory(plan: Plan) -> str:
    return _size(plan.request.cache_memory)


def _size(size_bytes: int | None) -> str:
    return units.size(size_bytes) if size_bytes else ""


def prompt_tokens(plan: Plan) -> str:
    return _tokens(plan.request.prompt_tokens)


def output_tokens(plan: Plan) -> str:
    return _tokens(plan.request.output_tokens)


def cached_share(plan: Plan) -> str:
    share = plan.request.cached_share
    return f"{units.percent(share)} of a prompt is not read again" if share else ""


def revision(plan: Plan) -> str:
    return f"at {plan.model.revision[:40]}" if plan.model.revision else ""


def _tokens(count: int | None) -> str:
    return f"{count:,} tokens" if count else ""
