"""What the figures of a trial have in common: the axis of time, the windows of faults, the phases, marks and colours.

A figure is plain data in plotly's schema (``{"data": [...], "layout": {...}}``), so it can be built and tested without
plotly. The page's script adds the theme's colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any

from harness.judging.frame_excerpt import origin_ns
from harness.model.contract import ShutdownComplete
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.text.escaping import safe_each, safe_line

Figure = dict[str, Any]
Mark = dict[str, Any]

MAX_MARKS = 10_000
MAX_CHARS = 200

BLUE, ORANGE, VERMILLION, PURPLE, GREY = "#0072B2", "#E69F00", "#D55E00", "#CC79A7", "#8a8f98"
GREEN, SKY = "#009E73", "#56B4E9"

#: What a reader sees of a point.
AT = "%{text}<br>at %{x} ms<extra></extra>"
#: The margins of a figure over time, so that all of a page have the same axis in the same place.
MARGIN = {"l": 150, "r": 16, "t": 46}
LEGEND = {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}


@dataclass(frozen=True)
class TimeAxis:
    """Milliseconds since the load phase began, from the first send or frame until the clients have closed."""

    origin_ns: int
    start_ms: float
    end_ms: float

    @classmethod
    def of(cls, evidence: Evidence) -> TimeAxis:
        """Return the axis of a trial. Its client connects, and may be warmed up, before load begins."""
        load_ns = origin_ns(evidence)
        firsts = [send.invoke_ns for send in islice(evidence.operations.values(), 1)]
        start_ns = min([*firsts, *(frame.t_ns for frame in evidence.frames[:1])], default=load_ns)
        axis = cls(load_ns, 0.0, 0.0)
        return cls(load_ns, min(0.0, axis.ms(start_ns)), axis.ms(_end_ns(evidence, load_ns)))

    def ms(self, t_ns: int) -> float:
        """Return a time on this axis."""
        return round((t_ns - self.origin_ns) / 1e6, 3)

    def layout(self, anchor: str) -> dict[str, Any]:
        """Return the axis as plotly's, below the axis ``anchor``."""
        return {
            "title": {"text": "ms since load began"},
            "range": [self.start_ms - 0.01 * self.end_ms, self.end_ms * 1.01],
            "anchor": anchor,
        }


def _end_ns(evidence: Evidence, load_ns: int) -> int:
    phases = evidence.record.phases
    known = [moment for moment in (phases.final_ns, phases.end_ns) if moment is not None]
    closed = [event.mono_ns for event in evidence.history if isinstance(event, ShutdownComplete)]
    return max([*closed, *(known[:1] or [frame.t_ns for frame in evidence.frames[-1:]]), load_ns + 1])


def faults(rows: Iterable[FaultRow], axis: TimeAxis) -> tuple[list[Mark], list[Mark]]:
    """Return bands for the faults' windows, and labels.

    A dashed outline is the requested window, a filled band the window in which the fault was in effect.
    """
    shapes, labels = [], []
    for row in rows:
        if row.requested_ns is not None:
            asked = {"line": {"dash": "dash", "width": 1, "color": VERMILLION}, "layer": "below"}
            start, end = map(axis.ms, row.requested_ns)
            shapes.append(_band(start, end, asked))
        if row.effective_ns is not None:
            really = {"fillcolor": "rgba(213,94,0,0.13)", "line": {"width": 0}, "layer": "below"}
            start, end = map(axis.ms, row.effective_ns)
            shapes.append(_band(start, max(end, start + axis.end_ms / 600), really))
        window = row.effective_ns or row.requested_ns
        if window is not None:
            words = row.spec.kind + ("" if row.effective_ns else " (never in effect)")
            labels.append(label(axis.ms(window[0]), 1.0, words, yanchor="bottom", textangle=-18))
    return shapes, labels


def phases(evidence: Evidence, axis: TimeAxis) -> tuple[list[Mark], list[Mark]]:
    """Return a line where each phase after the load begins, and labels."""
    began = evidence.record.phases
    known = {"heal": began.heal_ns, "final": began.final_ns}
    lines, names = [], []
    for name, moment in known.items():
        if moment is not None:
            x = axis.ms(moment)
            line = {"dash": "dot", "width": 1, "color": GREY}
            lines.append(
                {
                    "type": "line",
                    "xref": "x",
                    "yref": "paper",
                    "x0": x,
                    "x1": x,
                    "y0": 0,
                    "y1": 1,
                    "line": line,
                }
            )
            names.append(label(x, 0.0, f"{name} ▸", xanchor="left", yanchor="bottom"))
    return lines, names


def _band(start: float, end: float, style: Mark) -> Mark:
    return {"type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1, **style}


def label(x: float, y: float, text: str, **style: Any) -> Mark:
    """Return a text beside a point. x is on the axis of time, y is a share of the figure's height."""
    place = {"x": x, "y": y, "xref": "x", "yref": "paper", "showarrow": False, "xanchor": "left"}
    return {**place, "text": shown_text(text), "font": {"size": 10}, **style}


def shown_text(text: str) -> str:
    """Escape text, since plotly interprets a subset of HTML, including links."""
    return escape(safe_line(text, MAX_CHARS), quote=False)


def shown_texts(texts: Sequence[str]) -> list[str]:
    """Escape many texts."""
    return [escape(text, quote=False) for text in safe_each(texts, MAX_CHARS)]


def scatter(
    xs: Sequence[float],
    ys: Sequence[float],
    texts: Sequence[str],
    style: tuple[str, str, str],
    axis: str,
    size: int,
    hover: str = AT,
) -> Mark:
    """Return points, each with its text. ``style``: colour, symbol and name. ``hover``: what a reader sees of one."""
    color, symbol, name = style
    marker = {"color": color, "symbol": symbol, "size": size, "line": {"width": 1.4, "color": color}}
    return trace(
        xs,
        ys,
        name,
        axis,
        mode="markers",
        marker=marker,
        text=texts,
        hovertemplate=hover,
    )


def trace(xs: Sequence[object], ys: Sequence[object], name: str, axis: str, **more: Any) -> Mark:
    """Return one of the figure's series."""
    return {"type": "scatter", "x": xs, "y": ys, "name": name, "yaxis": axis, **more}
