"""The simulator's inputs: those of a plan that a load depends on, what a run adds to them, and the rest of the plan folded away."""

from typing import Final

from planner.core.simulation import policies
from planner.web.inputs import GROUPS as PLAN_GROUPS
from planner.web.inputs import Choice, Group, Input

SWEEP: Final = "sweep"

_POLICIES: Final = (Choice("", "The plan’s own engine"), *(Choice(name, policy.title) for name, policy in policies().items()))
_ARRIVALS: Final = (
    Choice("", "Send, read, think, send again"),
    Choice("poisson", "Independently, whatever was answered"),
    Choice("agents", "Agents: again at once"),
)
_TOGETHER: Final = (Choice("", "At moments of their own"), Choice("yes", "All at the same moment"))

_OF_THE_PLAN: Final = {item.name: item for group in PLAN_GROUPS for item in group.inputs}
_ALONGSIDE: Final = (
    Group("machine", "Model and machine", tuple(_OF_THE_PLAN[name] for name in ("model", "device", "count"))),
    Group(
        "load",
        "Load",
        (
            *(_OF_THE_PLAN[name] for name in ("users", "context", "usage", "prompt_tokens", "output_tokens", "think_seconds")),
            Input("arrivals", "They send", choices=_ARRIVALS),
        ),
    ),
    Group(
        "server",
        "Server",
        (
            Input("policy", "Scheduler", hint="Who is read and who waits: an engine’s own rules, or two to compare with.", choices=_POLICIES),
            Input("batch", "Tokens of a pass", "the plan’s", hint="n_batch, max_num_batched_tokens: long passes make long pauses.", numeric=True),
            _OF_THE_PLAN["slots"],
            Input("max_queue", "Longest queue", "no limit", hint="Whoever comes later is refused.", numeric=True, width="half"),
        ),
    ),
    Group(
        "run",
        "Run",
        (
            Input("duration", "Simulated time", "14400", unit="s", hint="Empty: four hours.", numeric=True, width="half"),
            Input("seed", "Seed", "0", hint="The same seed, the same run.", numeric=True, width="half"),
            Input(SWEEP, "Sweep", "batch=256,512,1024", hint="A run for each value of any number here, by its name in the address."),
        ),
    ),
)  # fmt: skip
_FOLDED: Final = (
    Group(
        "turns",
        "Turns that differ",
        (
            Input("variation", "Variation", "1", hint="Deviation over mean; 0: all alike.", numeric=True, width="half"),
            Input("conversation_turns", "Turns of a conversation", "1", hint="Its history grows.", numeric=True, width="half"),
            Input("long_share", "Long prompts", "0%", hint="Share of the turns.", width="half"),
            Input("long_tokens", "Tokens of one", "20k", unit="tokens", width="half"),
            Input("image_share", "Turns with an image", "0%", hint="Share of the turns.", width="half"),
            Input("image_tokens", "Tokens of one", "1000", unit="tokens", width="half"),
            Input("shared_tokens", "Shared beginning", "0", unit="tokens", hint="A system prompt.", numeric=True, width="half"),
            Input("together", "They begin", choices=_TOGETHER, width="half"),
        ),
        folded=True,
    ),
)

_SHOWN: Final = frozenset(item.name for group in _ALONGSIDE for item in group.inputs)
_REST: Final = tuple(
    Group(group.name + "-of-plan", group.title, left, folded=True)
    for group in PLAN_GROUPS
    if (left := tuple(item for item in group.inputs if item.name not in _SHOWN))
)

GROUPS: Final = (*_ALONGSIDE, *_FOLDED, *_REST)
LABELS: Final = {item.name: item.label for group in GROUPS for item in group.inputs}
