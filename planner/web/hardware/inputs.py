"""The inputs of the hardware table: what is needed, what may be bought, and at which price."""

from typing import Final

from planner.core.comparing.scope import MAX_DEVICES
from planner.core.economics import MONTHS
from planner.web.inputs import GROUPS as PLAN_GROUPS
from planner.web.inputs import Choice, Group, Input

_OF_THE_PLAN: Final = {item.name: item for group in PLAN_GROUPS for item in group.inputs}
# A row of the table is a machine of its own: these inputs of a plan are about one that was chosen.
OF_ONE_MACHINE: Final = ("device", "count", "gpu_memory", "reserved_memory", "tensor_parallel", "pipeline_parallel")

_SINGLE: Final = (Choice("", "Any size"), Choice("yes", "One slot of the case"))
_EVERY: Final = (Choice("", "The best of each machine"), Choice("yes", "Every combination"))

NEED: Final = Group(
    "need",
    "What is needed",
    tuple(_OF_THE_PLAN[name] for name in ("model", "users", "context", "usage")),
)
LIMITS: Final = Group(
    "limits",
    "What it may take",
    (
        Input("max_price", "At most", "no limit", hint="To buy, in the currency of your prices.", numeric=True, width="half"),
        Input("max_watts", "Board power", "no limit", unit="W", numeric=True, width="half"),
        Input("min_slots", "Slots that fit", "any", hint="At the full context.", numeric=True, width="half"),
        Input("single_slot", "Width", choices=_SINGLE, width="half"),
        Input("every", "Rows", choices=_EVERY),
    ),
)
MACHINES: Final = Group(
    "machines",
    "Machines",
    (
        Input("have", "What you have", "e.g. rtx-3090 or 2x3090", hint="It need not be bought.", width="half"),
        Input("device", "Only these", "all", hint=f"Names, at most {MAX_DEVICES}.", width="half"),
        Input("count", "How many of each", "1, 2, 4, 8", width="half"),
        Input("chosen", "In the charts", "the best four", hint="Names of devices.", width="half"),
    ),
)
POWER: Final = Group(
    "power",
    "Electricity",
    (
        Input("kwh_price", "A kWh costs", "e.g. 0.30", hint="In the currency of your prices.", numeric=True, width="half"),
        Input("hours", "People are there", "24", unit="h a day", numeric=True, width="half"),
    ),
)
TURNS: Final = Group(
    "turns",
    "Tokens instead of seconds",
    tuple(
        _OF_THE_PLAN[name]
        for name in ("generate_seconds", "turn_seconds", "prompt_tokens", "output_tokens", "think_seconds", "cached_share")
    ),
    folded=True,
)

_SHOWN: Final = frozenset(item.name for group in (NEED, TURNS) for item in group.inputs) | frozenset(OF_ONE_MACHINE)
_REST: Final = tuple(
    Group(f"{group.name}-of-plan", group.title, left, folded=True)
    for group in PLAN_GROUPS
    if group.name != "files" and (left := tuple(item for item in group.inputs if item.name not in _SHOWN))
)

GROUPS: Final = (NEED, LIMITS, MACHINES, POWER, TURNS, *_REST)

# What the note takes beside the table's own inputs.
OWNING: Final = Group(
    "owning",
    "Owning it",
    (
        Input("api_input", "An API’s prompts", "e.g. 0.20", unit="a million", numeric=True, width="half"),
        Input("api_output", "Its answers", "e.g. 0.80", unit="a million", numeric=True, width="half"),
        Input("months", "Spread over", f"{MONTHS}", unit="months", numeric=True, width="half"),
        Input("idle_watts", "Meter, idle", "not measured", unit="W", numeric=True, width="half"),
        Input("busy_watts", "Meter, busy", "not measured", unit="W", numeric=True, width="half"),
    ),
)
BESIDE: Final = Input(
    "beside", "What else it carries", "e.g. bge-m3, desktop", hint="bge-m3, whisper-small, desktop, mmproj, NAME=SIZE, draft=MODEL …"
)
