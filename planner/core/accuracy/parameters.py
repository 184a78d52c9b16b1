"""Parameters counted from config.json beside the elements that published checkpoints hold."""

from collections.abc import Mapping
from typing import Any

from planner.core.accuracy.comparison import Comparison, Figure
from planner.core.errors import InputError
from planner.core.readers.parameters import ParameterCount, parameter_count

_SOURCE = "elements of the checkpoint's safetensors files, as the Hub lists them"


def stored(count: ParameterCount) -> dict[str, int]:
    """What a checkpoint of the counted model holds, by what it stores beside it."""
    twice = 0 if count.output else count.embedding
    return {
        "total": count.total,
        "with draft": count.total + count.draft,
        "tied table stored twice": count.total + twice,
        "tied and draft": count.total + twice + count.draft,
    }


def comparison(row: Mapping[str, Any]) -> Comparison:
    try:
        count = parameter_count(row["config"])
    except InputError as refusal:
        return Comparison(row["model"], _SOURCE, "", (), refused=str(refusal))
    return Comparison(row["model"], _SOURCE, "", (Figure("elements", row["elements"], stored(count)[row["stored"]]),))
