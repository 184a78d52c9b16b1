"""What llama-server is started with, and how it divides its context: the command line's values over the planner's choice."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from planner.core.engines.contract import Job
from planner.core.engines.llama_server.architecture import architecture
from planner.core.engines.llama_server.arguments import ALL_LAYERS, AUTO_SLOTS, Arguments, parse
from planner.core.engines.llama_server.cache_types import CacheType, cache_type
from planner.core.engines.llama_server.versions import Rules, rules_of
from planner.core.errors import InputError
from planner.core.model_shape import ModelShape

DEFAULT_BATCH: Final = 2048
DEFAULT_UBATCH: Final = 512
DEFAULT_CACHE_RAM_MIB: Final = 8192
DEFAULT_CHECKPOINTS: Final = 32
DEFAULT_DRAFT_TOKENS: Final = 3
DEFAULT_FIT_CONTEXT: Final = 4096
FIT_TARGET_MIB: Final = 1024
# Automatic slots. Source: llama.cpp b11434 tools/server/server.cpp, llama_server.
AUTOMATIC_SLOTS: Final = 4
# LLAMA_MAX_SEQ in src/llama-cparams.h.
MAX_SLOTS: Final = 256
CELL_PADDING: Final = 256
# src/llama-context.cpp, llama_init_from_model: the engine switches it off itself.
WITHOUT_FLASH_ATTENTION: Final = "grok"
# Architectures whose worst graph is laid out for one sequence, whatever the slots. Source: src/llama-context.cpp, sched_reserve.
_RESERVED_FOR_ONE: Final = {"kimi-linear", "minimax-01"}
# Speculation that keeps a recurrent state per draft token.
_ROLLBACK_DRAFTS: Final = {"draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark"}


def padded(cells: int) -> int:
    """Cells rounded up to a multiple of 256. Source: llama.cpp b11434 src/llama-context.cpp, GGML_PAD(n_ctx, 256)."""
    return -(-cells // CELL_PADDING) * CELL_PADDING


@dataclass(frozen=True, slots=True)
class Serving:
    """The resolved settings of one server. `n_ctx` is what -c says: 0 or None for the model's own context."""

    rules: Rules
    n_ctx: int | None
    n_parallel: int
    unified: bool
    per_slot: int
    n_batch: int
    n_ubatch: int
    type_k: CacheType
    type_v: CacheType
    flash_attn: bool
    swa_full: bool
    kv_offload: bool
    fit: bool
    fit_target_mib: int
    fit_context: int
    n_gpu_layers: int
    cpu_moe_layers: int | None
    tensor_split: tuple[float, ...]
    split_mode: str
    no_gpu: bool
    draft_tokens: int
    drafts_itself: bool
    state_snapshots: int
    cache_ram_mib: int | None
    checkpoints: int


@dataclass(frozen=True, slots=True)
class Context:
    """How the context is divided. `n_ctx_seq` is the cells of one stream, `n_ctx_slot` the tokens one slot may use."""

    n_ctx: int
    n_ctx_seq: int
    n_ctx_slot: int
    slots: int
    unified: bool
    n_batch: int
    n_ubatch: int

    @property
    def streams(self) -> int:
        return 1 if self.unified else self.slots


def default_ubatch(shape: ModelShape, *, batch: int, slots: int, unified: bool) -> int:
    """Tokens of a micro-batch if nobody says otherwise: the server's 512, no more than the batch.

    With private streams the attention of some architectures is laid out for a multiple of the slots, else llama-server ends at the
    start with `GGML_ASSERT(ggml_can_repeat(b, a)) failed` (met with b11434 and three slots of Kimi Linear).
    """
    tokens = min(batch, DEFAULT_UBATCH)
    if unified or tokens < slots or architecture(shape) not in _RESERVED_FOR_ONE:
        return tokens
    return tokens - tokens % slots


def _divided(context_tokens: int, slots: int, given: Arguments, *, planned: bool) -> tuple[int | None, int, bool]:
    """(n_ctx, n_parallel, unified). The planner's own choice is a private stream per slot, each of the full context."""
    if planned or not given.shapes_context:
        return slots * context_tokens, slots, False
    if given.n_parallel in {None, AUTO_SLOTS}:
        return given.n_ctx, AUTOMATIC_SLOTS, True
    return given.n_ctx, given.n_parallel or AUTOMATIC_SLOTS, bool(given.kv_unified)


def serving(job: Job, slots: int, *, planned: bool = False) -> Serving:
    """The settings for `slots` slots; a command line that divides the context has the last word on their number.

    `planned` leaves that division to the planner: what would be if every slot held the job's whole context.

    Raises InputError for values that llama-server refuses.
    """
    return settled(asked(job, slots, planned=planned))


class Asked(NamedTuple):
    """All that the settings depend on: many machines ask the same. A tuple, because it is the key of a cache."""

    shape: ModelShape
    version: str
    engine_args: tuple[str, ...]
    context_tokens: int
    batch_tokens: int | None
    cache_type_k: str
    cache_type_v: str
    slots: int
    planned: bool


def asked(job: Job, slots: int, *, planned: bool) -> Asked:
    return Asked(
        job.shape,
        job.version,
        job.engine_args,
        job.context_tokens,
        job.batch_tokens,
        job.cache_type_k,
        job.cache_type_v,
        slots,
        planned,
    )


@lru_cache(maxsize=2048)
def settled(asked: Asked) -> Serving:
    """The settings for what is asked; see `serving`."""
    shape, given = asked.shape, parse(asked.engine_args)
    n_ctx, n_parallel, unified = _divided(asked.context_tokens, asked.slots, given, planned=asked.planned)
    if n_parallel > MAX_SLOTS:
        raise InputError(
            f"llama-server serves at most {MAX_SLOTS} slots: {n_parallel:,} are too many.",
            field="engine_args" if asked.engine_args else "slots",
        )
    rules = rules_of(asked.version)
    if given.kv_unified_per_slot and not rules.caps_slots:
        raise InputError(f"--kv-unified-per-slot came with b11010: llama-server b{rules.build} stops at it.", field="engine_args")
    batch = given.n_batch or asked.batch_tokens or DEFAULT_BATCH
    drafts = _drafts(given)
    return Serving(
        rules=rules,
        n_ctx=n_ctx,
        n_parallel=n_parallel,
        unified=unified,
        per_slot=0 if asked.planned else given.kv_unified_per_slot or 0,
        n_batch=batch,
        n_ubatch=given.n_ubatch or default_ubatch(shape, batch=batch, slots=n_parallel, unified=unified),
        type_k=cache_type(given.type_k or asked.cache_type_k, field="cache_type"),
        type_v=cache_type(given.type_v or asked.cache_type_v, field="cache_type"),
        flash_attn=given.flash_attn != "off" and architecture(shape) != WITHOUT_FLASH_ATTENTION,
        swa_full=bool(given.swa_full),
        kv_offload=given.kv_offload is not False,
        fit=given.fit is not False,
        fit_target_mib=max(given.fit_target_mib or (FIT_TARGET_MIB,)),
        fit_context=DEFAULT_FIT_CONTEXT if given.fit_ctx is None else given.fit_ctx,
        n_gpu_layers=ALL_LAYERS if given.n_gpu_layers is None or given.n_gpu_layers < 0 else given.n_gpu_layers,
        cpu_moe_layers=2**30 if given.cpu_moe else given.n_cpu_moe,
        tensor_split=given.tensor_split or (),
        split_mode=given.split_mode or "layer",
        no_gpu=given.devices == ("none",) or given.n_gpu_layers == 0,
        draft_tokens=drafts,
        drafts_itself="draft-mtp" in (given.spec_type or ()),
        state_snapshots=drafts if set(given.spec_type or ()) & _ROLLBACK_DRAFTS else 0,
        cache_ram_mib=given.cache_ram_mib,
        checkpoints=DEFAULT_CHECKPOINTS if given.ctx_checkpoints is None else given.ctx_checkpoints,
    )


def _drafts(given: Arguments) -> int:
    """Tokens drafted per step, 0 without a draft."""
    if not given.draft_model and not any(name.startswith("draft-") for name in given.spec_type or ()):
        return 0
    return DEFAULT_DRAFT_TOKENS if given.draft_n_max is None else given.draft_n_max


def divide(settings: Serving, *, trained_context: int | None) -> Context:
    """The context as the server divides it.

        n_ctx = pad256(-c);  private: n_ctx_seq = pad256(n_ctx / slots), n_ctx = n_ctx_seq × slots;  unified: n_ctx_seq = n_ctx
        n_ctx_slot = min(n_ctx_seq, the cap per slot, the trained context)

    Source: llama.cpp b11434 src/llama-context.cpp (llama_context), common/fit.cpp, tools/server/server-context.cpp.
    """
    slots, unified = settings.n_parallel, settings.unified
    asked = settings.n_ctx
    if not asked and settings.per_slot:
        asked = slots * settings.per_slot
    if not asked:
        if trained_context is None:
            raise InputError("The model states no context length: give -c with the tokens of all slots together.", field="engine_args")
        asked = trained_context * (1 if unified or not settings.fit else slots)
    n_ctx = padded(asked)
    n_ctx_seq = n_ctx if unified else padded(n_ctx // slots)
    n_ctx = n_ctx_seq if unified else n_ctx_seq * slots
    caps = [cap for cap in (n_ctx_seq, settings.per_slot, trained_context) if cap]
    # The batch is cut to the context before the padding.
    n_batch = min(asked, settings.n_batch)
    return Context(
        n_ctx=n_ctx,
        n_ctx_seq=n_ctx_seq,
        n_ctx_slot=min(caps),
        slots=slots,
        unified=unified,
        n_batch=n_batch,
        n_ubatch=min(n_batch, settings.n_ubatch),
    )
