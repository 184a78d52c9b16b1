"""What the answered tasks would have taken alone: counts while the log is read, seconds once its speeds are known."""

from planner.core.diagnosing.diagnosis import Breakdown
from planner.core.logs.record import Task
from planner.core.simulation import PassCost
from planner.core.simulation.cost import attended_pairs

# Prompts up to this length are counted by length, because a pass costs at least one reading of the weights.
_SHORT = 2_048


class OwnWork:
    """Sums over tasks with a summary; `seconds` turns them into the breakdown of what was measured."""

    __slots__ = ("_long_tokens", "_pairs", "_short", "context", "generated_s", "read_s", "read_tokens", "steps", "tasks", "waited_s")

    def __init__(self) -> None:
        self.tasks = self.steps = self.context = self.read_tokens = 0
        self.generated_s = self.read_s = self.waited_s = 0.0
        self._pairs = 0.0
        self._short: dict[int, int] = {}
        self._long_tokens = 0

    def add(self, task: Task, *, waited_s: float) -> None:
        computed, output = task.computed_tokens or 0, task.output_tokens or 0
        before = task.cached_tokens or 0
        prompt = before + computed
        steps = max(0, output - 1)
        self.tasks += 1
        self.steps += steps
        # Step k attends to the prompt and the k tokens generated before it.
        self.context += steps * prompt + steps * (steps - 1) // 2
        self.read_tokens += computed
        self._pairs += attended_pairs(before, computed)
        if computed <= _SHORT:
            self._short[computed] = self._short.get(computed, 0) + 1
        else:
            self._long_tokens += computed
        self.generated_s += task.generate_s or 0.0
        self.read_s += task.prefill_s or 0.0
        self.waited_s += waited_s

    def generation_s(self, cost: PassCost) -> float:
        return self.steps * cost.step_seconds(1) + self.context * cost.cached_token_s

    def prefill_s(self, cost: PassCost, micro_batch_tokens: int) -> float:
        short = sum(
            count * max(cost.step_s * -(-tokens // micro_batch_tokens), cost.token_s * tokens)
            for tokens, count in self._short.items()
            if tokens
        )
        long_token = max(cost.token_s, cost.step_s / micro_batch_tokens)
        return short + self._long_tokens * long_token + self._pairs * cost.attention_s

    def breakdown(self, cost: PassCost, micro_batch_tokens: int) -> Breakdown | None:
        """Contention is what remains of the measured seconds; None without a task."""
        if not self.tasks:
            return None
        generation, prefill = self.generation_s(cost), self.prefill_s(cost, micro_batch_tokens)
        measured = self.generated_s + self.read_s
        # A fit may exceed what was measured by its noise: the parts then share it.
        over = (generation + prefill) / measured if measured else 1.0
        if over > 1:
            generation, prefill = generation / over, prefill / over
        return Breakdown(generation, prefill, max(0.0, measured - generation - prefill), self.waited_s)
