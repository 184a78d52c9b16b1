"""How many parameters a model has, part by part, from its config.json."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParameterCount:
    """Parameters of a model. `total` includes everything the checkpoint stores; `active` is what one token uses.

    Of the total: `embedding` is the input table, `output` the lm_head (0 when tied to it), `experts` all routed experts,
    of which `active_experts` serve one token, and `towers` the vision and audio encoders.
    `exact` says that every weight is accounted for; else the total lies between `low` and `high`, and `why` says why.
    """

    total: int
    active: int
    embedding: int
    output: int
    experts: int
    active_experts: int
    towers: int
    exact: bool
    low: int
    high: int
    why: str

    @property
    def body(self) -> int:
        """Everything in the layers but the routed experts."""
        return self.total - self.embedding - self.output - self.experts - self.towers
