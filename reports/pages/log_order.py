"""The plot of a trial's log order: the position of each record against the order of sending.

In a healthy partition the plot is a line that only rises. A further copy drops back to the number of its record, and a
record that was overtaken is below the line. The result is plain data in plotly's schema.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter

from harness.model.evidence import Evidence
from harness.model.rows import LogRecord
from reports.pages.drawing import BLUE, MAX_MARKS, ORANGE, Figure

Places = Iterable[tuple[int, LogRecord]]
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "star")


def log_order(evidence: Evidence) -> Figure:
    """Plot offset (x) against record number (y), with one symbol per partition and further copies in orange."""
    groups: defaultdict[tuple[int, bool], list[tuple[int, LogRecord]]] = defaultdict(list)
    for again, places in enumerate(_places(evidence)):
        for place in places:
            groups[place[1].partition, again > 0].append(place)
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"p{partition}" + (", further copies" if again else ""),
            "x": [record.offset for _, record in inside[:MAX_MARKS]],
            "y": [n for n, _ in inside[:MAX_MARKS]],
            "marker": {
                "color": ORANGE if again else BLUE,
                "symbol": SYMBOLS[partition % len(SYMBOLS)] + ("-open" if again else ""),
                "size": 6 if again else 4,
            },
            "hovertemplate": "record %{y} at offset %{x}<extra></extra>",
        }
        for (partition, again), inside in sorted(groups.items(), key=itemgetter(0))
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


def _places(evidence: Evidence) -> tuple[Places, Places]:
    """Return the first place of each record in the log, and those of further copies, in the order of the first places.

    They are the places of ``evidence.copies``. Its lists, one for each record, would take longer than the plot.
    """
    firsts = dict[int, LogRecord]()
    again = dict[int, list[LogRecord]]()
    for record, n in zip(evidence.log, evidence.numbers, strict=True):
        if n is not None and not record.control and firsts.setdefault(n, record) is not record:
            again.setdefault(n, []).append(record)
    further = ((n, record) for n in firsts if n in again for record in again[n]) if again else ()
    return firsts.items(), further
