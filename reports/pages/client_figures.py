"""The four plots of a client: availability over the fault, recovery, latency, and duplicates with amplification.

Each is a figure in plotly's schema, with a caption and the same numbers as a table for readers who do not see it.
Series differ by symbol and line style as well as by colour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from statistics import median
from typing import Any

from harness.model.rows import TrialVerdict
from harness.model.units import NS_PER_MS
from harness.outcomes import words
from harness.outcomes.cells import counted
from harness.outcomes.metrics import Metric, metrics
from reports.pages.drawing import BLUE, GREY, ORANGE, PURPLE, VERMILLION, Figure, Mark, shown_text

#: The step of the plot of availability. The windows of the table are shorter.
STEP_MS = 500
#: More series cannot be told apart; the table has all of them.
MOST_SERIES = 8
MS_PER_S = 1_000

GREEN, SKY, BROWN = "#009E73", "#56B4E9", "#8c6d31"
STYLES = (
    (BLUE, "circle", "solid"),
    (VERMILLION, "x", "dash"),
    (GREEN, "square", "dot"),
    (ORANGE, "diamond", "dashdot"),
    (PURPLE, "triangle-up", "longdash"),
    (SKY, "cross", "longdashdot"),
    (GREY, "star", "5px,2px,2px,2px"),
    (BROWN, "triangle-down", "2px,6px"),
)
NO_FAULT = "no fault"

Windows = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Plot:
    """A figure and what it says: a title, a caption, and the numbers as a table. Without numbers nothing is drawn."""

    name: str
    title: str
    caption: str
    figure: Figure
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def plots(
    verdicts: Sequence[TrialVerdict],
    windows: Windows,
    loads_ns: Mapping[str, int | None],
    element: str,
    done: str,
) -> list[Plot]:
    """Return the plots of one client's trials.

    ``windows``: trial -> its rows of the table latency_windows. ``loads_ns``: trial -> when its load began. ``element``
    and ``done`` are what the workload calls an element of the load, and one that succeeded.
    """
    trials = counted(verdicts)
    return [
        _availability(trials, windows, loads_ns, element, done),
        _recovery(trials),
        _latency(trials, element),
        _amplification(trials, element),
    ]


def kinds(verdict: TrialVerdict) -> str:
    """Return the kinds of the faults that took effect in a trial, as text."""
    found = sorted({fault.kind for fault in verdict.faults if fault.effective_ns is not None})
    return " + ".join(found).replace("_", " ") or NO_FAULT


def in_effect_ms(verdict: TrialVerdict) -> float:
    """Return how long faults were in effect, as the sum of their windows."""
    ends = [fault.effective_ns for fault in verdict.faults if fault.effective_ns is not None]
    return sum(end - begin for begin, end in ends) / NS_PER_MS


def _by_kind(trials: Iterable[TrialVerdict]) -> dict[str, list[TrialVerdict]]:
    found: dict[str, list[TrialVerdict]] = defaultdict(list)
    for trial in trials:
        found[kinds(trial)].append(trial)
    return dict(sorted(found.items()))


def _availability(
    trials: Sequence[TrialVerdict],
    windows: Windows,
    loads_ns: Mapping[str, int | None],
    element: str,
    done: str,
) -> Plot:
    steps: dict[str, dict[float, list[int]]] = {}
    for kind, mine in _by_kind(trials).items():
        for trial in mine:
            load_ns = loads_ns.get(trial.trial)
            begins = [fault.effective_ns[0] for fault in trial.faults if fault.effective_ns is not None]
            if not begins or load_ns is None:
                continue
            for row in windows.get(trial.trial, ()):
                since_ms = row["from_ms"] + (load_ns - min(begins)) / NS_PER_MS
                at = since_ms // STEP_MS * STEP_MS / MS_PER_S
                both = steps.setdefault(kind, {}).setdefault(at, [0, 0])
                both[0] += row["acked"]
                both[1] += row["offered"]
    lowest = {kind: min(a / of for a, of in found.values() if of) for kind, found in steps.items()}
    drawn = sorted(steps, key=lambda kind: (lowest[kind], kind))[:MOST_SERIES]
    data = []
    for kind, style in zip(drawn, STYLES, strict=False):
        points = sorted((at, a / of, f"{a:,} of {of:,}") for at, (a, of) in steps[kind].items() if of)
        data.append(
            _line(
                kind,
                style,
                points,
                f"%{{y:.1%}} of the {element}s {done} (%{{text}}), %{{x}} s after its begin",
            )
        )
    begin = {"type": "line", "xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 1}
    layout = _layout(f"s since the first fault began, by the call of the {element}", f"share {done}")
    layout["shapes"] = [{**begin, "line": {"color": VERMILLION, "dash": "dot", "width": 1}}]
    layout["yaxis"] |= {"range": [-0.03, 1.05], "tickformat": ".0%"}
    rows = [
        [
            kind,
            words.percent(lowest[kind]),
            f"{_worst_at(steps[kind]):+.1f} s",
            words.percent(_after(steps[kind])),
        ]
        for kind in sorted(steps, key=lambda kind: (lowest[kind], kind))
    ]
    return Plot(
        "availability",
        "Availability over the fault",
        f"Which share of the {element}s was {done}, by when they were handed to the client, in steps of {STEP_MS} ms. "
        "The dotted line is the begin of the first fault of a trial."
        + (
            f" The {MOST_SERIES} kinds of faults with the lowest shares are drawn."
            if len(steps) > MOST_SERIES
            else ""
        ),
        {"data": data, "layout": layout},
        ["faults", f"lowest share {done}", "at", "share in the last step"],
        rows,
    )


def _worst_at(steps: Mapping[float, Sequence[int]]) -> float:
    return min((a / of, at) for at, (a, of) in steps.items() if of)[1]


def _after(steps: Mapping[float, Sequence[int]]) -> float:
    a, of = steps[max(at for at, (_, of) in steps.items() if of)]
    return a / of


def _recovery(trials: Sequence[TrialVerdict]) -> Plot:
    metric = metrics()["recovery"]
    found = {
        kind: [(each, value) for each in mine if (value := metric.value(each)) is not None]
        for kind, mine in _by_kind(trials).items()
    }
    found = {kind: values for kind, values in found.items() if values}
    came = [(kind, each, ms) for kind, mine in found.items() for each, ms in mine if not isinf(ms)]
    never = [(kind, each) for kind, mine in found.items() for each, ms in mine if isinf(ms)]
    top_s = max((ms / MS_PER_S for *_, ms in came), default=1.0)
    data = [
        _points(
            "recovered",
            STYLES[0],
            [(kind, ms / MS_PER_S, _trial(each)) for kind, each, ms in came],
            "%{y:.2f} s<br>%{text}",
        ),
        _points(
            "never recovered",
            STYLES[1],
            [(kind, top_s * 1.15, _trial(each)) for kind, each in never],
            "never<br>%{text}",
        ),
    ]
    layout = _layout("faults of the trial", "s until it worked steadily again")
    layout["yaxis"] |= {"rangemode": "tozero"}
    rows = []
    for kind, mine in found.items():
        values = [value for _, value in mine]
        extremes = [words.told(metric, value) for value in (median(values), min(values), max(values))]
        rows.append([kind, str(len(mine)), *extremes, str(sum(map(isinf, values)))])
    return Plot(
        "recovery",
        "Recovery",
        "One point per trial: the time from the end of the last fault until the client worked steadily again. "
        "Crosses at the top never did.",
        {"data": [trace for trace in data if trace["x"]], "layout": layout},
        ["faults", "trials", "median", "shortest", "longest", "never"],
        rows,
    )


def _latency(trials: Sequence[TrialVerdict], element: str) -> Plot:
    known = metrics()
    series = (("latency_p50", "50% within", STYLES[0]), ("latency_p99", "99% within", STYLES[1]))
    data, table = [], dict[str, list[str]]()
    for name, words_of, style in series:
        points = []
        for kind, mine in _by_kind(trials).items():
            values = [value for each in mine if (value := known[name].value(each)) is not None]
            if values:
                middle, least, most = median(values), min(values), max(values)
                told = f"{words.told(known[name], least)} to {words.told(known[name], most)}"
                points.append((kind, middle, told, middle - least, most - middle))
                row = table.setdefault(kind, [kind, str(len(values))])
                row.append(f"{words.told(known[name], middle)} ({told})")
        trace = _points(words_of, style, [point[:3] for point in points], "%{y:.1f} ms, trials from %{text}")
        below, above = [point[3] for point in points], [point[4] for point in points]
        trace["error_y"] = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
        data.append(trace)
    layout = _layout("faults of the trial", "ms (log)")
    layout["yaxis"] |= {"type": "log"}
    return Plot(
        "latency",
        "Latency",
        f"The time from the call until a {element} has its result, whatever it is: the median of the trials, and their "
        "range.",
        {"data": [trace for trace in data if trace["x"]], "layout": layout},
        ["faults", "trials", "50% within", "99% within"],
        list(table.values()),
    )


def _amplification(trials: Sequence[TrialVerdict], element: str) -> Plot:
    known = metrics()
    panels = [
        (known[name], axis)
        for name, axis in (("duplicated", "y2"), ("requests_per_record", "y"))
        if name in known and any(known[name].value(each) is not None for each in trials)
    ]
    groups = _by_kind(trials)
    data = []
    for (kind, mine), style in zip(sorted(groups.items(), key=_by_requests), STYLES, strict=False):
        for metric, axis in panels:
            points = [
                (in_effect_ms(each) / MS_PER_S, value, _trial(each))
                for each in mine
                if (value := metric.value(each)) is not None
            ]
            trace = _points(
                kind, style, points, f"{metric.heading}: %{{y}}, %{{x:.1f}} s of faults<br>%{{text}}"
            )
            data.append({**trace, "yaxis": axis, "legendgroup": kind, "showlegend": axis == "y"})
    layout = _layout("s in which faults were in effect", f"requests per {element}")
    layout["height"] = 460
    layout["yaxis"] |= {"domain": [0, 0.46], "rangemode": "tozero"}
    layout["yaxis2"] = {
        "title": {"text": "share duplicated"},
        "domain": [0.54, 1],
        "rangemode": "tozero",
        "tickformat": ".1%",
    }
    rows = [
        [kind, f"{median(map(in_effect_ms, mine)) / MS_PER_S:.1f} s"]
        + [_middle(metric, mine) for metric, _ in panels]
        for kind, mine in groups.items()
    ]
    return Plot(
        "amplification",
        "Duplicates and amplification",
        f"One point per trial against how long its faults were in effect. Above: the share of {element}s in the log "
        f"again; below: requests per {element}."
        + (f" {MOST_SERIES} kinds of faults are drawn." if len(groups) > MOST_SERIES else ""),
        {"data": [trace for trace in data if trace["x"]], "layout": layout},
        ["faults", "in effect (median)", *(f"{metric.heading} (median, most)" for metric, _ in panels)],
        rows,
    )


def _by_requests(group: tuple[str, Sequence[TrialVerdict]]) -> float:
    """Return a sort key that puts the kind with the most requests per element first."""
    requests = metrics()["requests_per_record"]
    return -max((value for each in group[1] if (value := requests.value(each)) is not None), default=0.0)


def _middle(metric: Metric, mine: Sequence[TrialVerdict]) -> str:
    values = [value for each in mine if (value := metric.value(each)) is not None]
    return (
        f"{words.told(metric, median(values))}, {words.told(metric, max(values))}" if values else words.NONE
    )


def _trial(verdict: TrialVerdict) -> str:
    return " ".join(
        filter(None, (verdict.scenario, verdict.guarantee, verdict.variant, f"seed {verdict.seed}"))
    )


def _line(
    name: str, style: tuple[str, str, str], points: Sequence[tuple[float, float, str]], hover: str
) -> Mark:
    color, symbol, dash = style
    return {
        **_points(name, style, points, hover),
        "mode": "lines+markers",
        "line": {"color": color, "dash": dash, "width": 1.6},
        "marker": {"color": color, "symbol": symbol, "size": 6},
    }


def _points(
    name: str, style: tuple[str, str, str], points: Sequence[tuple[object, float, str]], hover: str
) -> Mark:
    color, symbol, _ = style
    return {
        "type": "scatter",
        "mode": "markers",
        "name": shown_text(name),
        "x": [shown_text(x) if isinstance(x, str) else x for x, _, _ in points],
        "y": [y for _, y, _ in points],
        "text": [shown_text(text) for *_, text in points],
        "marker": {"color": color, "symbol": symbol, "size": 8},
        "hovertemplate": hover + "<extra></extra>",
    }


def _layout(x: str, y: str) -> Figure:
    return {
        "height": 360,
        "hovermode": "closest",
        "showlegend": True,
        "margin": {"l": 64, "r": 16, "t": 28, "b": 96},
        "legend": {"orientation": "h", "x": 0, "y": 0, "yref": "container", "yanchor": "bottom"},
        "xaxis": {"title": {"text": x}, "automargin": True},
        "yaxis": {"title": {"text": y}},
    }
