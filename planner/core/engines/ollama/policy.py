"""The Ollama engine: llama.cpp's memory rules under Ollama's settings, and the families it serves one request at a time."""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from planner.core.engines.contract import Capacity, HandOver, Job, Room, StartUp
from planner.core.engines.llama_server.policy import LlamaServer
from planner.core.engines.llama_server.serving import Asked, Serving, asked, settled
from planner.core.engines.ollama.environment import Environment, parse
from planner.core.engines.ollama.families import family, one_at_a_time
from planner.core.engines.ollama.hand_over import hand_over
from planner.core.engines.ollama.start_up import OllamaStartUp
from planner.core.engines.ollama.versions import VERSIONS, bundled_build
from planner.core.errors import InputError
from planner.core.plan import Plan, Remark

CACHE_TYPES: Final = ("f16", "q8_0", "q4_0")
# -b and -ub get the same value: 512, or 1,024 and 2,048 where the device has room to spare. Source: Ollama fb30760 llm/server.go.
BATCH_TOKENS: Final = 512


@lru_cache(maxsize=1024)
def _child(asked: Asked) -> Serving:
    """The settings of the llama-server that Ollama starts for what is asked of it."""
    stated = parse(asked.engine_args)
    given = Environment() if asked.planned else stated
    context = given.context_length or asked.context_tokens
    slots = given.num_parallel or (1 if given.shapes_context else asked.slots)
    return settled(
        asked._replace(
            version=bundled_build(asked.version),
            engine_args=("-fa", "off") if stated.flash_attention is False else (),
            batch_tokens=BATCH_TOKENS,
            context_tokens=min(context, asked.shape.max_context or context),
            cache_type_k=stated.cache_type or asked.cache_type_k,
            cache_type_v=stated.cache_type or asked.cache_type_v,
            slots=1 if one_at_a_time(asked.shape) else slots,
            planned=False,
        )
    )


class Ollama(LlamaServer):
    """Starts llama-server with `-c context × parallel -np parallel`."""

    name: str = "ollama"
    title: str = "Ollama"
    versions: tuple[str, ...] = VERSIONS
    sets_batch: bool = False
    start_up: StartUp = OllamaStartUp()

    def settings(self, job: Job, slots: int, *, planned: bool = False) -> Serving:
        """The settings of the llama-server that Ollama starts. Variables in the job's command line win over the planner's choice."""
        return _child(asked(job, slots, planned=planned))

    def stated_batch_tokens(self, job: Job) -> int | None:  # noqa: ARG002 - no variable of Ollama has it
        return None

    def states_context(self, job: Job) -> bool:
        return parse(job.engine_args).shapes_context

    def check(self, job: Job) -> None:
        super().check(job)
        kinds = self.cache_types(job)
        for name in kinds:
            if name not in CACHE_TYPES:
                raise InputError(f"OLLAMA_KV_CACHE_TYPE knows {', '.join(CACHE_TYPES)}, and no “{name}”.", field="cache_type")
        if kinds[0] != kinds[1]:
            raise InputError(f"Ollama has one cache type for keys and values, not {kinds[0]} and {kinds[1]}.", field="cache_type")

    def room(self, job: Job) -> Room:
        found = super().room(job)
        return Room(1, "engine") if found.slots and one_at_a_time(job.shape) else found

    def capacity(self, job: Job) -> Capacity:
        found = super().capacity(job)
        if not one_at_a_time(job.shape):
            return found
        what = family(job.shape)
        remark = Remark(
            "ollama_one_at_a_time",
            f"Ollama serves {what} one request at a time, whatever OLLAMA_NUM_PARALLEL says: everyone else waits.",
            "engine",
        )
        remarks = (remark, *found.remarks)
        if not found.slots:
            return replace(found, remarks=remarks)
        return Capacity(1, "engine", f"Ollama serves {what} one request at a time, however much memory there is.", remarks)

    def hand_over(self, plan: Plan, job: Job) -> HandOver:
        return hand_over(plan, job, self)
