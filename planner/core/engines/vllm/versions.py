"""Which vLLM releases are known here, and the rules of memory and of the log that changed between them."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.core.errors import InputError

# Oldest first. The rules below were read from these and the releases between them; any other one follows the last before it.
VERSIONS: Final[tuple[str, ...]] = ("0.11.2", "0.14.0", "0.17.0", "0.20.0", "0.24.0", "0.28.0", "0.32.0", "0.33.0")

Release = tuple[int, int, int]
OLDEST: Final[Release] = (0, 11, 0)
NEWEST: Final[Release] = (0, 33, 99)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a release does. Each field names the release from which it differs, read from that release's own source."""

    release: Release

    def since(self, major: int, minor: int, patch: int = 0) -> bool:
        return self.release >= (major, minor, patch)

    @property
    def default_utilization(self) -> float:
        """config/cache.py, CacheConfig.gpu_memory_utilization: 0.9 up to 0.19.1, 0.92 from 0.20.0."""
        return 0.92 if self.since(0, 20) else 0.9

    @property
    def graphs_inside_budget(self) -> bool:
        """envs.py, VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: on by default from 0.20.0, so that graphs shrink the cache pool."""
        return self.since(0, 20)

    @property
    def size_line_counts_requests(self) -> bool:
        """v1/core/kv_cache_utils.py: from 0.20.1 the size line is concurrency × max_model_len; before, blocks // groups × block size."""
        return self.since(0, 20, 1)

    @property
    def one_line(self) -> bool:
        """v1/core/kv_cache_utils.py, update_kv_cache_capacity: size and concurrency share a line from 0.28."""
        return self.since(0, 28)

    @property
    def reserves_every_batch(self) -> bool:
        """v1/kv_cache_interface.py: windows reserve all tokens in flight (two batches when async) from 0.26, one batch before."""
        return self.since(0, 26)

    @property
    def group_stretch(self) -> float:
        """v1/core/kv_cache_utils.py: how much larger the largest kind may be and still set the group size (1.0: never)."""
        if self.since(0, 18):
            return 1.5
        return 1.25 if self.since(0, 14) else 1.0

    @property
    def keeps_state_history(self) -> bool:
        """config/cache.py, mamba_cache_mode “align”: prefix caching keeps a second state block from 0.16."""
        return self.since(0, 16)

    @property
    def caches_hybrid_prefixes(self) -> bool:
        """config/model.py, is_prefix_caching_supported: on for recurrent hybrids from 0.26, off (experimental) before."""
        return self.since(0, 26)

    @property
    def checkpoints_mamba2(self) -> bool:
        """model_executor/layers/mamba/mamba_mixer2.py, get_kv_cache_spec: one checkpoint block more from 0.32."""
        return self.since(0, 32)

    @property
    def checks_null_block(self) -> bool:
        """v1/core/kv_cache_utils.py, get_kv_cache_configs: the start-up check leaves out the null block from 0.29."""
        return self.since(0, 29)

    @property
    def large_gpu_tier(self) -> bool:
        """engine/arg_utils.py, get_batch_defaults: GPUs of 160 GiB have a tier of their own from 0.28."""
        return self.since(0, 28)

    @property
    def asynchronous(self) -> bool:
        """config/scheduler.py, async_scheduling: off in 0.11, decided by the configuration (on) from 0.14."""
        return self.since(0, 14)


@lru_cache(maxsize=64)
def rules_of(version: str) -> Rules:
    """The rules of `version` (`0.32.0`, `v0.32`). Raises InputError for a release that is not known here."""
    match = re.fullmatch(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[.+-]?[a-z][a-z0-9.+]*)?", version.strip()[:40])
    release = (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None
    if release is None or not OLDEST <= release <= NEWEST:
        raise InputError(
            f"vLLM “{version.strip()[:40]}” is not known here: give a release from 0.11.0 to {VERSIONS[-1]}.", field="engine_version"
        )
    return Rules(release)
