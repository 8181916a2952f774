"""The plot of one trial: the duration of each send, the frames of every connection, and the windows of the faults.

A figure is plain data in plotly's schema (``{"data": [...], "layout": {...}}``), so it can be built and tested without
plotly. The page's script adds the theme's colours. x is milliseconds since the load phase began.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from itertools import compress, islice
from typing import Any

from harness.judging.frame_excerpt import origin_ns
from harness.model.evidence import Evidence, Operation
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.plugins import registry
from harness.plugins.workload import WorkloadKind
from harness.text.counting import some
from harness.text.escaping import safe_each, safe_line
from reports.pages.payload import HOLE, MOST, Numbered
from reports.pages.rounding import between_ms, in_ms, thousandths

Figure = dict[str, Any]
Mark = dict[str, Any]

MAX_MARKS = 10_000
MAX_LANES = 24
MAX_CHARS = 200
LANE_PX = 30

BLUE, ORANGE, VERMILLION, PURPLE, GREY = "#0072B2", "#E69F00", "#D55E00", "#CC79A7", "#8a8f98"

#: outcome -> colour, marker, words: no two outcomes differ by colour alone.
OUTCOMES: dict[str, tuple[str, str, str]] = {
    "ok": (BLUE, "circle", "{done}"),
    "fail": (VERMILLION, "x", "failed for certain"),
    "info": (ORANGE, "diamond-open", "error, fate unknown"),
    "pending": (PURPLE, "triangle-up-open", "no result at all"),
}

#: group of frames -> colour, marker, words. Requests are drawn above the middle of their lane, responses below.
FRAME_MARKS: dict[str, tuple[str, str, str]] = {
    "request": (GREY, "line-ns-open", "{api} request"),
    "again": (ORANGE, "diamond", "{api} request, sent again"),
    "response": (BLUE, "circle", "{api} response"),
    "error": (VERMILLION, "x", "response with an error"),
    "other": (GREY, "circle-open", "other request"),
    "closed": (VERMILLION, "line-ns-open", "connection closed"),
}


def timeline(evidence: Evidence, resent: Collection[int], windows: Iterable[dict[str, Any]]) -> Figure:
    """Plot the latency of each send on top, one lane per connection below, with faults and phases across both.

    ``resent``: numbers of the frames that send a batch again. ``windows``: rows of the table latency_windows.
    """
    load_ns = origin_ns(evidence)
    kind = registry.workload(evidence.record.spec.workload.kind)

    def since_ms(t_ns: int) -> float:
        return round((t_ns - load_ns) / 1e6, 3)

    end_ms = since_ms(_end_ns(evidence, load_ns))
    start_ms = min(0.0, since_ms(_start_ns(evidence, load_ns)))
    lanes = _lanes(evidence.frames)
    data = [
        *_sends(evidence.operations.values(), kind, load_ns, end_ms),
        _percentile(windows, kind.done),
        *_connections(evidence.frames, lanes, since_ms, end_ms),
        *_frames(evidence.frames, lanes, kind.api, resent, since_ms),
    ]
    shapes, labels = _faults(evidence.faults, since_ms, end_ms)
    starts, names = _phases(evidence, since_ms)
    layout = {
        "shapes": shapes + starts,
        "annotations": labels + names,
        "height": 470 + LANE_PX * max(2, len(lanes)),
        "hovermode": "closest",
        # At 800 pixels, the legend takes five lines below the title of the axis.
        "margin": {"l": 150, "r": 16, "t": 46, "b": 150},
        "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        "xaxis": {
            "title": {"text": "ms since load began"},
            "range": [start_ms - 0.01 * end_ms, end_ms * 1.01],
            "anchor": "y2",
        },
        "yaxis": {
            "title": {"text": f"ms until a {kind.element} has its result (log)"},
            "type": "log",
            "domain": [_split(lanes), 1],
        },
        "yaxis2": {
            "domain": [0, _split(lanes) - 0.06],
            "tickvals": list(range(len(lanes))),
            "ticktext": [f"conn {conn} → broker {broker}" for conn, broker in lanes],
            "range": [max(1, len(lanes)) - 0.4, -0.6],
            "zeroline": False,
        },
    }
    return {"data": [trace for trace in data if trace["x"]], "layout": layout}


def notes(evidence: Evidence) -> list[str]:
    """Return sentences about data that the plot omits."""
    kind = registry.workload(evidence.record.spec.workload.kind)
    sends, connections = len(evidence.operations), len({frame.conn for frame in evidence.frames})
    said = []
    if sends > MAX_MARKS:
        said.append(f"The first {MAX_MARKS:,} of {some(sends, kind.element)} are drawn.")
    if len(evidence.frames) > MAX_MARKS:
        said.append(f"The first {MAX_MARKS:,} of {len(evidence.frames):,} frames are drawn.")
    if connections > MAX_LANES:
        said.append(f"The first {MAX_LANES} of {connections} connections are drawn.")
    return said


def _start_ns(evidence: Evidence, load_ns: int) -> int:
    """Return the time of the first send or frame. A client connects, and may be warmed up, before load begins."""
    firsts = [send.invoke_ns for send in islice(evidence.operations.values(), 1)]
    return min([*firsts, *(frame.t_ns for frame in evidence.frames[:1])], default=load_ns)


def _end_ns(evidence: Evidence, load_ns: int) -> int:
    phases = evidence.record.phases
    known = [moment for moment in (phases.final_ns, phases.end_ns) if moment is not None]
    return max(known[:1] or [frame.t_ns for frame in evidence.frames[-1:]], default=load_ns + 1)


def _split(lanes: Sequence[object]) -> float:
    """Return the share of the height for the lanes, with the gap above them."""
    lanes_px = LANE_PX * max(2, len(lanes))
    return (lanes_px + 20) / (lanes_px + 290)


def _sends(sends: Iterable[Operation], kind: WorkloadKind, load_ns: int, end_ms: float) -> list[Mark]:
    groups: dict[str, list[Operation]] = {name: [] for name in OUTCOMES}
    for send in islice(sends, MAX_MARKS):
        groups["pending" if send.complete_ns is None else send.outcome].append(send)
    marks = []
    for name, (colour, symbol, words) in OUTCOMES.items():
        starts = thousandths([send.invoke_ns - load_ns for send in groups[name]])
        xs = in_ms(starts)
        if name == "pending":
            ys = [max(0.01, end_ms - x) for x in xs]
            texts: Sequence[str] = shown_texts(
                [f"{kind.element} {send.n}: no result" for send in groups[name]]
            )
        else:
            ended = [send.complete_ns for send in groups[name] if send.complete_ns is not None]
            ys = between_ms(starts, thousandths([each - load_ns for each in ended]))
            texts = _labels(groups[name], kind.element)
        marks.append(_scatter(xs, ys, texts, (colour, symbol, words.format(done=kind.done)), "y", 5))
    return marks


def _labels(sends: Sequence[Operation], element: str) -> Sequence[str]:
    """Return a text for each send with a result. Without errors, they differ only in numbers and few partitions."""
    numbers, offsets = [send.n for send in sends], [send.offset for send in sends]
    if any(send.error for send in sends) or max([*numbers, *offsets], default=0) > MOST:
        return shown_texts([f"{element} {send.n}{_at(send)} {send.error or ''}".rstrip() for send in sends])
    partitions = [
        send.partition if offset >= 0 else None for send, offset in zip(sends, offsets, strict=True)
    ]
    places = {partition: place for place, partition in enumerate(dict.fromkeys(partitions))}
    which = [places[partition] for partition in partitions]
    inside = [[place == each for each in which] for place in places.values()]
    named = shown_text(element)
    return Numbered(
        [f"{named} {HOLE}" + ("" if each is None else f" → p{each}@{HOLE}") for each in places],
        which,
        [
            [
                [*compress(numbers, each)],
                *([] if partition is None else [[*compress(offsets, each)]]),
            ]
            for partition, each in zip(places, inside, strict=True)
        ],
    )


def _at(send: Operation) -> str:
    return f" → p{send.partition}@{send.offset}" if send.offset >= 0 else ""


def _percentile(windows: Iterable[dict[str, Any]], done: str) -> Mark:
    rows = [row for row in windows if row["p95_ms"] is not None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "p95 of 250 ms",
        "x": [row["from_ms"] + 125 for row in rows],
        "y": [round(row["p95_ms"], 2) for row in rows],
        "text": [f"{row['acked']} {done}" for row in rows],
        "line": {"shape": "hvh", "width": 1.2, "color": GREY},
        "hovertemplate": "p95 %{y} ms, %{text}<extra></extra>",
    }


def _lanes(frames: Iterable[Frame]) -> list[tuple[int, int]]:
    return sorted({(frame.conn, frame.broker) for frame in frames})[:MAX_LANES]


def _connections(
    frames: Iterable[Frame], lanes: list[tuple[int, int]], since_ms: Callable[[int], float], end_ms: float
) -> list[Mark]:
    """Return one bar per connection, from its first row to its close (or to the end of the trial)."""
    opened: dict[tuple[int, int], float] = {}
    closed: dict[tuple[int, int], float] = {}
    for frame in frames:
        lane = (frame.conn, frame.broker)
        opened.setdefault(lane, since_ms(frame.t_ns))
        if frame.kind is FrameKind.CLOSE:
            closed[lane] = since_ms(frame.t_ns)
    xs: list[float | None] = []
    ys: list[int | None] = []
    for y, lane in enumerate(lanes):
        xs += [opened[lane], closed.get(lane, end_ms), None]
        ys += [y, y, None]
    line = {"width": 20, "color": "rgba(138,143,152,0.20)"}
    return [_trace(xs, ys, "connection open", "y2", mode="lines", line=line, hoverinfo="skip")]


def _frames(
    frames: Sequence[Frame],
    lanes: list[tuple[int, int]],
    api: str,
    resent: Collection[int],
    since_ms: Callable[[int], float],
) -> list[Mark]:
    place = {lane: y for y, lane in enumerate(lanes)}
    groups: dict[str, list[tuple[float, float, str]]] = {name: [] for name in FRAME_MARKS}
    for number, frame in enumerate(frames[:MAX_MARKS]):
        y, group = place.get((frame.conn, frame.broker)), _group(number, frame, api, resent)
        if y is not None and group is not None:
            text = f"#{number} {frame.api or frame.kind} {frame.correlation_id or ''} {frame.closed_by or ''}"
            aside = {FrameKind.REQUEST: -0.2, FrameKind.RESPONSE: 0.2}.get(frame.kind, 0)
            groups[group].append((since_ms(frame.t_ns), y + aside, text.rstrip()))
    marks = {
        name: (colour, symbol, words.format(api=api)) for name, (colour, symbol, words) in FRAME_MARKS.items()
    }
    return [
        _scatter(
            [x for x, _, _ in rows],
            [y for _, y, _ in rows],
            shown_texts([text for _, _, text in rows]),
            marks[name],
            "y2",
            6,
        )
        for name, rows in groups.items()
    ]


def _group(number: int, frame: Frame, api: str, resent: Collection[int]) -> str | None:
    if frame.kind is FrameKind.CLOSE:
        return "closed"
    if frame.kind is FrameKind.RESPONSE and frame.error_codes:
        return "error"
    if frame.api != api:
        return "other" if frame.kind is FrameKind.REQUEST else None
    if frame.kind is FrameKind.REQUEST:
        return "again" if number in resent else "request"
    return "response"


def _faults(
    rows: Iterable[FaultRow], since_ms: Callable[[int], float], end_ms: float
) -> tuple[list[Mark], list[Mark]]:
    """Return bands for the faults' windows, and labels.

    A dashed outline is the requested window, a filled band the window in which the fault was in effect.
    """
    shapes, labels = [], []
    for row in rows:
        if row.requested_ns is not None:
            asked = {"line": {"dash": "dash", "width": 1, "color": VERMILLION}, "layer": "below"}
            start, end = map(since_ms, row.requested_ns)
            shapes.append(_band(start, end, asked))
        if row.effective_ns is not None:
            really = {"fillcolor": "rgba(213,94,0,0.13)", "line": {"width": 0}, "layer": "below"}
            start, end = map(since_ms, row.effective_ns)
            shapes.append(_band(start, max(end, start + end_ms / 600), really))
        window = row.effective_ns or row.requested_ns
        if window is not None:
            words = row.spec.kind + ("" if row.effective_ns else " (never in effect)")
            labels.append(_label(since_ms(window[0]), 1.0, words, yanchor="bottom", textangle=-18))
    return shapes, labels


def _phases(evidence: Evidence, since_ms: Callable[[int], float]) -> tuple[list[Mark], list[Mark]]:
    phases = evidence.record.phases
    known = {"heal": phases.heal_ns, "final": phases.final_ns}
    lines, names = [], []
    for name, moment in known.items():
        if moment is not None:
            x = since_ms(moment)
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
            names.append(_label(x, 0.0, f"{name} ▸", xanchor="left", yanchor="bottom"))
    return lines, names


def _band(start: float, end: float, style: Mark) -> Mark:
    return {"type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1, **style}


def _label(x: float, y: float, text: str, **style: Any) -> Mark:
    place = {"x": x, "y": y, "xref": "x", "yref": "paper", "showarrow": False, "xanchor": "left"}
    return {**place, "text": shown_text(text), "font": {"size": 10}, **style}


def shown_text(text: str) -> str:
    """Escape text, since plotly interprets a subset of HTML, including links."""
    return escape(safe_line(text, MAX_CHARS), quote=False)


def shown_texts(texts: Sequence[str]) -> list[str]:
    """Escape many texts."""
    return [escape(text, quote=False) for text in safe_each(texts, MAX_CHARS)]


def _scatter(
    xs: Sequence[float],
    ys: Sequence[float],
    texts: Sequence[str],
    style: tuple[str, str, str],
    axis: str,
    size: int,
) -> Mark:
    color, symbol, name = style
    marker = {"color": color, "symbol": symbol, "size": size, "line": {"width": 1.4, "color": color}}
    return _trace(
        xs,
        ys,
        name,
        axis,
        mode="markers",
        marker=marker,
        text=texts,
        hovertemplate="%{text}<br>at %{x} ms" + (", took %{y} ms" if axis == "y" else "") + "<extra></extra>",
    )


def _trace(xs: Sequence[object], ys: Sequence[object], name: str, axis: str, **more: Any) -> Mark:
    return {"type": "scatter", "x": xs, "y": ys, "name": name, "yaxis": axis, **more}
