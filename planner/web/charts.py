"""Figures for plotly, as plain data: the browser draws them, and only where somebody scrolls to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

# Drawn in the page's own colours: curve.js puts the theme's in place of these names.
_INK: Final = "var(--muted)"
_LINE: Final = "var(--cache-line)"
_MARK: Final = "var(--accent)"
_AXIS: Final = {"gridcolor": "var(--hairline)", "linecolor": "var(--hairline)", "zeroline": False, "fixedrange": True}
# From this ratio of the largest to the smallest value on, the smaller ones would lie on each other.
_STEEP: Final = 16


def slots_by_context(points: Sequence[tuple[int, int]], *, context: int, needed: int) -> dict[str, Any]:
    """The figure of slots that fit against tokens of context; `context` is the plan's own, `needed` its slots."""
    figure = go.Figure(layout={"template": "none"})
    figure.add_scatter(
        x=[tokens for tokens, _ in points],
        y=[slots for _, slots in points],
        mode="lines+markers",
        line={"color": _LINE, "width": 2},
        marker={"size": 6},
        hovertemplate="%{x:,} tokens: %{y} slots<extra></extra>",
    )
    figure.add_hline(
        y=needed, line={"color": _MARK, "width": 1, "dash": "dash"}, annotation={"text": f"{needed:,} needed", "font": {"size": 12}}
    )
    figure.add_vline(x=context, line={"color": _MARK, "width": 1, "dash": "dot"})
    # powers of two stand evenly on the axis; the plan's own and the model's longest context lie between them
    ticks = [tokens for tokens, _ in points if tokens.bit_count() == 1]
    figure.update_xaxes(
        title="tokens of context", type="log", tickvals=ticks, ticktext=[_short(tokens) for tokens in ticks], tickangle=0, **_AXIS
    )
    figure.update_yaxes(title="slots that fit", rangemode="tozero", **_AXIS)
    return _drawn(figure, height=280)


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds over the values of an option: the median and the 95th percentile; None where there is no such figure.

    `knee` is the value at which the 95th percentile bends, `limit` the seconds that it should not exceed.
    """

    title: str
    p50: Sequence[float | None]
    p95: Sequence[float | None]
    knee: float | None = None
    limit: float | None = None


def felt_by_option(title: str, values: Sequence[float], curves: Sequence[Curve], *, own: float | None) -> dict[str, Any]:
    """The figure of what people feel against an option: a plot for each curve, one above the other; `own` is the run's own value."""
    figure = make_subplots(rows=len(curves), shared_xaxes=True, vertical_spacing=0.1)
    figure.update_layout(template="none")
    for row, curve in enumerate(curves, 1):
        for name, seconds, dash in (("half", curve.p50, "dot"), ("95 %", curve.p95, "solid")):
            figure.add_scatter(
                x=list(values), y=list(seconds), mode="lines+markers", line={"color": _LINE, "width": 2, "dash": dash}, marker={"size": 6},
                name=name, hovertemplate=f"%{{x:,}}: {name} within %{{y:.3g}} s<extra></extra>", row=row, col=1,
            )  # fmt: skip
        if curve.knee is not None:
            at = curve.p95[list(values).index(curve.knee)]
            figure.add_scatter(
                x=[curve.knee], y=[at], mode="markers+text", text=["knee"], textposition="top center", hoverinfo="skip",
                marker={"size": 14, "color": "rgba(0,0,0,0)", "line": {"color": _MARK, "width": 2}}, row=row, col=1,
            )  # fmt: skip
        if curve.limit is not None:
            figure.add_hline(
                y=curve.limit, line={"color": _MARK, "width": 1, "dash": "dash"}, row=row, col=1,
                annotation={"text": "your limit", "font": {"size": 12}},
            )  # fmt: skip
        if own is not None:
            figure.add_vline(x=own, line={"color": _MARK, "width": 1, "dash": "dot"}, row=row, col=1)
        figure.update_yaxes(title=curve.title, rangemode="tozero", row=row, col=1, **_AXIS)
    steep = min(values) > 0 and max(values) / min(values) >= _STEEP
    ticks = {"tickvals": list(values), "ticktext": [_short(int(value)) if steep else f"{value:,.10g}" for value in values]}
    figure.update_xaxes(type="log" if steep else "linear", tickangle=0, **ticks, **_AXIS)
    figure.update_xaxes(title=title, row=len(curves), col=1)
    return _drawn(figure, height=200 * len(curves))


StrokeKind = Literal["waits", "prompt", "answer", "stalled"]
# Each kind by its thickness and lightness too, so that no colour is needed to tell them apart: what it is called, colour, px.
_STROKES: Final[dict[StrokeKind, tuple[str, str, int]]] = {
    "waits": ("waits for its first pass", "var(--muted)", 3),
    "prompt": ("prompt is read", "var(--overhead)", 15),
    "answer": ("answer is written", "var(--cache)", 15),
    "stalled": ("stands still", "var(--does_not_fit)", 5),
}


@dataclass(frozen=True, slots=True)
class Stroke:
    """A stretch of a task in its slot, in the unit of the axis, and what is said when somebody points at it."""

    kind: StrokeKind
    slot: int
    start: float
    end: float
    said: str


def slots_over_time(strokes: Sequence[Stroke], *, unit: str, shown: tuple[float, float] | None = None) -> dict[str, Any]:
    """The figure of what each slot did when: one line for each kind of stroke, broken between them, so that thousands are drawn at once.

    `shown` is the stretch it opens with, None all of it.
    """
    figure = go.Figure(layout={"template": "none"})
    for kind, (name, color, width) in _STROKES.items():
        drawn = [stroke for stroke in strokes if stroke.kind == kind]
        figure.add_scatter(
            x=[at for stroke in drawn for at in (stroke.start, stroke.end, None)],
            y=[slot for stroke in drawn for slot in (stroke.slot, stroke.slot, None)],
            text=[said for stroke in drawn for said in (stroke.said, stroke.said, None)],
            mode="lines", name=name, line={"color": color, "width": width, "simplify": False}, hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
    slots = sorted({stroke.slot for stroke in strokes})
    figure.update_xaxes(title=f"{unit} since the log began", range=shown, **(_AXIS | {"fixedrange": False}))
    figure.update_yaxes(title="slot", tickvals=slots, range=[max(slots) + 0.6, min(slots) - 0.6], **_AXIS)
    drawn_figure = _drawn(figure, height=120 + 30 * len(slots))
    drawn_figure["layout"] |= {"showlegend": True, "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0}, "dragmode": "zoom"}
    drawn_figure["layout"]["margin"] |= {"t": 40}
    return drawn_figure


@dataclass(frozen=True, slots=True)
class Bin:
    """One column of a distribution: what it is called, what stands under it, and how many cases lie in it."""

    name: str
    tick: str
    count: int


def distribution(bins: Sequence[Bin], *, title: str) -> dict[str, Any]:
    """The figure of how many cases lie in each bin, in the order of the bins."""
    figure = go.Figure(layout={"template": "none"})
    names = [each.name for each in bins]
    figure.add_bar(x=names, y=[each.count for each in bins], marker={"color": _LINE}, hovertemplate="%{x}: %{y:,}<extra></extra>")
    every = max(1, -(-len(bins) // 6))
    ticks = {"tickvals": names[::every], "ticktext": [each.tick for each in bins[::every]]}
    figure.update_xaxes(title=title, type="category", tickangle=0, **ticks, **_AXIS)
    figure.update_yaxes(title="tasks", rangemode="tozero", **_AXIS)
    return _drawn(figure, height=240)


def rates_beside(rates: Sequence[tuple[str, float, str]]) -> dict[str, Any]:
    """The figure of a stream's tokens per second in each situation: its name, the rate, and the rate as it is written."""
    figure = go.Figure(layout={"template": "none"})
    figure.add_bar(
        y=[name for name, _, _ in rates], x=[rate for _, rate, _ in rates], text=[shown for _, _, shown in rates], orientation="h",
        textposition="outside", cliponaxis=False, marker={"color": _LINE}, hovertemplate="%{y}: %{text}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="tokens per second of one stream", rangemode="tozero", **_AXIS)
    figure.update_yaxes(autorange="reversed", automargin=True, **_AXIS)
    drawn = _drawn(figure, height=80 + 40 * len(rates))
    drawn["layout"]["margin"] |= {"r": 96}
    return drawn


def in_flight_over_time(times: Sequence[float], mean: Sequence[float], most: Sequence[int], *, unit: str) -> dict[str, Any]:
    """The figure of tasks in flight over time: on average and at most in each bin."""
    figure = go.Figure(layout={"template": "none"})
    figure.add_scatter(
        x=list(times), y=list(most), mode="lines", name="at most", line={"color": "var(--overhead)", "width": 1, "shape": "hv"},
        hovertemplate="at most %{y:,}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=list(times), y=list(mean), mode="lines", name="on average", line={"color": _LINE, "width": 2, "shape": "hv"}, fill="tozeroy",
        hovertemplate="on average %{y:.2f}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title=f"{unit} since the log began", **(_AXIS | {"fixedrange": False}))
    figure.update_yaxes(title="in flight", rangemode="tozero", **_AXIS)
    drawn = _drawn(figure, height=240)
    drawn["layout"] |= {"showlegend": True, "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0}, "hovermode": "x unified"}
    drawn["layout"]["margin"] |= {"t": 36}
    return drawn


@dataclass(frozen=True, slots=True)
class Offer:
    """A machine on the chart of prices: its name with its settings, the users it serves, and its price."""

    name: str
    users: int
    price: float


def price_against_users(others: Sequence[Offer], frontier: Sequence[Offer], *, currency: str, wanted: int) -> dict[str, Any]:
    """The figure of prices against users served: every machine, and the line of those that no other beats; `wanted` are the plan's users."""
    figure = go.Figure(layout={"template": "none"})
    marks = (
        (others, "every machine", "markers", {"size": 6, "color": "rgba(0,0,0,0)", "line": {"color": _INK, "width": 1}}, None),
        (frontier, "the cheapest", "lines+markers", {"size": 9, "color": _LINE}, {"color": _LINE, "width": 2, "shape": "hv"}),
    )
    for offers, name, mode, marker, line in marks:
        figure.add_scatter(
            x=[offer.users for offer in offers], y=[offer.price for offer in offers], text=[offer.name for offer in offers],
            mode=mode, name=name, marker=marker, line=line, hovertemplate="%{text}<br>%{x:,} users, %{y:,.0f}<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=wanted, line={"color": _MARK, "width": 1, "dash": "dot"})
    figure.update_xaxes(title="users served", type="log", dtick=1, tickformat=",", **_AXIS)
    figure.update_yaxes(title=f"price, {currency}", type="log", dtick=1, tickformat=",", automargin=True, **_AXIS)
    return _with_legend(_drawn(figure, height=380))


# Lines and fills that are told apart without colour, too.
_DASHES: Final = ("solid", "dash", "dot", "dashdot")
_SYMBOLS: Final = ("circle", "square", "diamond", "x")


def slots_of_devices(lines: Sequence[tuple[str, Sequence[tuple[int, int]]]], *, context: int) -> dict[str, Any]:
    """The figure of slots that fit against tokens of context, a line for each device; `context` is the plan's own."""
    figure = go.Figure(layout={"template": "none"})
    for number, (name, points) in enumerate(lines):
        figure.add_scatter(
            x=[tokens for tokens, _ in points], y=[slots for _, slots in points], name=name, mode="lines+markers",
            line={"color": ("var(--weights)", "var(--overhead)", _LINE, _INK)[number % 4], "width": 2, "dash": _DASHES[number % 4]},
            marker={"size": 7, "symbol": _SYMBOLS[number % 4]}, hovertemplate=f"{name}, %{{x:,}} tokens: %{{y:,}} slots<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=context, line={"color": _MARK, "width": 1, "dash": "dot"})
    ticks = sorted({tokens for _, points in lines for tokens, _ in points if tokens.bit_count() == 1})
    figure.update_xaxes(
        title="tokens of context", type="log", tickvals=ticks, ticktext=[_short(tokens) for tokens in ticks], tickangle=0, **_AXIS
    )
    figure.update_yaxes(title="slots that fit", rangemode="tozero", **_AXIS)
    return _with_legend(_drawn(figure, height=340))


def verdict_map(
    users: Sequence[int], contexts: Sequence[int], ranks: Mapping[tuple[int, int], int], *, own: tuple[int, int]
) -> dict[str, Any]:
    """The figure of verdicts by (users, context): 0 fits, 1 is tight, 2 does not fit, each with its sign; `own` is the plan's own."""
    figure = go.Figure(layout={"template": "none"})
    words, signs = ("fits", "tight", "does not fit"), ("✓", "!", "✕")
    steps = [[0, "var(--fits-tint)"], [0.33, "var(--fits-tint)"], [0.33, "var(--tight-tint)"], [0.66, "var(--tight-tint)"]]
    steps += [[0.66, "var(--does_not_fit-tint)"], [1, "var(--does_not_fit-tint)"]]
    found = [[ranks[number, context] for context in contexts] for number in users]
    figure.add_heatmap(
        x=[_short(context) for context in contexts], y=[f"{number:,}" for number in users], z=found, zmin=0, zmax=2,
        colorscale=steps, showscale=False, xgap=2, ygap=2, customdata=[[words[rank] for rank in row] for row in found],
        text=[[signs[rank] for rank in row] for row in found], texttemplate="%{text}",
        hovertemplate="%{y} users, %{x} tokens: %{customdata}<extra></extra>",
    )  # fmt: skip
    if own[0] in users and own[1] in contexts:
        x, y = list(contexts).index(own[1]), list(users).index(own[0])
        figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line={"color": _MARK, "width": 2})
    figure.update_xaxes(title="tokens of context", type="category", tickangle=0, **_AXIS)
    figure.update_yaxes(title="users", type="category", **_AXIS)
    return _drawn(figure, height=100 + 28 * len(users))


# How each part of a budget is told from its neighbours in grey.
_PATTERNS: Final = {"weights": "", "overhead": "/", "cache": "", "free": "", "reserved": "x"}


def memory_stacks(options: Sequence[tuple[str, Sequence[tuple[str, str, int]]]]) -> dict[str, Any]:
    """The figure of what memory goes to, a bar for each option: its parts as (name, kind, bytes)."""
    figure = go.Figure(layout={"template": "none"})
    for index, (title, kind, _) in enumerate(options[0][1]):
        sizes = [round(parts[index][2] / 2**30, 3) for _, parts in options]
        if not any(sizes):
            continue
        fill = "rgba(0,0,0,0)" if kind in {"free", "reserved"} else f"var(--{kind})"
        figure.add_bar(
            y=[name for name, _ in options], x=sizes, name=title, orientation="h",
            marker={"color": fill, "line": {"color": _INK, "width": 1}, "pattern": {"shape": _PATTERNS[kind], "fgcolor": _INK, "size": 6}},
            hovertemplate=f"%{{y}}: {title} %{{x:,.2f}} GiB<extra></extra>",
        )  # fmt: skip
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title="GiB", rangemode="tozero", **_AXIS)
    figure.update_yaxes(autorange="reversed", automargin=True, **_AXIS)
    return _with_legend(_drawn(figure, height=120 + 44 * len(options)))


def _with_legend(drawn: dict[str, Any]) -> dict[str, Any]:
    """A legend above the plot."""
    drawn["layout"] |= {"showlegend": True, "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0}}
    drawn["layout"]["margin"] |= {"t": 56}
    return drawn


def library() -> str:
    """plotly's own script, for a page that must not ask anybody for it."""
    return str(get_plotlyjs())


def _drawn(figure: go.Figure, *, height: int) -> dict[str, Any]:
    figure.update_layout(
        height=height,
        margin={"l": 56, "r": 12, "t": 12, "b": 44},
        font={"size": 12, "color": _INK, "family": "inherit"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
    )
    return dict(figure.to_plotly_json())


def _short(tokens: int) -> str:
    return f"{tokens / 1024:g}k" if tokens >= 1024 else f"{tokens}"
