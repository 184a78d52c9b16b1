"""Changes tried on this log before anyone works on them, so that the most elaborate one is not also the least effective."""

from collections.abc import Iterator
from typing import Final

from planner.core import units
from planner.core.diagnosing.case import Case
from planner.core.diagnosing.diagnosis import WhatIf
from planner.core.diagnosing.findings.long_prefill import smaller_batch
from planner.core.diagnosing.replaying import Outcome, Replayer, with_batch, with_slots

# An image is some hundred to a few thousand tokens; its caption about so many.
CAPTION_TOKENS: Final = 100
_IMAGE_TOKENS: Final = 1_000
_SHORTER: Final = 0.5
# Savings of less than this share are nothing that a fit to a log can be asked for.
_TOLD: Final = 0.01
_HOUR_S: Final = 3_600.0


def what_if(case: Case) -> tuple[WhatIf, ...]:
    """The changes by what they save, the most first. Nothing where the log is not enough to send its requests again."""
    replayer = case.replayer
    if replayer is None or replayer.base is None or not replayer.base.seconds:
        return ()
    tried = [_tried(replayer, change, outcome, words) for change, outcome, words in _changes(case, replayer) if outcome is not None]
    return tuple(sorted(tried, key=lambda each: -each.seconds_a_day))


def _changes(case: Case, replayer: Replayer) -> Iterator[tuple[str, Outcome | None, str]]:
    if case.collected.totals.prompt_max > _IMAGE_TOKENS + CAPTION_TOKENS:
        yield (
            "shorter_histories",
            replayer.run(prompt=lambda tokens: max(1, round(tokens * _SHORTER)) if tokens > _IMAGE_TOKENS else tokens),
            f"Prompts of more than {_IMAGE_TOKENS:,} tokens cut to half",
        )
        yield (
            "captions_instead_of_images",
            replayer.run(prompt=_captioned),
            f"A caption of {CAPTION_TOKENS} tokens instead of an image of {_IMAGE_TOKENS:,} in every prompt that is long enough to have one",
        )
    if case.slots:
        yield "more_slots", replayer.run(with_slots(case.slots * 2)), f"{case.slots * 2} slots instead of {case.slots}"
    smaller = smaller_batch(case, case.rates.batch_tokens or 0)
    if smaller:
        yield "smaller_batch", replayer.run(with_batch(smaller)), f"Passes of {smaller:,} tokens instead of {case.rates.batch_tokens:,}"


def _captioned(tokens: int) -> int:
    return tokens - _IMAGE_TOKENS + CAPTION_TOKENS if tokens > _IMAGE_TOKENS + CAPTION_TOKENS else tokens


def _tried(replayer: Replayer, change: str, after: Outcome, words: str) -> WhatIf:
    saved = replayer.saved_a_day(after)
    around = abs(saved) * replayer.error
    share = abs(saved) / replayer.a_day(replayer.measured_s) if replayer.measured_s else 0.0
    day = "a day" if replayer.span_s >= _HOUR_S else "a day at this load"
    if share < _TOLD:
        text = f"{words} makes no difference that a replay could tell: less than {units.percent(_TOLD)} of the time of all turns together."
        return WhatIf(change=change, seconds_a_day=saved, low=saved - around, high=saved + around, text=text)
    text = (
        f"{words} {'saves' if saved >= 0 else 'costs'} all turns together {units.percent(share)} of their time, {units.seconds(abs(saved))} {day} "
        f"({units.seconds(abs(saved) - around)} to {units.seconds(abs(saved) + around)})."
    )
    return WhatIf(change=change, seconds_a_day=saved, low=saved - around, high=saved + around, text=text)
