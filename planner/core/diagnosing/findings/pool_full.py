"""A KV cache that all slots share has no room left: answers fail in the middle."""

from planner.core import units
from planner.core.diagnosing.case import Case, examples_of
from planner.core.diagnosing.diagnosis import Finding


def _look(case: Case) -> Finding | None:
    full, failed, purged = case.noticed("pool_full"), case.noticed("context_exceeded"), case.noticed("purged_slot")
    if not full.count and not failed.count:
        return None
    slots = f" {case.slots} slots share" if case.slots else " All slots share"
    pool = case.whole("n_ctx") or case.whole("n_ctx_slot")
    return Finding(
        code="pool_full",
        severity="high" if failed.count else "medium",
        title="The shared KV cache is full",
        evidence=f"{full.count:,} {'pass' if full.count == 1 else 'passes'} found no room in the cache, "
        f"{units.counted(failed.count, 'answer')} failed in the middle, {units.counted(purged.count, 'idle conversation')} went to make room.",
        cause=f"{slots.strip()} one cache{f' of {pool:,} tokens' if pool else ''}, and together they asked for more than it holds. "
        "Clients see an error in a reply that began well.",
        fix="Fewer slots or a smaller limit per request, so that all of them at their longest fit, or a larger context; a cache of its own for every slot "
        "(--no-kv-unified) refuses long prompts instead of failing others.",
        count=full.count + failed.count,
        examples=(*examples_of(failed, "an answer failed"), *examples_of(full, "no room in the cache"))[:3],
    )


FINDING = _look
