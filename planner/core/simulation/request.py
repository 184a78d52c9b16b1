"""SimulationRequest: the plan's question, and how it is to be tried. All there is to store or share of a simulation."""

from typing import Annotated, Final, Literal

from pydantic import Field

from planner.core.request import FIELDS as PLAN_FIELDS
from planner.core.request import NUMBER, Count, Duration, PlanRequest, Share, Tokens

PolicyChoice = Literal["llama-server", "vllm", "ollama", "static", "serial"]

DEFAULT_DURATION_S: Final = 4 * 3600.0


class SimulationRequest(PlanRequest):
    """A PlanRequest whose machine and model are tried under a load. `None` is “as the plan has it”.

    `variation` is the coefficient of variation of prompts and answers (0: all alike). `conversation_turns` turns on average
    make a conversation whose history grows; the prompt tokens are then those of one turn. `long_share` of the turns have
    `long_tokens` new tokens instead, `image_share` of them `image_tokens` more. `shared_tokens` begin everybody's prompt.
    `together` lets everyone send at once at the beginning.
    """

    policy: PolicyChoice | None = None
    batch: Annotated[Count, Field(ge=1, le=1_048_576)] | None = None
    max_queue: Annotated[Count, Field(ge=0, le=1_000_000)] | None = None
    arrivals: Literal["closed", "poisson", "agents"] = "closed"
    duration: Duration = DEFAULT_DURATION_S
    seed: Annotated[Count, Field(ge=0, le=2**63)] = 0
    variation: Annotated[float, NUMBER, Field(ge=0, le=10, allow_inf_nan=False)] = 1.0
    conversation_turns: Annotated[float, NUMBER, Field(ge=1, le=10_000, allow_inf_nan=False)] = 1.0
    long_share: Share = 0.0
    long_tokens: Tokens = 20_000
    image_share: Share = 0.0
    image_tokens: Tokens = 1_000
    shared_tokens: Annotated[Count, Field(ge=0, le=10_000_000)] = 0
    together: bool = False


FIELDS: Final = tuple(name for name in SimulationRequest.model_fields if name not in PLAN_FIELDS)
