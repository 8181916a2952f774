"""The plot of a trial's log order: the position of each record against the order of sending.

In a healthy partition the plot is a line that only rises. A further copy drops back to the number of its record, and a
record that was overtaken is below the line. The result is plain data in plotly's schema.
"""

from __future__ import annotations

from collections import defaultdict

from harness.model.evidence import Evidence
from reports.pages.drawing import BLUE, MAX_MARKS, ORANGE, Figure

SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "star")


def log_order(evidence: Evidence) -> Figure:
    """Plot offset (x) against record number (y), with one symbol per partition and further copies in orange."""
    groups: defaultdict[tuple[int, bool], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for n, copies in evidence.copies.items():
        for before, record in enumerate(copies):
            xs, ys = groups[record.partition, before > 0]
            if len(xs) < MAX_MARKS:
                xs.append(record.offset)
                ys.append(n)
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"p{partition}" + (", further copies" if again else ""),
            "x": xs,
            "y": ys,
            "marker": {
                "color": ORANGE if again else BLUE,
                "symbol": SYMBOLS[partition % len(SYMBOLS)] + ("-open" if again else ""),
                "size": 6 if again else 4,
            },
            "hovertemplate": "record %{y} at offset %{x}<extra></extra>",
        }
        for (partition, again), (xs, ys) in sorted(groups.items())
    ]
    layout = {
        "height": 340,
        "hovermode": "closest",
        "margin": {"l": 70, "r": 16, "t": 10, "b": 96},
        "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        "xaxis": {"title": {"text": "offset in the partition"}},
        "yaxis": {"title": {"text": "record number (order of sending)"}},
    }
    return {"data": data, "layout": layout}
