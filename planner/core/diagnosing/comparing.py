"""Two logs side by side, only within groups of like turns, with what speaks against comparing them."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.diagnosing.diagnosis import GROUPS, Compared, Comparison, Diagnosis
from planner.core.plan import Remark

FEW: Final = 20
# Loads that differ by more than this factor are not the same load.
_ALIKE: Final = 1.5
# Facts that are settings, by the names of `logs.record.Facts`; the rest differs from start to start.
_SETTINGS: Final = (
    "version", "model", "n_slots", "n_ctx", "n_ctx_slot", "kv_unified", "n_batch", "n_ubatch", "threads", "layers_on_gpu", "adapters",
    "max_model_len", "max_num_batched_tokens", "max_num_seqs", "block_size", "kv_cache_tokens", "gpu_memory_utilization",
)  # fmt: skip


def compare(before: Diagnosis, after: Diagnosis) -> Comparison:
    """Groups of like turns in both logs, and warnings: a small group, another load, more than one setting changed."""
    rows = tuple(
        Compared(group=old.group, before=old, after=new)
        for old, new in zip(before.groups, after.groups, strict=True)
        if old.count or new.count
    )
    changed = tuple(_changed(before, after))
    return Comparison(rows=rows, changed=changed, warnings=tuple(_warnings(rows, changed, before, after)))


def _changed(before: Diagnosis, after: Diagnosis) -> Iterator[str]:
    if before.facts.engine != after.facts.engine:
        yield f"engine: {before.facts.engine} → {after.facts.engine}"
    old, new = before.facts.values, after.facts.values
    for name in _SETTINGS:
        if name in old and name in new and old[name] != new[name]:
            yield f"{name}: {old[name]} → {new[name]}"
    batches = before.rates.batch_tokens, after.rates.batch_tokens
    told = "assumed" in (before.rates.batch_source, after.rates.batch_source)
    if not told and batches[0] != batches[1] and not ("n_batch" in old and "n_batch" in new):
        yield f"n_batch: {batches[0]} → {batches[1]}"


def _warnings(rows: tuple[Compared, ...], changed: tuple[str, ...], before: Diagnosis, after: Diagnosis) -> Iterator[Remark]:
    small = [row for row in rows if min(row.before.count, row.after.count) < FEW]
    for row in small:
        yield Remark(
            "small_group",
            f"“{GROUPS[row.group].capitalize()}” has {row.before.count:,} and {row.after.count:,} turns: under {FEW} a difference may be chance.",
        )
    if len(changed) > 1:
        yield Remark("several_changes", f"More than one setting changed ({'; '.join(changed)}): their effects cannot be told apart.")
    yield from _loads(before, after)


def _loads(before: Diagnosis, after: Diagnosis) -> Iterator[Remark]:
    figures = (
        ("turns a minute", _per_minute(before), _per_minute(after)),
        ("prompt tokens a turn", _each(before.prompt_tokens, before.tasks), _each(after.prompt_tokens, after.tasks)),
        ("answer tokens a turn", _each(before.output_tokens, before.tasks), _each(after.output_tokens, after.tasks)),
        ("share of time with two or more tasks", before.two_or_more_share, after.two_or_more_share),
    )
    for name, old, new in figures:
        if old is None or new is None or (not old and not new):
            continue
        if not min(old, new) or max(old, new) / min(old, new) > _ALIKE:
            yield Remark("load_differs", f"The load differs: {units.significant(old)} against {units.significant(new)} {name}.")


def _per_minute(diagnosis: Diagnosis) -> float | None:
    return diagnosis.tasks * 60 / diagnosis.span_s if diagnosis.span_s else None


def _each(total: int, tasks: int) -> float | None:
    return total / tasks if tasks else None
