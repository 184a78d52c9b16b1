"""The planner's inputs as data: what each is called, what to type, and what was understood."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from planner.core import units
from planner.core.engines import engines
from planner.core.plan import Plan
from planner.core.request import Usage
from planner.core.workload import PRESETS
from planner.web import echo
from planner.web.asking import Outcome

Understood = Callable[[Plan], str]


@dataclass(frozen=True, slots=True)
class Choice:
    """`preset` is what the choice fills other inputs with, by their names."""

    value: str
    label: str
    preset: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """One input. `example` stands in the empty field; `unit` after it; `suggestions` names the list it may be picked from.

    `understood` says in words what the plan made of it.
    """

    name: str
    label: str
    example: str = ""
    unit: str = ""
    hint: str = ""
    choices: tuple[Choice, ...] = ()
    suggestions: str = ""
    numeric: bool = False
    width: str = "whole"
    understood: Understood | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Inputs that belong together. `folded`: under “More”."""

    name: str
    title: str
    inputs: tuple[Input, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """An input with its value as typed, its error, and what was understood."""

    input: Input
    value: str
    error: str
    note: str
    placeholder: str = ""

    @property
    def id(self) -> str:
        return f"in-{self.input.name}"


@dataclass(frozen=True, slots=True)
class FieldGroup:
    group: Group
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """The groups in order; `kept` are inputs that were given but have no field, carried along; `problems` have no field either."""

    groups: tuple[FieldGroup, ...]
    kept: Mapping[str, str]
    problems: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for group in self.groups for field in group.fields)

    @property
    def more_open(self) -> bool:
        return any(field.error for group in self.more for field in group.fields)

    @property
    def more_used(self) -> str:
        """The folded inputs that are in use: `Engine vllm, Patience 10`."""
        return ", ".join(f"{field.input.label} {field.value[:40]}" for group in self.more for field in group.fields if field.value)

    @property
    def main(self) -> tuple[FieldGroup, ...]:
        return tuple(group for group in self.groups if not group.group.folded)

    @property
    def more(self) -> tuple[FieldGroup, ...]:
        return tuple(group for group in self.groups if group.group.folded)


def _duty_cycle(usage: str) -> tuple[tuple[str, str], ...]:
    """What an empty duty cycle stands for under a kind of use."""
    preset = PRESETS.get(cast("Usage", usage))
    if preset is None:
        return ()
    return ("generate_seconds", units.trimmed(preset.generate_seconds)), ("turn_seconds", units.trimmed(preset.turn_seconds))


_USAGES: Final = tuple(Choice(name, preset.title, _duty_cycle(name)) for name, preset in PRESETS.items())
_IMAGES: Final = (Choice("", "Text only"), Choice("yes", "Served"))
_ENGINES: Final = (Choice("", "Choose for me"), *(Choice(name, engine.title) for name, engine in engines().items()))

GROUPS: Final = (
    Group(
        "model",
        "Model",
        (
            Input("model", "Model", "Qwen/Qwen3-8B", hint="A name from the list, or any Hugging Face id or address.",
                  suggestions="models", understood=echo.model),
            Input("weights_quant", "Weight format", "as published", hint="Q4_K_M, awq, fp8 …", suggestions="formats", understood=echo.weights),
        ),
    ),
    Group(
        "machine",
        "Machine",
        (
            Input("device", "Device", "rtx-4090", hint="The exact name: an A100 of 40 GB is not one of 80 GB.",
                  suggestions="devices", width="most", understood=echo.device),
            Input("count", "Cards", "1", numeric=True, width="rest"),
        ),
    ),
    Group(
        "team",
        "Team",
        (
            Input("users", "Users", "20", numeric=True, width="rest"),
            Input("context", "Context of each", "8k", unit="tokens", hint="8192 or 8k", width="most", understood=echo.context),
            Input("usage", "Use", choices=_USAGES, understood=echo.usage),
            Input("generate_seconds", "Generating", unit="s of every", numeric=True, width="half"),
            Input("turn_seconds", "Turn to turn", unit="s", numeric=True, width="half", understood=echo.duty_cycle),
        ),
    ),
    Group(
        "lengths",
        "Tokens instead of seconds",
        (
            Input("prompt_tokens", "Prompt", "2000", unit="tokens", width="half", understood=echo.prompt_tokens),
            Input("output_tokens", "Answer", "400", unit="tokens", width="half", understood=echo.output_tokens),
            Input("think_seconds", "Until the next turn", unit="s", numeric=True, width="half"),
            Input("cached_share", "Prompt cached", "0%", width="half", understood=echo.cached_share),
        ),
        folded=True,
    ),
    Group(
        "by-hand",
        "Not in the lists: figures by hand",
        (
            Input("gpu_memory", "Memory of one GPU", "e.g. 24564MiB", hint="Alone, or over the device’s.", width="half", understood=echo.gpu_memory),
            Input("ram", "Main memory", "e.g. 32GiB", hint="Alone: no GPU.", width="half", understood=echo.ram),
            Input("ram_bandwidth", "Its bandwidth", "e.g. 60", unit="GB/s", hint="Of the main memory.", numeric=True, width="half"),
            Input("reserved_memory", "Left to others", "e.g. 1.3GiB", hint="Of the first card: a desktop.", width="half", understood=echo.reserved_memory),
            Input("weights_size", "Weights", "e.g. 16.4GB", hint="The size of the files.", width="half", understood=echo.weights_size),
            Input("bytes_per_token", "Cache per token", unit="B", hint="For a model nobody knows yet.", numeric=True, width="half"),
            Input("revision", "Revision", "main", hint="Branch, tag or commit on the Hub.", understood=echo.revision),
        ),
        folded=True,
    ),
    Group(
        "service",
        "Waiting and speed",
        (
            Input("wait_target", "Turns that may wait", "5%", width="half", understood=echo.wait_target),
            Input("patience", "Patience", "30", unit="s", hint="Bounds the queue.", numeric=True, width="half"),
            Input("pause_target", "Longest pause", "1", unit="s", hint="Bounds the tokens of a pass.", numeric=True, width="half"),
            Input("slots", "Slots", "chosen", hint="0 or empty: as many as needed.", numeric=True, width="half"),
            Input("prefill_rate", "Prefill, measured", unit="tokens/s", numeric=True, width="half"),
            Input("decode_rate", "Decode, measured", unit="tokens/s", numeric=True, width="half"),
        ),
        folded=True,
    ),
    Group(
        "engine",
        "Engine and cache",
        (
            Input("engine", "Engine", choices=_ENGINES, width="half", understood=echo.engine),
            Input("engine_version", "Version", "newest known", hint="Or what --version prints.", width="half"),
            Input("cache_type", "Cache type", "the engine’s own", hint="f16, q8_0, fp8 …", width="half", understood=echo.cache_type),
            Input("memory_utilization", "vLLM’s share", "0.92", width="half"),
            Input("cache_type_k", "Keys only", "as above", width="half"),
            Input("cache_type_v", "Values only", "as above", width="half"),
            Input("tensor_parallel", "Tensor parallel", "all cards", numeric=True, width="half"),
            Input("pipeline_parallel", "Pipeline stages", "1", numeric=True, width="half"),
            Input("cache_memory", "Known cache pool", "e.g. 6.2GiB", hint="From vLLM’s start-up.", width="half", understood=echo.cache_memory),
            Input("engine_args", "Command line as it is", "e.g. -c 32768 -np 4 -ctk q8_0", hint="Its values win over the plan’s; choose the engine too."),
        ),
        folded=True,
    ),
    Group(
        "adapters",
        "Adapters and images",
        (
            Input("adapters", "Adapters", "0", numeric=True, width="half"),
            Input("switch_seconds", "A change takes", unit="s", numeric=True, width="half"),
            Input("images", "Images", hint="For a model that can see.", choices=_IMAGES),
        ),
        folded=True,
    ),
    Group(
        "files",
        "What stands in the files",
        (
            Input("model_path", "Model path", "chosen for the engine"),
            Input("host", "Host", "127.0.0.1", width="half"),
            Input("port", "Port", "8000", numeric=True, width="half"),
        ),
        folded=True,
    ),
)  # fmt: skip


def form(outcome: Outcome, groups: tuple[Group, ...] = GROUPS) -> Form:
    plan = outcome.answer.plan if outcome.answer else None
    shown = {item.name for group in groups for item in group.inputs}
    return Form(
        groups=tuple(FieldGroup(group, tuple(_field(item, outcome, plan) for item in group.inputs)) for group in groups),
        kept={name: value for name, value in outcome.typed.items() if name not in shown and name not in outcome.errors},
        problems=tuple(sentence for name, sentence in outcome.errors.items() if name not in {*shown, "config"}),
    )


def _field(item: Input, outcome: Outcome, plan: Plan | None) -> Field:
    value = outcome.typed.get(item.name, "")
    note = item.understood(plan) if item.understood and plan else ""
    example = dict(_duty_cycle(outcome.typed.get("usage", "chat"))).get(item.name, item.example)
    return Field(item, value, outcome.errors.get(item.name, ""), note, example)
