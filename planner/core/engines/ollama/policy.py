"""The Ollama engine: llama.cpp's memory rules under Ollama's settings, and the families it serves one request at a time."""

from dataclasses import replace
from typing import Final

from planner.core.engines.contract import Capacity, HandOver, Job
from planner.core.engines.llama_server.architecture import architecture
from planner.core.engines.llama_server.policy import LlamaServer
from planner.core.engines.llama_server.serving import Serving, serving
from planner.core.engines.ollama.environment import Environment, parse
from planner.core.engines.ollama.hand_over import hand_over
from planner.core.errors import InputError
from planner.core.plan import Plan, Remark

# The snapshot of the sources that were read, and the llama.cpp build it bundles.
VERSION: Final = "2026-08 (fb30760)"
BUNDLED: Final = "b10488"
CACHE_TYPES: Final = ("f16", "q8_0", "q4_0")
# -b and -ub get the same value: 512, or 1,024 and 2,048 where the device has room to spare. Source: Ollama fb30760 llm/server.go.
BATCH_TOKENS: Final = 512
# Source: Ollama fb30760 server/sched.go, the architectures whose parallelism is set to 1.
ONE_AT_A_TIME: Final = frozenset((
    "mllama", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "nemotron_h_omni",
))  # fmt: skip


def one_at_a_time(job: Job) -> bool:
    return architecture(job.shape) in ONE_AT_A_TIME or job.shape.model_type.startswith("mllama")


class Ollama(LlamaServer):
    """Starts llama-server with `-c context × parallel -np parallel`."""

    name: str = "ollama"
    title: str = "Ollama"
    versions: tuple[str, ...] = (VERSION,)

    def settings(self, job: Job, slots: int, *, planned: bool = False) -> Serving:
        """The settings of the llama-server that Ollama starts. Variables in the job's command line win over the planner's choice."""
        if job.version.strip() not in {VERSION, "auto", ""}:
            raise InputError(
                f"Ollama “{job.version.strip()[:40]}” is not known here: the sources that were read are {VERSION}.", field="engine_version"
            )
        given = Environment() if planned else parse(job.engine_args)
        types = parse(job.engine_args).cache_type
        context = given.context_length or job.context_tokens
        asked = given.num_parallel or (1 if given.shapes_context else slots)
        child = replace(
            job,
            version=BUNDLED,
            engine_args=("-fa", "off") if parse(job.engine_args).flash_attention is False else (),
            batch_tokens=BATCH_TOKENS,
            context_tokens=min(context, job.shape.max_context or context),
            cache_type_k=types or job.cache_type_k,
            cache_type_v=types or job.cache_type_v,
        )
        return serving(child, 1 if one_at_a_time(job) else asked)

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

    def capacity(self, job: Job) -> Capacity:
        found = super().capacity(job)
        if not one_at_a_time(job):
            return found
        what = architecture(job.shape) or job.shape.model_type
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
