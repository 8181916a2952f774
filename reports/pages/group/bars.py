"""The bars of a group's figure: the generations of each process, and the owners of each partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from harness.judging.availability import Span
from reports.pages.drawing import (
    GREY,
    MAX_MARKS,
    ORANGE,
    VERMILLION,
    Mark,
    TimeAxis,
    scatter,
    shown_text,
    shown_texts,
)
from reports.pages.group.members import Member
from reports.pages.group.ownership import Piece, pieces
from reports.pages.group.story import MAX_OWNERSHIPS, Story

#: Where the bands lie in a partition's row, from its top at 0 to its bottom at 1.
BAND = (0.06, 0.36)
#: Where a process lies in its row, and below it, when it takes part in a rebalance: the middle and the height.
LIFE, JOINING = (0.41, 0.64), (0.83, 0.14)
#: The height of a process without a generation.
NARROW = 0.36
FROZEN = "rgba(120,126,135,0.85)"


class Bar(NamedTuple):
    """One bar of a row: its left edge and length in ms, its middle and height in rows, a word in it, and what it is."""

    base: float
    length: float
    y: float
    height: float
    word: str
    text: str


def lives(story: Story) -> Iterator[Mark]:
    """Yield a bar for each generation of each process, and over it when it joined a rebalance or was frozen."""
    axis = story.axis
    marks: dict[str, list[tuple[float, float, str]]] = {"killed": [], "closed": [], "close called": []}
    joining: list[Bar] = []
    frozen: list[Bar] = []
    for row, member in enumerate(story.rows):
        y = row + LIFE[0]
        yield _bars(_generations(member, story, y), member.process, story, "y")
        frozen += [_period(member, span, "frozen", (y, LIFE[1]), axis) for span in member.frozen]
        in_row = row + JOINING[0], JOINING[1]
        joining += [_period(member, span, "in a rebalance", in_row, axis) for span in member.joining]
        if member.ended and member.end_ns is not None:
            marks[member.ended].append((axis.ms(member.end_ns), y, f"{member.process} {member.ended}"))
        if member.closing_ns is not None:
            marks["close called"].append((axis.ms(member.closing_ns), y, f"{member.process}: close called"))
    yield _special(joining[:MAX_MARKS], "in a rebalance", "y", {"color": GREY})
    yield _special(frozen[:MAX_MARKS], "frozen", "y", {"color": FROZEN, "pattern": {"shape": "x"}})
    styles = {
        "killed": (VERMILLION, "x", "killed"),
        "close called": (GREY, "triangle-right-open", "close called"),
        "closed": (GREY, "square", "closed"),
    }
    for name, points in marks.items():
        xs, ys, texts = zip(*points, strict=True) if points else ((), (), ())
        yield scatter(list(xs), list(ys), shown_texts(texts), styles[name], "y", 8)


def _period(member: Member, span: Span, what: str, place: tuple[float, float], axis: TimeAxis) -> Bar:
    length = round(axis.ms(span.end_ns) - axis.ms(span.begin_ns), 3)
    return Bar(axis.ms(span.begin_ns), length, *place, "", f"{member.process} {what} for {length:,.0f} ms")


def _generations(member: Member, story: Story, y: float) -> list[Bar]:
    axis = story.axis
    end_ms = axis.end_ms if member.end_ns is None else axis.ms(member.end_ns)
    begun = [(axis.ms(member.begin_ns), -1), *((axis.ms(at), number) for at, number in member.generations)]
    ends = [*(at for at, _ in begun[1:]), end_ms]
    return [
        Bar(
            at,
            round(max(0.0, end - at), 3),
            y,
            NARROW if number < 0 else LIFE[1],
            "" if number < 0 else str(number),
            f"{member.process}: " + ("no generation yet" if number < 0 else f"{story.generation} {number}"),
        )
        for (at, number), end in zip(begun, ends, strict=True)
        if end > at
    ][:MAX_OWNERSHIPS]


def bands(story: Story) -> Iterator[Mark]:
    """Yield the bands of each process, and an outline where a partition had two owners."""
    rows = {each.number: row for row, each in enumerate(story.shown)}
    of: dict[str, list[Bar]] = {process: [] for process in story.members}
    together, fenced = list[Bar](), list[Bar]()
    for piece in pieces(story.ownerships[:MAX_OWNERSHIPS]):
        if piece.partition not in rows:
            continue
        for each, bar in zip(piece.owners, _shares(piece, rows[piece.partition], story), strict=True):
            of.setdefault(each.process, []).append(bar)
        if piece.is_shared:
            of_both = together if piece.is_of_one_generation else fenced
            of_both.append(_outline(piece, rows[piece.partition], story))
    for process, bars in of.items():
        yield _bars(bars, process, story, "y2")
    for found, name, line in (
        (together, f"two owners in one {story.generation}", VERMILLION),
        (fenced, "an older owner goes on", ORANGE),
    ):
        outline = {"color": "rgba(0,0,0,0)", "line": {"color": line, "width": 2}}
        yield _special(found, name, "y2", outline)


def _shares(piece: Piece, row: int, story: Story) -> Iterator[Bar]:
    axis, (top, bottom) = story.axis, BAND
    begin, end = axis.ms(piece.begin_ns), axis.ms(piece.end_ns)
    height = (bottom - top) / len(piece.owners)
    for number, each in enumerate(piece.owners):
        period = f"{axis.ms(each.begin_ns):,.0f} to {axis.ms(each.end_ns):,.0f} ms"
        when = f"in {story.generation} {each.generation}, " if each.generation >= 0 else ""
        how = "" if each.is_declared else ", since its first record: it has no listener"
        ended = f", then {each.ended}" if each.ended else ""
        yield Bar(
            begin,
            round(end - begin, 3),
            row + top + (number + 0.5) * height,
            round(height, 3),
            each.process,
            f"p{piece.partition}: {each.process} {when}{period}{ended}{how}",
        )


def _outline(piece: Piece, row: int, story: Story) -> Bar:
    begin, end = story.axis.ms(piece.begin_ns), story.axis.ms(piece.end_ns)
    names = " and ".join(sorted({each.process for each in piece.owners}))
    words = f"p{piece.partition}: {names} for {end - begin:,.0f} ms"
    return Bar(begin, round(end - begin, 3), row + sum(BAND) / 2, BAND[1] - BAND[0], "", words)


def _bars(bars: Sequence[Bar], process: str, story: Story, axis: str) -> Mark:
    fill, shape = story.colour(process)
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": "#ffffff", "fgopacity": 0.5, "size": 7}
    marker = {"color": fill, "opacity": 0.85, "line": {"width": 1, "color": "rgba(255,255,255,0.7)"}}
    words = shown_texts([bar.word for bar in bars])
    more = {
        "textposition": "inside",
        "insidetextanchor": "start",
        "textangle": 0,
        "textfont": {"color": "#ffffff"},
    }
    return _bar_trace(
        bars, process, axis, {**marker, "pattern": pattern}, text=words, showlegend=False, **more
    )


def _special(bars: Sequence[Bar], name: str, axis: str, marker: Mark) -> Mark:
    return _bar_trace(bars, name, axis, marker)


def _bar_trace(bars: Sequence[Bar], name: str, axis: str, marker: Mark, **more: Any) -> Mark:
    return {
        "type": "bar",
        "orientation": "h",
        "name": shown_text(name),
        "yaxis": axis,
        "x": [bar.length for bar in bars],
        "y": [round(bar.y, 3) for bar in bars],
        "base": [bar.base for bar in bars],
        "width": [bar.height for bar in bars],
        "hovertext": shown_texts([bar.text for bar in bars]),
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": marker,
        **more,
    }
