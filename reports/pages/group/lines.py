"""The offsets of a group's figure: the end of each log, the positions of the members, the lag, and the commits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from reports.pages.drawing import (
    GREY,
    MAX_MARKS,
    ORANGE,
    VERMILLION,
    Mark,
    TimeAxis,
    scatter,
    shown_texts,
    trace,
)
from reports.pages.group.offsets import Partition, Turn
from reports.pages.group.story import MAX_OWNERSHIPS, Story

#: The lines of all partitions together have at most about this many points.
MAX_POINTS = 12_000
#: Where the offsets lie in a partition's row, from its top at 0 to its bottom at 1.
OFFSETS = (0.44, 0.94)

#: (ns, offset) at each change.
Steps = Sequence[tuple[int, int]]
_HOVER = {"hovertemplate": "%{text}<br>at %{x} ms<extra></extra>"}


class _Line:
    """Points of a line with their texts. A point without a place ends a part of the line."""

    def __init__(self) -> None:
        self._points: list[tuple[float | None, float | None, str]] = []

    def add(self, points: Sequence[tuple[float, float, str]]) -> None:
        self._points += [*points, (None, None, "")]

    def trace(self, name: str, **more: Any) -> Mark:
        xs, ys, texts = zip(*self._points, strict=True) if self._points else ((), (), ())
        return trace(list(xs), list(ys), name, "y2", text=shown_texts(texts), **more)


def every(story: Story) -> int:
    """Return of how many steps one is drawn, so that all lines together have about ``MAX_POINTS`` points."""
    points = sum(4 * len(each.written) + 12 * len(each.turns) for each in story.shown)
    return max(1, -(-points // MAX_POINTS))


def offsets(story: Story) -> Iterator[Mark]:
    """Yield the lag as an area, the end of the log and the positions as lines, and where records came again."""
    most, area, ends = every(story), _Line(), _Line()
    positions: dict[str, _Line] = {}
    again: list[tuple[float, float, str]] = []
    for row, each in enumerate(story.shown):
        place = _Place(row, each)
        changes = each.changes()
        upper = _steps(_thin([(change.at_ns, change.end) for change in changes], most), story.axis)
        lower = _steps(_thin([(change.at_ns, change.position) for change in changes], most), story.axis)
        area.add([(x, place(offset), "") for x, offset in (*upper, *reversed(lower))])
        ends.add([(x, place(offset), f"p{each.number}: end of the log {offset}") for x, offset in upper])
        for process, steps in _walks(each, story):
            points = _steps(_thin(steps, most), story.axis)
            words = f"p{each.number}: {process} at "
            positions.setdefault(process, _Line()).add([(x, place(at), f"{words}{at}") for x, at in points])
        again += [
            (story.axis.ms(turn.at_ns), place(turn.first), f"p{each.number}: {_again(turn)}")
            for turn in each.turns
            if turn.again
        ]
    lag = {"fill": "toself", "fillcolor": "rgba(230,159,0,0.32)", "line": {"width": 0}, "hoverinfo": "skip"}
    yield area.trace("lag", mode="lines", **lag)
    yield ends.trace("end of the log", mode="lines", line={"width": 1, "color": GREY}, **_HOVER)
    for process, line in positions.items():
        style = {"width": 1.8, "color": story.colour(process)[0]}
        yield line.trace(process, mode="lines", line=style, showlegend=False, **_HOVER)
    yield _points(again, (ORANGE, "diamond-open", "delivered again"), 7)


def commits(story: Story) -> Iterator[Mark]:
    """Yield the commits by their results, and what the coordinator has at the end."""
    axis = story.axis
    groups: dict[bool, list[tuple[float, float, str]]] = {True: [], False: []}
    stored: list[tuple[float, float, str]] = []
    left = MAX_MARKS
    for row, each in enumerate(story.shown):
        place = _Place(row, each)
        for commit in each.commits[:left]:
            done = "committed" if commit.success else f"could not commit ({commit.error})"
            text = f"p{each.number}: {commit.process} {done} {commit.offset}, {commit.how}"
            groups[commit.success].append((axis.ms(commit.at_ns), place(commit.offset), text))
        left -= min(left, len(each.commits))
        if each.stored is not None:
            words = f"p{each.number}: the coordinator has {each.stored} at the end"
            stored.append((axis.end_ms, place(each.stored), words))
    yield _points(groups[True], (GREY, "circle-open", "committed"), 4)
    yield _points(groups[False], (VERMILLION, "x", "commit failed"), 7)
    yield _points(stored, (GREY, "star", "stored at the end"), 8)


class _Place:
    """Where the offsets of a partition lie in its row."""

    def __init__(self, row: int, partition: Partition) -> None:
        self._row, self._last = row, partition.last

    def __call__(self, offset: int) -> float:
        top, bottom = OFFSETS
        return round(self._row + bottom - (bottom - top) * min(1.0, max(0.0, offset / self._last)), 3)


def _points(points: Sequence[tuple[float, float, str]], style: tuple[str, str, str], size: int) -> Mark:
    xs, ys, words = zip(*points[:MAX_MARKS], strict=True) if points else ((), (), ())
    return scatter(list(xs), list(ys), shown_texts(words), style, "y2", size)


def _walks(partition: Partition, story: Story) -> Iterator[tuple[str, Steps]]:
    """Yield a process and its positions, for each ownership of the partition. A turn goes from its first offset on."""
    mine = [each for each in story.ownerships[:MAX_OWNERSHIPS] if each.partition == partition.number]
    for process in dict.fromkeys(turn.process for turn in partition.turns):
        owned = [each for each in mine if each.process == process]
        begins = [each.begin_ns for each in owned]
        runs: dict[int, list[tuple[int, int]]] = {}
        for turn in partition.turns:
            if turn.process == process:
                run = runs.setdefault(bisect_right(begins, turn.at_ns) - 1, [])
                run += [(turn.at_ns, turn.first), (turn.at_ns, turn.next)]
        for number, run in runs.items():
            end_ns = owned[number].end_ns if number >= 0 else run[-1][0]
            yield process, [*run, (max(end_ns, run[-1][0]), run[-1][1])]


def _steps(changes: Steps, axis: TimeAxis) -> list[tuple[float, int]]:
    """Return the corners of a line that keeps each offset until the next change."""
    corners: list[tuple[float, int]] = []
    for at_ns, offset in changes:
        x = axis.ms(at_ns)
        if corners and corners[-1][1] != offset and corners[-1][0] != x:
            corners.append((x, corners[-1][1]))
        corners.append((x, offset))
    return corners


def _thin(steps: Steps, most: int) -> Steps:
    """Return of each few steps the first, the least, the greatest and the last."""
    if most <= 1:
        return steps
    found: list[tuple[int, int]] = []
    for at in range(0, len(steps), 4 * most):
        few = steps[at : at + 4 * most]
        offsets_ = [offset for _, offset in few]
        kept = {0, offsets_.index(min(offsets_)), offsets_.index(max(offsets_)), len(few) - 1}
        found += [few[index] for index in sorted(kept)]
    return found


def _again(turn: Turn) -> str:
    return f"{turn.again} of {turn.records} records from {turn.first} on delivered again to {turn.process}"
