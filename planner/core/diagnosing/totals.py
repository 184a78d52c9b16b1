"""Counts of tasks and tokens, whether or not the log has times."""

from dataclasses import dataclass, field

from planner.core.diagnosing.gathering import Values
from planner.core.logs.record import Task


@dataclass(slots=True)
class Totals:
    """Counts of tasks and tokens, whether or not the log has times. `prompts` and `outputs` are how many have a count of either."""

    tasks: int = 0
    finished: int = 0
    cancelled: int = 0
    refused: int = 0
    failed: int = 0
    cut: int = 0
    truncated: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    output_tokens: int = 0
    prompt_max: int = 0
    untimed: int = 0
    prompts: int = 0
    outputs: int = 0
    read_rates: Values = field(default_factory=Values)
    decode_rates: Values = field(default_factory=Values)
    held: list[tuple[float, Task]] = field(default_factory=list)
    held_s: float = 0.0
    held_count: int = 0

    def add(self, task: Task) -> None:
        self.tasks += 1
        if task.prefill_s is not None or task.generate_s is not None:
            self.finished += 1
        elif task.ending == "cancelled":
            self.cancelled += 1
        self.refused += task.ending == "refused"
        self.failed += task.ending == "failed"
        self.cut += task.ending == "cut"
        self.truncated += task.truncated
        self.prompt_max = max(self.prompt_max, task.prompt_tokens or 0, task.asked_tokens or 0)
        self.computed_tokens += task.computed_tokens or 0
        self.output_tokens += task.output_tokens or 0
        if task.prompt_tokens is not None and task.computed_tokens is not None:
            self.prompt_tokens += task.prompt_tokens
            self.cached_tokens += task.prompt_tokens - task.computed_tokens
            self.prompts += 1
        self.outputs += task.output_tokens is not None
        if task.launched_s is None:
            self._untimed(task)

    def _untimed(self, task: Task) -> None:
        """All that a task without times says of speeds: what its summary has, whatever ran beside."""
        self.untimed += 1
        if task.computed_tokens and task.prefill_s:
            self.read_rates.add(task.computed_tokens / task.prefill_s)
        if task.output_tokens is not None and task.output_tokens > 1 and task.generate_s:
            self.decode_rates.add((task.output_tokens - 1) / task.generate_s)
