"""Figures for plotly, as plain data: the browser draws them, and only where somebody scrolls to them."""

from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go

# Drawn in the page's own colours: curve.js puts the theme's in place of these names.
_INK: Final = "var(--muted)"
_LINE: Final = "var(--cache-line)"
_MARK: Final = "var(--accent)"


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
    axis = {"gridcolor": "var(--hairline)", "linecolor": "var(--hairline)", "zeroline": False, "fixedrange": True}
    figure.update_xaxes(
        title="tokens of context", type="log", tickvals=ticks, ticktext=[_short(tokens) for tokens in ticks], tickangle=0, **axis
    )
    figure.update_yaxes(title="slots that fit", rangemode="tozero", **axis)
    figure.update_layout(
        height=280,
        margin={"l": 48, "r": 12, "t": 12, "b": 44},
        font={"size": 12, "color": _INK, "family": "inherit"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
    )
    return dict(figure.to_plotly_json())


def _short(tokens: int) -> str:
    return f"{tokens / 1024:g}k" if tokens >= 1024 else f"{tokens}"
