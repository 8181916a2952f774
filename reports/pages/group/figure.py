"""The plot of a group: a row for each process above, and for each partition below.

A partition's row has two halves. In the upper one, a band says who owned it, in the colour of the member; two owners at
once share its height. In the lower one, offsets rise from the row's bottom: the end of the log, the positions of the
members and what they committed. What lies between end and position is the lag.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.model.evidence import Evidence
from harness.text.counting import some
from reports.pages.drawing import LEGEND, MARGIN, MAX_MARKS, Figure, faults, phases, shown_text
from reports.pages.group import bars, lines
from reports.pages.group.members import Member
from reports.pages.group.story import MAX_MEMBERS, MAX_OWNERSHIPS, MAX_PARTITIONS, Story

MEMBER_PX, PARTITION_PX, GAP_PX, LEGEND_PX = 30, 64, 26, 110


def figure(evidence: Evidence, story: Story) -> Figure:
    """Plot members above and partitions below, with faults and phases across both."""
    axis = story.axis
    rows, shown = story.rows, story.shown
    data = [
        *bars.lives(story),
        *bars.bands(story),
        *lines.offsets(story),
        *lines.commits(story),
    ]
    shapes, labels = faults(evidence.faults, axis)
    starts, names = phases(evidence, axis)
    above, below = MEMBER_PX * max(1, len(rows)), PARTITION_PX * max(1, len(shown))
    split = below / (above + below + GAP_PX)
    layout = {
        "shapes": shapes + starts,
        "annotations": labels + names,
        "height": above + below + GAP_PX + int(MARGIN["t"]) + LEGEND_PX,
        "hovermode": "closest",
        "barmode": "overlay",
        "bargap": 0,
        "uniformtext": {"mode": "hide", "minsize": 9},
        "margin": {**MARGIN, "b": LEGEND_PX},
        "legend": LEGEND,
        "xaxis": axis.layout("y2"),
        "yaxis": {
            **_rows([_named(each) for each in rows]),
            "domain": [split + GAP_PX / (above + below + GAP_PX), 1],
        },
        "yaxis2": {**_rows([f"partition {each.number}" for each in shown]), "domain": [0, split]},
    }
    return {"data": [each for each in data if each["x"]], "layout": layout}


def _rows(names: Sequence[str]) -> dict[str, Any]:
    return {
        "tickvals": [row + 0.5 for row in range(len(names))],
        "ticktext": [shown_text(name) for name in names],
        "range": [max(1, len(names)), 0],
        "zeroline": False,
        "showgrid": False,
    }


def _named(member: Member) -> str:
    return member.process + (f" {member.companion}" if member.companion else "")


def notes(story: Story) -> list[str]:
    """Return sentences about data that the plot omits."""
    commits = sum(len(each.commits) for each in story.shown)
    limits = (
        (len(story.members), MAX_MEMBERS, "process"),
        (len(story.partitions), MAX_PARTITIONS, "partition"),
        (len(story.ownerships), MAX_OWNERSHIPS, "ownership"),
        (commits, MAX_MARKS, "commit"),
    )
    said = [
        f"The first {most:,} of {some(count, noun)} are drawn."
        for count, most, noun in limits
        if count > most
    ]
    if lines.every(story) > 1:
        said.append("Lines leave out steps between their extremes.")
    return said
