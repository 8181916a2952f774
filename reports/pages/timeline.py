"""The plot of one trial: the duration of each send, the frames of every connection, and the windows of the faults."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import compress, islice
from typing import Any

from harness.model.evidence import Evidence, Operation
from harness.model.rows import Frame, FrameKind
from harness.plugins import registry
from harness.plugins.workload import WorkloadKind
from harness.text.counting import some
from reports.pages.drawing import (
    BLUE,
    GREY,
    LEGEND,
    MARGIN,
    MAX_MARKS,
    ORANGE,
    PURPLE,
    VERMILLION,
    Figure,
    Mark,
    TimeAxis,
    faults,
    phases,
    scatter,
    shown_text,
    shown_texts,
    trace,
)
from reports.pages.payload import HOLE, MOST, Numbered
from reports.pages.rounding import between_ms, in_ms, thousandths

MAX_LANES = 24
LANE_PX = 30
#: What a reader sees of a send.
TOOK = "%{text}<br>at %{x} ms, took %{y} ms<extra></extra>"

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
    kind = registry.workload(evidence.record.spec.workload.kind)
    axis = TimeAxis.of(evidence)
    lanes = _lanes(evidence.frames)
    data = [
        *_sends(evidence.operations.values(), kind, axis),
        _percentile(windows, kind.done),
        *_connections(evidence.frames, lanes, axis),
        *_frames(evidence.frames, lanes, kind.api, resent, axis),
    ]
    shapes, labels = faults(evidence.faults, axis)
    starts, names = phases(evidence, axis)
    layout = {
        "shapes": shapes + starts,
        "annotations": labels + names,
        "height": 470 + LANE_PX * max(2, len(lanes)),
        "hovermode": "closest",
        # At 800 pixels, the legend takes five lines below the title of the axis.
        "margin": {**MARGIN, "b": 150},
        "legend": LEGEND,
        "xaxis": axis.layout("y2"),
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
    return {"data": [each for each in data if each["x"]], "layout": layout}


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


def _split(lanes: Sequence[object]) -> float:
    """Return the share of the height for the lanes, with the gap above them."""
    lanes_px = LANE_PX * max(2, len(lanes))
    return (lanes_px + 20) / (lanes_px + 290)


def _sends(sends: Iterable[Operation], kind: WorkloadKind, axis: TimeAxis) -> list[Mark]:
    groups: dict[str, list[Operation]] = {name: [] for name in OUTCOMES}
    for send in islice(sends, MAX_MARKS):
        groups["pending" if send.complete_ns is None else send.outcome].append(send)
    marks = []
    for name, (colour, symbol, words) in OUTCOMES.items():
        starts = thousandths([send.invoke_ns - axis.origin_ns for send in groups[name]])
        xs = in_ms(starts)
        if name == "pending":
            ys = [max(0.01, axis.end_ms - x) for x in xs]
            texts: Sequence[str] = shown_texts(
                [f"{kind.element} {send.n}: no result" for send in groups[name]]
            )
        else:
            ended = [send.complete_ns for send in groups[name] if send.complete_ns is not None]
            ys = between_ms(starts, thousandths([each - axis.origin_ns for each in ended]))
            texts = _labels(groups[name], kind.element)
        marks.append(scatter(xs, ys, texts, (colour, symbol, words.format(done=kind.done)), "y", 5, TOOK))
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


def _connections(frames: Iterable[Frame], lanes: list[tuple[int, int]], axis: TimeAxis) -> list[Mark]:
    """Return one bar per connection, from its first row to its close (or to the end of the trial)."""
    opened: dict[tuple[int, int], float] = {}
    closed: dict[tuple[int, int], float] = {}
    for frame in frames:
        lane = (frame.conn, frame.broker)
        opened.setdefault(lane, axis.ms(frame.t_ns))
        if frame.kind is FrameKind.CLOSE:
            closed[lane] = axis.ms(frame.t_ns)
    xs: list[float | None] = []
    ys: list[int | None] = []
    for y, lane in enumerate(lanes):
        xs += [opened[lane], closed.get(lane, axis.end_ms), None]
        ys += [y, y, None]
    line = {"width": 20, "color": "rgba(138,143,152,0.20)"}
    return [trace(xs, ys, "connection open", "y2", mode="lines", line=line, hoverinfo="skip")]


def _frames(
    frames: Sequence[Frame],
    lanes: list[tuple[int, int]],
    api: str,
    resent: Collection[int],
    axis: TimeAxis,
) -> list[Mark]:
    place = {lane: y for y, lane in enumerate(lanes)}
    groups: dict[str, list[tuple[float, float, str]]] = {name: [] for name in FRAME_MARKS}
    for number, frame in enumerate(frames[:MAX_MARKS]):
        y, group = place.get((frame.conn, frame.broker)), _group(number, frame, api, resent)
        if y is not None and group is not None:
            text = f"#{number} {frame.api or frame.kind} {frame.correlation_id or ''} {frame.closed_by or ''}"
            aside = {FrameKind.REQUEST: -0.2, FrameKind.RESPONSE: 0.2}.get(frame.kind, 0)
            groups[group].append((axis.ms(frame.t_ns), y + aside, text.rstrip()))
    marks = {
        name: (colour, symbol, words.format(api=api)) for name, (colour, symbol, words) in FRAME_MARKS.items()
    }
    return [
        scatter(
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
