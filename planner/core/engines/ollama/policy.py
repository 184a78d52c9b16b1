"""The Ollama engine: llama.cpp's memory rules under Ollama's settings, and the families it serves one request at a time."""

from dataclasses import replace
from typing import Final

from planner.core.engines.contract import Capacity, HandOver, Job
from planner.core.engines.llama_server.layout import family
from planner.core.engines.llama_server.policy import LlamaServer
from planner.core.engines.llama_server.serving import Serving, serving
from planner.core.engines.ollama.hand_over import hand_over
from planner.core.errors import InputError
from planner.core.plan import Plan, Remark

# The snapshot of the sources that were read, and the llama.cpp build it bundles.
VERSION: Final = "2026-08 (fb30760)"
BUNDLED: Final = "b10488"
CACHE_TYPES: Final = ("f16", "q8_0", "q4_0")
# Source: Ollama fb30760 server/sched.go, the architectures whose parallelism is set to 1.
ONE_AT_A_TIME: Final = frozenset((
    "mllama", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe", "nemotronh", "nemotronhmoe", "nemotronhomni",
))  # fmt: skip


def one_at_a_time(job: Job) -> bool:
    return family(job.shape).replace("qwen36", "qwen35") in ONE_AT_A_TIME


class Ollama(LlamaServer):
    """Starts llama-server with `-c context × parallel -np parallel`."""

    name: str = "ollama"
    title: str = "Ollama"
    versions: tuple[str, ...] = (VERSION,)

    def settings(self, job: Job, slots: int, *, planned: bool = False) -> Serving:
        if job.version.strip() not in {VERSION, "auto", ""}:
            raise InputError(
                f"Ollama “{job.version[:40]}” is not known here: the sources that were read are {VERSION}.", field="engine_version"
            )
        if job.engine_args:
            raise InputError(
                "Ollama has no command line to divide the memory with: its settings are environment variables.", field="engine_args"
            )
        return serving(replace(job, version=BUNDLED), 1 if one_at_a_time(job) else slots, planned=planned)

    def check(self, job: Job) -> None:
        LlamaServer.check(self, job)
        for name in self.cache_types(job):
            if name not in CACHE_TYPES:
                raise InputError(f"OLLAMA_KV_CACHE_TYPE knows {', '.join(CACHE_TYPES)}, and no “{name}”.", field="cache_type")

    def capacity(self, job: Job) -> Capacity:
        found = LlamaServer.capacity(self, job)
        if not one_at_a_time(job):
            return found
        remark = Remark(
            "ollama_one_at_a_time",
            f"Ollama serves {job.shape.model_type} one request at a time, whatever OLLAMA_NUM_PARALLEL says: everyone else waits.",
            "engine",
        )
        slots = min(1, found.slots)
        if not slots:
            return replace(found, remarks=(remark, *found.remarks))
        return Capacity(1, "engine", f"Ollama sets OLLAMA_NUM_PARALLEL to 1 for {job.shape.model_type}.", (remark, *found.remarks))

    def hand_over(self, plan: Plan, job: Job) -> HandOver:
        return hand_over(plan, job, self)
