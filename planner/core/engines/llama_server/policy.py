"""The llama-server engine: the rules of llama.cpp behind the questions that every engine answers."""

from dataclasses import replace
from functools import partial

from planner.core.attention.stores import Store, TokenStore
from planner.core.engines.contract import Capacity, Expectation, HandOver, Job, Room, StartUp, Stored
from planner.core.engines.llama_server.arguments import parse
from planner.core.engines.llama_server.budget import free_bytes, memory_budget
from planner.core.engines.llama_server.cache import STATE_ELEMENT_BYTES, check_types, key_row_bytes, value_row_bytes
from planner.core.engines.llama_server.capacity import planned_capacity, planned_room, stated_capacity
from planner.core.engines.llama_server.expectation import expectation
from planner.core.engines.llama_server.fit_context import held
from planner.core.engines.llama_server.hand_over import hand_over
from planner.core.engines.llama_server.layout import stored_layers, trained_context, widest_value
from planner.core.engines.llama_server.placement import Placement, place, uses_gpu
from planner.core.engines.llama_server.ram import warm_conversations
from planner.core.engines.llama_server.serving import Serving, divide, serving
from planner.core.engines.llama_server.start_up import LlamaStartUp
from planner.core.engines.llama_server.versions import BUILDS
from planner.core.hardware import Device
from planner.core.plan import MemoryBudget, Plan
from planner.core.spill import Spill


class LlamaServer:
    """The engine. Ollama runs the same server, and differs only in how its settings come about (`settings`)."""

    name: str = "llama-server"
    title: str = "llama-server"
    versions: tuple[str, ...] = BUILDS
    serves_gguf: bool = True
    sets_batch: bool = True
    start_up: StartUp = LlamaStartUp()

    def eight_bit_cache(self, device: Device) -> str | None:  # noqa: ARG002 - q8_0 runs on all of them
        """See `engines.contract.Engine`."""
        return "q8_0"

    def settings(self, job: Job, slots: int, *, planned: bool = False) -> Serving:
        """What the server is started with for `slots` slots; see `serving`."""
        return serving(job, slots, planned=planned)

    def states_context(self, job: Job) -> bool:
        """Whether the job's command line divides the context itself."""
        return parse(job.engine_args).shapes_context

    def stated(self, job: Job) -> tuple[int | None, int | None]:
        if not self.states_context(job):
            return None, None
        context = divide(self.settings(job, 1), trained_context=trained_context(job.shape))
        return context.slots, context.n_ctx_slot

    def parallel_sizes(self, job: Job, *, tensor: int | None, pipeline: int | None) -> tuple[int, int]:  # noqa: ARG002 - layers are split
        return 1, 1

    def check(self, job: Job) -> None:
        settings = self.settings(job, 1)
        check_types(job.shape, settings)
        divide(settings, trained_context=trained_context(job.shape))

    def cache_types(self, job: Job) -> tuple[str, str]:
        settings = self.settings(job, 1)
        return settings.type_k.name, settings.type_v.name

    def default_batch_tokens(self, job: Job) -> int:
        return self.settings(replace(job, batch_tokens=None), 1).n_batch

    def stated_batch_tokens(self, job: Job) -> int | None:
        return parse(job.engine_args).n_batch

    def stored(self, job: Job) -> tuple[tuple[Stored, ...], ...]:
        settings, widest = self.settings(job, 1), widest_value(job.shape)

        def size(store: Store) -> int:
            if isinstance(store, TokenStore):
                return key_row_bytes(store, settings) + value_row_bytes(store, settings, widest)
            return STATE_ELEMENT_BYTES * (store.conv_elements + store.state_elements) * (1 + settings.state_snapshots)

        return tuple(tuple((store, size(store)) for store in layer.stores) for layer in stored_layers(job.shape))

    def request_bytes(self, job: Job) -> int:
        return held(job, self.settings(job, 1, planned=True)).size_bytes

    def reserved_bytes(self, job: Job, slots: int) -> int:
        return held(job, self.settings(job, slots)).size_bytes

    def placement(self, job: Job, slots: int) -> Placement:
        """Which layers and experts lie where: what --n-gpu-layers and --n-cpu-moe say."""
        settings = self.settings(job, slots)
        return place(job, settings, held(job, settings))

    def spilled(self, job: Job, slots: int) -> Spill | None:
        if job.node.has_gpu and job.node.ram_bytes is None and not job.engine_args:
            return None
        settings = self.settings(job, slots)
        kept = held(job, settings)
        placed = place(job, settings, kept)
        if not job.node.has_gpu or (placed.ram is None and uses_gpu(job, settings)):
            return None
        cache = placed.ram.cache_bytes if placed.ram else kept.size_bytes
        return Spill(placed.ram_read_bytes, cache / kept.size_bytes if kept.size_bytes else 0.0)

    def slots_at(self, job: Job, slots: int, tokens: int) -> int | None:
        context = held(job, self.settings(job, slots)).context
        return min(context.slots, context.n_ctx // tokens) if context.unified and tokens <= context.n_ctx_slot else None

    def warm_conversations(self, job: Job, slots: int, tokens: int) -> int | None:
        settings = self.settings(job, slots)
        return warm_conversations(job, settings, place(job, settings, held(job, settings)), tokens)

    def budget(self, job: Job, slots: int) -> MemoryBudget:
        settings = self.settings(job, slots)
        kept = held(job, settings)
        return memory_budget(job, settings, kept, place(job, settings, kept))

    def free_bytes(self, job: Job, slots: int) -> int:
        settings = self.settings(job, slots)
        return free_bytes(place(job, settings, held(job, settings)).fullest)

    def room(self, job: Job) -> Room:
        if self.states_context(job):
            found = stated_capacity(job, partial(self.settings, job))
            return Room(found.slots, found.limit)
        return planned_room(job, partial(self.settings, job, planned=True))

    def capacity(self, job: Job) -> Capacity:
        if self.states_context(job):
            return stated_capacity(job, partial(self.settings, job))
        return planned_capacity(job, partial(self.settings, job, planned=True))

    def expect(self, job: Job, slots: int) -> Expectation:
        settings = self.settings(job, slots)
        kept = held(job, settings)
        return expectation(job, settings, kept, place(job, settings, kept))

    def hand_over(self, plan: Plan, job: Job) -> HandOver:
        return hand_over(plan, job, self)
