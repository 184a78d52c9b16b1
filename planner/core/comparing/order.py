"""Which rows of the table to show, and in which order."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from planner.core.comparing.option import Option
from planner.core.errors import InputError
from planner.core.hardware import Vendor
from planner.core.plan import Figure, Verdict
from planner.core.planning import FEW_IN_FLIGHT
from planner.core.weight_formats import find_format

# Tokens/s at which people read: 238 words a minute (Brysbaert 2019, silent reading of English non-fiction) at three words to four tokens.
READING_RATE: Final = 238 / 60 * 4 / 3

By = Literal["best", "price", "watts", "cost", "slots", "wait", "ttft", "pause", "rate", "device"]
ORDERS: Final[tuple[By, ...]] = get_args(By)
_VERDICTS: Final[Mapping[Verdict, int]] = {"fits": 0, "tight": 1, "does_not_fit": 2}


@dataclass(frozen=True, slots=True)
class Sieve:
    """What a row must be to be shown; None and empty ask for nothing. `max_price` is of what is still to be bought.

    A row whose price or power is not known does not pass a limit on it.
    """

    max_price: float | None = None
    max_watts: int | None = None
    vendors: tuple[Vendor, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    min_slots: int | None = None
    single_slot: bool = False

    def passes(self, option: Option) -> bool:
        return (
            (self.max_price is None or (_rented(option) or (option.price is not None and option.price <= self.max_price)))
            and (self.max_watts is None or (option.watts is not None and option.watts <= self.max_watts))
            and (not self.vendors or option.vendor in self.vendors)
            and (not self.verdicts or option.verdict in self.verdicts)
            and (self.min_slots is None or option.slots_that_fit >= self.min_slots)
            and (not self.single_slot or option.slot_width == 1)
        )


def _rented(option: Option) -> bool:
    """Nothing of it is bought."""
    return option.unit_price is not None and option.unit_price.per != "once"


def sift(options: Iterable[Option], sieve: Sieve) -> tuple[Option, ...]:
    return tuple(option for option in options if sieve.passes(option))


def read_vendors(text: str) -> tuple[Vendor, ...]:
    """Makers in any case: `nvidia, AMD`. Raises InputError (field "vendor") for others."""
    known: dict[str, Vendor] = {vendor.lower(): vendor for vendor in get_args(Vendor)}
    names = [part.strip().lower() for part in text.split(",") if part.strip()]
    for name in names:
        if name not in known:
            raise InputError(f"“{name[:20]}” is no maker here: give {', '.join(known.values())}.", field="vendor")
    return tuple(dict.fromkeys(known[name] for name in names))


def read_verdicts(text: str) -> tuple[Verdict, ...]:
    """`fits,tight`. Raises InputError (field "verdict") for others."""
    known: dict[str, Verdict] = {verdict: verdict for verdict in _VERDICTS}
    names = [part.strip().lower().replace(" ", "_") for part in text.split(",") if part.strip()]
    for name in names:
        if name not in known:
            raise InputError(f"“{name[:20]}” is no verdict: give {', '.join(known)}.", field="verdict")
    return tuple(dict.fromkeys(known[name] for name in names))


def keeps_pace(option: Option, *, patience_seconds: float) -> bool | None:
    """Whether everyone gets tokens as fast as people read, and the first within their patience; None where that is not known.

    By the middle of the estimates: the verdict counts slots, and a slow machine can have plenty of them.
    """
    if option.user_rate is None or option.ttft_p95 is None:
        return None
    return option.user_rate.value >= READING_RATE and option.ttft_p95.value <= patience_seconds


def _surely_keeps_pace(option: Option) -> bool:
    """Whether everyone gets tokens as fast as people read at the low end of the estimate as well."""
    rate = option.user_rate
    return rate is not None and (rate.value if rate.low is None else rate.low) >= READING_RATE


@lru_cache(maxsize=256)
def _whole_bits(weights: str) -> int:
    """Bits of most of the weights in this format, without the fraction that scales take; 0 for a format nobody knows."""
    fmt = find_format(weights)
    return int(min(fmt.body.typical, fmt.experts.typical)) if fmt else 0


def ranked(options: Iterable[Option], by: By = "best", *, patience_seconds: float = 30.0, backwards: bool = False) -> tuple[Option, ...]:
    """The options in order, or the other way round; what is not known comes last either way.

    “best” puts what serves everyone first, then what keeps pace with readers (then where that is not known), then what fits over
    what is tight; among those the lowest price and the least power. Of one machine's rows: what keeps pace at the low end of its
    estimate too, the weights with the most bits (whole ones: a file of 4.8 and one of 4.2 are alike), and vLLM where many are in flight.
    """
    key = _key(by, patience_seconds)
    ordered = sorted(options, key=key)
    if not backwards:
        return tuple(ordered)
    known = [option for option in ordered if key(option)[0] != math.inf]
    return (*reversed(known), *ordered[len(known) :])


def best_of_each(options: Iterable[Option], *, patience_seconds: float = 30.0) -> tuple[Option, ...]:
    """The best row of every machine, in the order of “best”."""
    found: dict[tuple[str, int, int], Option] = {}
    for option in ranked(options, patience_seconds=patience_seconds):
        found.setdefault((option.device, option.count, option.memory_bytes), option)
    return tuple(found.values())


def _key(by: By, patience_seconds: float) -> Callable[[Option], tuple[float | str, ...]]:
    if by == "best":
        return lambda option: _best(option, patience_seconds)
    return {
        "price": lambda option: (_known(option.price), *_best(option, patience_seconds)),
        "watts": lambda option: (_known(option.watts), *_best(option, patience_seconds)),
        "cost": lambda option: (_middle(option.monthly_cost), *_best(option, patience_seconds)),
        "slots": lambda option: (-option.slots_that_fit, *_best(option, patience_seconds)),
        "wait": lambda option: (_known(option.mean_wait), *_best(option, patience_seconds)),
        "ttft": lambda option: (_middle(option.ttft_p95), *_best(option, patience_seconds)),
        "pause": lambda option: (_middle(option.pause_p95), *_best(option, patience_seconds)),
        "rate": lambda option: (-option.user_rate.value if option.user_rate else math.inf, *_best(option, patience_seconds)),
        "device": lambda option: (option.device, option.count, *_best(option, patience_seconds)),
    }[by]


def _known(value: float | None) -> float:
    return math.inf if value is None else value


def _middle(figure: Figure | None) -> float:
    return math.inf if figure is None else figure.value


def _best(option: Option, patience_seconds: float) -> tuple[float | str, ...]:
    pace = keeps_pace(option, patience_seconds=patience_seconds)
    many = (option.slots_needed or 0) > FEW_IN_FLIGHT
    engines = ("vllm", "llama-server", "ollama") if many else ("llama-server", "vllm", "ollama")
    return (
        option.verdict == "does_not_fit",
        {True: 0, None: 1, False: 2}[pace],
        _VERDICTS[option.verdict],
        _known(option.price),
        _known(option.watts),
        not _surely_keeps_pace(option),
        -_whole_bits(option.weights),
        engines.index(option.engine) if option.engine in engines else len(engines),
        option.cache_type not in {"f16", "bf16", "float16", "bfloat16"},
        option.device,
        option.count,
    )
