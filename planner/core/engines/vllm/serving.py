"""What a server for the job really runs with: its command line first, then the planner's choice, then vLLM's defaults."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from planner.core.attention.stores import StateStore, TokenStore
from planner.core.engines.contract import Job
from planner.core.engines.vllm import arguments, cache_types
from planner.core.engines.vllm.arguments import Arguments
from planner.core.engines.vllm.cache_types import DTYPE_BYTES, CacheType
from planner.core.engines.vllm.defaults import batch_defaults, compute_capability, model_dtype
from planner.core.engines.vllm.versions import Rules, rules_of
from planner.core.errors import InputError
from planner.core.hardware import Device, Node
from planner.core.model_shape import ModelShape
from planner.core.units import GIB

MAX_DRAFT: Final = 64
# Memory of the CUDA context on one GPU, and with NCCL's on several: 79.18 GiB less the 78.57 and 77.64 free at the start of an H100
# and of two, in public reports of vLLM.
CONTEXT_ONE: Final = int(0.61 * GIB)
CONTEXT_MANY: Final = int(1.54 * GIB)
# Speculation without a draft model, and the methods that keep the scheduler waiting. Source: vLLM 0.32 config/speculative.py, vllm.py.
_WITHOUT_MODEL: Final = ("ngram", "suffix")
_WITHOUT_ASYNC: Final = (*_WITHOUT_MODEL, "medusa")
# Falcon never passes the cache settings to its attention layers (measured with vLLM 0.32).
_IGNORES_CACHE_TYPE: Final = frozenset({"falcon"})


@dataclass(frozen=True, slots=True)
class Serving:
    """The settled configuration of one server. Names as in vLLM's own configuration classes.

    `data_parallel_here` of the `data_parallel_size` engines run on this machine; limits and caches are those of one engine.
    `hybrid`: recurrent layers share the pool with the others. `compressed`: the model has DeepSeek-V4's compressed caches, which
    come with page sizes of their own.
    """

    rules: Rules
    shape: ModelShape
    blackwell: bool
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    gpu_memory_utilization: float
    kv_cache_memory_bytes: int | None
    num_gpu_blocks_override: int | None
    cache_type: CacheType
    mamba_cache_dtype: str
    mamba_ssm_cache_dtype: str
    block_size: int | None
    tensor_parallel_size: int
    pipeline_parallel_size: int
    data_parallel_size: int
    data_parallel_here: int
    expert_parallel: bool
    decode_context_parallel_size: int
    enable_prefix_caching: bool
    hybrid_manager: bool
    sliding_window: bool
    async_scheduling: bool
    auto_length: bool
    num_speculative_tokens: int
    drafts_with_model: bool
    drafts_with_other: bool
    cuda_graphs: bool
    seqs_given: bool
    encodes_images: bool
    offloaded_bytes: int
    hybrid: bool
    compressed: bool

    @property
    def in_flight_tokens(self) -> int:
        """Tokens that may be scheduled and not yet settled. Source: vLLM 0.32 config/vllm.py, max_in_flight_tokens."""
        batches = 1
        if self.rules.reserves_every_batch:
            batches = self.pipeline_parallel_size
            if self.async_scheduling and batches == 1:
                batches = 2
        return batches * self.max_num_batched_tokens

    @property
    def keeps_state_history(self) -> bool:
        """Whether recurrent layers keep states for prefix caching (`mamba_cache_mode` “align”)."""
        return self.enable_prefix_caching and self.rules.keeps_state_history


@lru_cache(maxsize=64)
def _kinds(shape: ModelShape) -> tuple[frozenset[str], bool]:
    """The kinds of what the layers keep per token, and whether some keep a state."""
    stores = tuple(shape.stores())
    return frozenset(store.kind for store in stores if isinstance(store, TokenStore)), any(
        isinstance(store, StateStore) for store in stores
    )


class _Asked(NamedTuple):
    """A job as far as its configuration depends on it: many machines ask the same. A tuple, because it is the key of a cache.

    `default_batch` are max_num_seqs and max_num_batched_tokens of the card, `dtype` is what the model is computed in on it.
    """

    shape: ModelShape
    version: str
    engine_args: tuple[str, ...]
    context_tokens: int
    batch_tokens: int | None
    cache_type_k: str
    cache_type_v: str
    tensor_parallel: int
    pipeline_parallel: int
    cache_memory_bytes: int | None
    images: bool
    dtype: str
    default_batch: tuple[int, int]
    utilization: float
    blackwell: bool


def settle(job: Job, slots: int = 0) -> Serving:
    """The configuration of a server for `job` with `slots` slots over all its engines (0: vLLM's own default for the card).

    Raises InputError for values that vLLM refuses.
    """
    rules, device = rules_of(job.version), job.node.device
    given = arguments.parse(job.engine_args)
    asked = _Asked(
        job.shape,
        job.version,
        job.engine_args,
        job.context_tokens,
        job.batch_tokens,
        job.cache_type_k,
        job.cache_type_v,
        job.tensor_parallel,
        job.pipeline_parallel,
        job.cache_memory_bytes,
        job.images,
        model_dtype(job.shape, device, given.dtype),
        batch_defaults(device, rules),
        given.gpu_memory_utilization or job.memory_utilization or _default_utilization(job.node, rules),
        _is_blackwell(device),
    )
    return _settled(asked, slots)


@lru_cache(maxsize=1024)
def _settled(asked: _Asked, slots: int) -> Serving:
    rules = rules_of(asked.version)
    given = arguments.parse(asked.engine_args)
    engines, here = data_parallel(given)
    kinds, hybrid = _kinds(asked.shape)
    max_model_len = _max_model_len(given, asked)
    seqs, batched = _batch(given, asked, slots=-(-slots // engines), max_model_len=max_model_len)
    if given.block_size and given.block_size % 16:
        raise InputError(f"--block-size {given.block_size}: vLLM's GPU back ends want a multiple of 16.", field="engine_args")
    dtype = _dtype("dtype", asked.dtype)
    method, tokens = _drafting(given)
    return Serving(
        rules=rules,
        shape=asked.shape,
        blackwell=asked.blackwell,
        max_model_len=max_model_len,
        max_num_seqs=seqs,
        max_num_batched_tokens=batched,
        seqs_given=given.max_num_seqs is not None,
        gpu_memory_utilization=asked.utilization,
        kv_cache_memory_bytes=given.kv_cache_memory_bytes or asked.cache_memory_bytes,
        num_gpu_blocks_override=given.num_gpu_blocks_override,
        cache_type=_cache_type(given, asked, rules, dtype, kinds),
        mamba_cache_dtype=_dtype("mamba-cache-dtype", given.mamba_cache_dtype or "auto", auto=dtype),
        mamba_ssm_cache_dtype=_dtype("mamba-ssm-cache-dtype", given.mamba_ssm_cache_dtype or "auto", auto="auto"),
        block_size=given.block_size,
        tensor_parallel_size=given.tensor_parallel_size or asked.tensor_parallel,
        pipeline_parallel_size=given.pipeline_parallel_size or asked.pipeline_parallel,
        data_parallel_size=engines,
        data_parallel_here=here,
        expert_parallel=bool(given.enable_expert_parallel),
        decode_context_parallel_size=given.decode_context_parallel_size or 1,
        enable_prefix_caching=_prefix_caching(given, rules, kinds, hybrid=hybrid),
        hybrid_manager=not given.disable_hybrid_kv_cache_manager,
        sliding_window=not given.disable_sliding_window,
        async_scheduling=_asynchronous(given, rules, method),
        auto_length=given.max_model_len == -1,
        num_speculative_tokens=tokens,
        drafts_with_model=method.endswith("mtp"),
        drafts_with_other=bool(method) and not method.endswith("mtp") and not method.startswith(_WITHOUT_MODEL),
        cuda_graphs=_graphs(given),
        encodes_images=_encodes_images(given, asked),
        offloaded_bytes=int((given.cpu_offload_gb or 0) * GIB),
        hybrid=hybrid,
        compressed="compressed" in kinds,
    )


def _is_blackwell(device: Device) -> bool:
    capability = compute_capability(device)
    return capability is not None and capability[0] == 10


def data_parallel(given: Arguments) -> tuple[int, int]:
    """(engines in all, engines on this machine). Raises InputError where the second is more."""
    engines = given.data_parallel_size or 1
    here = engines if given.data_parallel_size_local is None else given.data_parallel_size_local
    if here > engines:
        raise InputError(f"--data-parallel-size-local {here} is more than the {engines} of --data-parallel-size.", field="engine_args")
    return engines, here


def _default_utilization(node: Node, rules: Rules) -> float:
    """The release's own share, or less where not so much is free at the start: vLLM then refuses to start.

    Source: vLLM 0.32 v1/worker/utils.py, request_memory: free memory is taken after the CUDA context was made.
    """
    kinds = node.devices[:1] if node.uniform else node.devices
    if not node.reserved_bytes and not any(device.system_bytes for device in kinds):
        return rules.default_utilization
    context = CONTEXT_ONE if len(node.devices) == 1 else CONTEXT_MANY
    free = min((node.free_bytes(index) - context) / device.memory_bytes for index, device in enumerate(node.devices))
    return max(0.01, min(rules.default_utilization, math.floor(free * 100) / 100))


def _max_model_len(given: Arguments, asked: _Asked) -> int:
    if given.max_model_len == -1:
        return asked.shape.max_context or asked.context_tokens
    return given.max_model_len or asked.context_tokens


def _batch(given: Arguments, asked: _Asked, *, slots: int, max_model_len: int) -> tuple[int, int]:
    """(max_num_seqs, max_num_batched_tokens). Source of the two limits: vLLM 0.32 engine/arg_utils.py, _set_default_max_num…"""
    default_seqs, default_batched = asked.default_batch
    if given.performance_mode == "throughput":
        default_seqs, default_batched = 2 * default_seqs, 2 * default_batched
    seqs = given.max_num_seqs or slots or default_seqs
    batched = given.max_num_batched_tokens or asked.batch_tokens or min(seqs * max_model_len, default_batched)
    if given.enable_chunked_prefill is False:
        batched = given.max_num_batched_tokens or max(batched, max_model_len)
        if batched < max_model_len:
            raise InputError(
                f"Without chunked prefill vLLM wants --max-num-batched-tokens ({batched:,}) of at least --max-model-len ({max_model_len:,}).",
                field="engine_args",
            )
    if not given.max_num_seqs:
        seqs = min(seqs, batched)
    if batched < seqs:
        raise InputError(
            f"vLLM wants --max-num-batched-tokens ({batched:,}) of at least --max-num-seqs ({seqs:,}): every running request takes a token.",
            field="engine_args",
        )
    return seqs, batched


def _drafting(given: Arguments) -> tuple[str, int]:
    """(method, speculative tokens) of --speculative-config. Raises InputError where the tokens are no small number."""
    draft = given.speculative_config or {}
    tokens = str(draft.get("num_speculative_tokens", 0))
    if not (tokens.isascii() and tokens.isdecimal() and int(tokens[:9]) <= MAX_DRAFT):
        raise InputError(f"num_speculative_tokens is a whole number from 1 to {MAX_DRAFT}.", field="engine_args")
    return str(draft.get("method", "")), int(tokens)


def _asynchronous(given: Arguments, rules: Rules, method: str) -> bool:
    """Source: vLLM 0.32 config/vllm.py: on, except with drafters that need the CPU between steps."""
    if given.async_scheduling is not None:
        return given.async_scheduling
    return rules.asynchronous and not method.startswith(_WITHOUT_ASYNC)


def _graphs(given: Arguments) -> bool:
    return not given.enforce_eager and str((given.compilation_config or {}).get("cudagraph_mode", "")).upper() != "NONE"


def _encodes_images(given: Arguments, asked: _Asked) -> bool:
    """Whether the vision encoder is profiled and run: not where every limit on what it would see is 0."""
    if not asked.shape.has_vision or given.language_model_only:
        return False
    limits = given.limit_mm_per_prompt
    return asked.images if limits is None else any(limits.get(modality, 1) for modality in ("image", "video"))


def _dtype(flag: str, name: str, *, auto: str | None = None) -> str:
    """An element type vLLM knows, `auto` replaced. Raises InputError for any other."""
    if auto is not None and name == "auto":
        return auto
    if name not in DTYPE_BYTES:
        raise InputError(f"vLLM has no --{flag} {name[:40]}: use bfloat16, float16 or float32.", field="engine_args")
    return name


def _cache_type(given: Arguments, asked: _Asked, rules: Rules, dtype: str, kinds: frozenset[str]) -> CacheType:
    if asked.cache_type_k != asked.cache_type_v:
        raise InputError("vLLM keeps keys and values in one type: choose the same for both.", field="cache_type_v")
    if given.kv_cache_dtype_skip_layers:
        raise InputError("--kv-cache-dtype-skip-layers is not computed here: leave it out to plan the rest.", field="engine_args")
    shape = asked.shape
    name = cache_types.resolve(given.kv_cache_dtype or asked.cache_type_k, rules)
    if name == "auto" and shape.cache_dtype is not None:
        name = cache_types.resolve(shape.cache_dtype, rules)
    if kinds >= {"latent", "indexer"} and name in cache_types.FP8:
        name = "fp8_ds_mla"
    if name in cache_types.LATENT_ONLY and not kinds & {"latent", "compressed"}:
        raise InputError(f"The cache type {name} is for models with latent attention (DeepSeek); this one has none.", field="cache_type")
    if shape.model_type in _IGNORES_CACHE_TYPE:
        name = "auto"
    return CacheType(name=name, model_dtype=dtype)


def _prefix_caching(given: Arguments, rules: Rules, kinds: frozenset[str], *, hybrid: bool) -> bool:
    """On for decoders and (from 0.26) hybrids; off for encoder-decoders and models without attention.

    Source: vLLM 0.32 config/model.py, is_prefix_caching_supported.
    """
    if given.enable_prefix_caching is not None:
        return given.enable_prefix_caching
    if not kinds or "cross" in kinds:
        return False
    return rules.caches_hybrid_prefixes or not hybrid
