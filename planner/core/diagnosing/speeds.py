"""The pass model of the server that wrote a log, fitted to what single stretches of it took: robust, and in a few thousand points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.core.simulation import PassCost

POINTS: Final = 2_000
# A pass that takes less than so many decode steps is bound by reading the weights, not by its tokens.
_STEPS: Final = 2.0
# A point that takes longer, or less, than the fit by this factor had something else on the machine.
_OUTLIER: Final = 1.6
_ROUNDS: Final = 3
# Below this many tokens in all, a few stretches say nothing about how the cost grows.
_ENOUGH: Final = 6


@dataclass(frozen=True, slots=True)
class ReadPoint:
    """`tokens` prompt tokens, the middle one after `before` others, in `seconds` and `passes` passes."""

    tokens: int
    before: float
    seconds: float
    passes: int


@dataclass(frozen=True, slots=True)
class StepPoint:
    """`tokens` decode steps in `seconds`, with `streams` generating and `context` tokens attended to, on average."""

    tokens: float
    seconds: float
    streams: float
    context: float


@dataclass(frozen=True, slots=True)
class ReadFit:
    token_s: float
    attention_s: float


@dataclass(frozen=True, slots=True)
class StepFit:
    """`spread` is how far a stretch typically lies from the fit, as a share. `streams`: the fewest that ever ran together."""

    step_s: float
    sequence_s: float
    cached_token_s: float
    streams: int
    spread: float = 0.0


def fit_reading(points: Sequence[ReadPoint], step_s: float) -> ReadFit | None:
    """Seconds of a prompt token by itself, and of each token before it that it attends to. None without a point.

    seconds / tokens = token_s + attention_s × before, weighted by tokens; what lies far off is left out and the rest fitted anew.
    `step_s` is a decode step of one stream: passes hardly longer than it say nothing of the prompt's tokens.
    """
    large = [point for point in points if point.seconds >= _STEPS * step_s * point.passes] or list(points)
    kept = [((1.0, point.before), point.seconds / point.tokens, float(point.tokens)) for point in large if point.seconds > 0]
    found = _robust(kept)
    return ReadFit(max(found[0], 1e-9), found[1]) if found else None


def fit_steps(points: Sequence[StepPoint]) -> StepFit | None:
    """Seconds of a decode step of one stream, of each further stream in it, and of each cached token that is read. None without a point."""
    kept = [
        ((1.0, max(0.0, point.streams - 1), point.context), point.seconds / point.tokens, point.tokens)
        for point in points
        if point.seconds > 0
    ]
    found = _robust(kept)
    if not found:
        return None
    fewest = min(point.streams for point in points)
    off = sorted((abs(y / max(1e-12, _value(found, x)) - 1), weight) for x, y, weight in kept)
    return StepFit(max(found[0], 1e-9), found[1], found[2], max(1, round(fewest)), _weighted_median(off))


Row = tuple[tuple[float, ...], float, float]


def _robust(rows: Sequence[Row]) -> tuple[float, ...] | None:
    """Weighted least squares with no negative coefficient; points off by a factor are dropped and the rest fitted again."""
    if not rows:
        return None
    kept = list(rows)
    found = _not_negative(kept)
    for _ in range(_ROUNDS):
        ratios = sorted((y / max(1e-12, _value(found, x)), weight) for x, y, weight in kept)
        middle = _weighted_median(ratios)
        near = [row for row in rows if middle / _OUTLIER <= row[1] / max(1e-12, _value(found, row[0])) <= middle * _OUTLIER]
        if len(near) < max(_ENOUGH, len(rows) // 3) or near == kept:
            break
        kept = near
        found = _not_negative(kept)
    return found


def _value(coefficients: Sequence[float], x: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(coefficients, x, strict=True))


def _weighted_median(pairs: Sequence[tuple[float, float]]) -> float:
    half, seen = sum(weight for _, weight in pairs) / 2, 0.0
    for value, weight in pairs:
        seen += weight
        if seen >= half:
            return value
    return pairs[-1][0]


def _not_negative(rows: Sequence[Row]) -> tuple[float, ...]:
    """The best fit over all subsets of columns whose coefficients are all positive; the first column is always in it."""
    width = len(rows[0][0])
    best: tuple[float, tuple[float, ...]] | None = None
    for mask in range(1 << (width - 1)):
        columns = [0, *(index for index in range(1, width) if mask >> (index - 1) & 1)]
        if len(rows) <= len(columns) and len(columns) > 1:
            continue
        solved = _solve(rows, columns)
        if solved is None or min(solved) < 0 or solved[0] <= 0:
            continue
        full = [0.0] * width
        for index, value in zip(columns, solved, strict=True):
            full[index] = value
        error = sum(weight * (y - _value(full, x)) ** 2 for x, y, weight in rows)
        if best is None or error < best[0] * (1 - 1e-9):
            best = error, tuple(full)
    if best is None:
        total = sum(weight for *_, weight in rows)
        return (sum(y * weight for _, y, weight in rows) / total, *([0.0] * (width - 1)))
    return best[1]


def _solve(rows: Sequence[Row], columns: Sequence[int]) -> list[float] | None:
    """Normal equations by elimination, columns scaled to their largest value; None where a column says nothing of its own."""
    size = len(columns)
    scale = [max(abs(x[column]) for x, _, _ in rows) or 1.0 for column in columns]
    matrix = [[0.0] * (size + 1) for _ in range(size)]
    for x, y, weight in rows:
        scaled = [x[column] / unit for column, unit in zip(columns, scale, strict=True)]
        for i in range(size):
            for j in range(size):
                matrix[i][j] += weight * scaled[i] * scaled[j]
            matrix[i][size] += weight * scaled[i] * y
    largest = max(matrix[i][i] for i in range(size))
    for i in range(size):
        pivot = max(range(i, size), key=lambda row, column=i: abs(matrix[row][column]))  # type: ignore[misc]
        if abs(matrix[pivot][i]) < 1e-9 * largest:
            return None
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for row in range(size):
            if row != i:
                factor = matrix[row][i] / matrix[i][i]
                for column in range(i, size + 1):
                    matrix[row][column] -= factor * matrix[i][column]
    return [matrix[i][size] / matrix[i][i] / scale[i] for i in range(size)]


def pass_cost(read: ReadFit | None, step: StepFit | None) -> PassCost | None:
    """Both fits as the simulator takes them; None where one is missing."""
    if read is None or step is None:
        return None
    return PassCost(
        step_s=step.step_s,
        token_s=read.token_s,
        sequence_s=step.sequence_s,
        cached_token_s=step.cached_token_s,
        attention_s=read.attention_s,
    )
