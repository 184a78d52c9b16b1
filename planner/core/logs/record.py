"""What a log says, whatever engine wrote it: requests, samples, notices and start-up facts, in the order of the file.

All times are seconds on one axis that starts with the log and never runs backwards: a restart goes on where the run before it
ended. `None` is what the log does not print.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Ending = Literal["finished", "cancelled", "refused", "failed", "cut"]
SlotChoice = Literal["lru", "similarity", "id"]


class Mark(NamedTuple):
    """A progress line of a request: how many tokens were read (`prefill`) or generated since its start, and when it said so."""

    at_s: float
    tokens: int
    prefill: bool


# Not frozen: that takes five times as long to make, and a log makes hundreds of thousands. Nobody changes one.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Task:
    """One request, from the moment it got its slot. `number` is the server's own, `run` counts starts of the server in the log.

    `arrived_s` is when the request came, where the log says it (Ollama's access lines).
    `launched_s` is not when the request came: that it waited for a slot before is not printed. `prompt_tokens` is the whole prompt,
    `computed_tokens` what of it was not in the cache; `prefill_s` and `generate_s` are the summary's own figures, both with the
    passes that others took part in, and without any wait before the first pass. `similarity` is the cached share of the prompt at
    the choice of the slot. `asked_tokens` is the prompt of a request that was refused as too long.
    `ending`: "refused" too long, or by a full cache before its prompt was read; "failed" an error in mid-answer; "cut" the log ends first.
    `marks` are thinned to at most a few hundred; the first and the last are kept, and those around a stall.
    """

    number: int
    run: int
    slot: int
    line: int
    ending: Ending
    arrived_s: float | None = None
    launched_s: float | None = None
    released_s: float | None = None
    prompt_tokens: int | None = None
    computed_tokens: int | None = None
    output_tokens: int | None = None
    asked_tokens: int | None = None
    prefill_s: float | None = None
    generate_s: float | None = None
    truncated: bool = False
    choice: SlotChoice | None = None
    similarity: float | None = None
    draft_accepted: int | None = None
    draft_generated: int | None = None
    summary_s: float | None = None
    marks: tuple[Mark, ...] = ()

    @property
    def started_s(self) -> float | None:
        """When its first pass began: the summary's moment less what it counts. Raises nothing; None without timestamps or summary."""
        if self.summary_s is None or self.prefill_s is None:
            return None
        return self.summary_s - self.prefill_s - (self.generate_s or 0.0)

    @property
    def first_token_s(self) -> float | None:
        """When its prompt was read and the first token came."""
        return None if self.summary_s is None or self.generate_s is None else self.summary_s - self.generate_s

    @property
    def cached_tokens(self) -> int | None:
        if self.prompt_tokens is None or self.computed_tokens is None:
            return None
        return self.prompt_tokens - self.computed_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A periodic line of vLLM's loggers: the state of the server at a moment. Rates are tokens per second, shares 0 to 1.

    `engine` counts from 0 where several share the work (data parallel). With `step_s` it is the line of a single step that took so
    long, as vLLM prints it when asked to; without, its rates are means since the line before.
    """

    at_s: float | None
    engine: int = 0
    step_s: float | None = None
    running: int | None = None
    waiting: int | None = None
    prompt_rate: float | None = None
    generation_rate: float | None = None
    cache_share: float | None = None
    prefix_hit_share: float | None = None
    preemptions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A line that reports trouble by itself. `code` is one of NOTICES; `value` the figure in it, where it has one."""

    code: str
    line: int
    at_s: float | None = None
    task: int | None = None
    value: float | None = None


# What each code of a notice stands for.
NOTICES = {
    "too_long": "a prompt longer than a slot's context was refused",
    "truncated_input": "a prompt was cut to fit",
    "pool_full": "the shared KV cache had no room left for a pass",
    "context_exceeded": "a request failed in mid-answer because the cache or its context was full",
    "context_shift": "the beginning of a conversation was thrown away to go on",
    "purged_slot": "an idle conversation was thrown out of the cache to make room",
    "cache_ram_full": "a conversation was thrown out of the prompt cache in main memory",
    "checkpoint_erased": "a context checkpoint was thrown away",
    "full_reprocess": "a whole prompt was read again because the cache could not be rolled back",
    "whole_prompt_cached": "the whole prompt was in the cache",
    "cancelled": "a client went away",
    "queue_full": "a request was refused because the queue was full",
    "timeout": "a request or a start took too long and was given up",
    "out_of_memory": "memory ran out",
    "preempted": "a running request lost its cache and is computed again",
    "layers_on_cpu": "layers were left on the CPU",
    "start_failed": "the server refused to start",
    "http_error": "a request was answered with an error",
    "swapping": "the machine moved memory to the disk or back",
}  # fmt: skip


@dataclass(slots=True)
class Facts:
    """What the server said about itself at the (last) start, by the names of interfaces: numbers and words as printed.

    llama-server and Ollama: `version`, `model`, `n_slots`, `n_ctx_slot`, `n_ctx`, `kv_unified`, `kv` (a list of caches: kind, cells,
    layers, streams, k_type, v_type, k_mib, v_mib), `kv_mib`, `recurrent_mib`, `compute_mib`, `output_mib`, `threads`, `layers_on_gpu`,
    `layers`, `adapters`, `n_batch`, `n_ubatch`, `n_seq_max`, `flash_attn`, `cache_ram_mib`, `commit`, `n_layer`, and `first_clock_s`, what
    the server's clock said at second 0. For every engine `also` names others whose lines stand in the same log. Ollama beside them its own settings (`num_parallel`, `max_queue`, `context_length`, `kv_cache_type` …),
    `n_batch`, `weights_mib`, `weights_cpu_mib`, `devices`, `model_loads`, `load_s`. vLLM: `version`, `model`, `device`,
    `kv_cache_tokens`, `max_concurrency`, `max_model_len`, `available_kv_gib`, `needed_kv_gib`, `weights_gib`, `num_blocks`,
    `block_size`, `max_num_batched_tokens`, `failure` (the word for a start that failed), and the non-default arguments it lists.
    `starts` counts starts in the log.
    """

    engine: str = ""
    format: str = ""
    starts: int = 0
    values: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Counts:
    """What was read: `unparsed_lines` belong to the engine (or look like it) and were not understood; `other_lines` are foreign.

    `backwards` counts jumps back in time that no restart explains, `cut_lines` lines cut at the bound on their length.
    """

    lines: int = 0
    bytes: int = 0
    unparsed_lines: int = 0
    other_lines: int = 0
    cut_lines: int = 0
    backwards: int = 0
    unparsed_examples: list[str] = field(default_factory=list)
