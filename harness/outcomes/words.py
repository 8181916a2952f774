"""Outcomes as text: a value with its unit, and the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from harness.model.rows import Availability, TrialVerdict
from harness.outcomes.cells import Cell, Row, Summary, counted, summarised
from harness.outcomes.metrics import Metric, Unit, metrics
from harness.outcomes.statistics import Interval

NONE = "–"
NEVER = "never"
#: From this many milliseconds on, seconds are shown; below the other, tenths of a millisecond.
_LONG_MS, _EXACT_MS = 1_000, 10
#: From here on, ratios are whole numbers.
_WHOLE = 9.95
#: Enough for one element of as many as can be counted.
MAX_DIGITS = 20


def told(metric: Metric, value: float | None) -> str:
    """Return a value with its unit; one that is missing is infinite (a recovery that never came)."""
    if value is None or value == inf:
        return NEVER
    match metric.unit:
        case Unit.SHARE:
            return percent(value)
        case Unit.MS:
            return duration(value)
        case Unit.RATIO:
            return f"{value:.2g}" if abs(value) < _WHOLE else f"{value:,.0f}"
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share as text. One that is not 0 or 1 is never shown as 0% or 100%."""
    return f"{_percents(share)}%"


def duration(ms: float) -> str:
    """Return a time as text: ``4.2 ms``, ``250 ms``, ``12.3 s``."""
    return f"{ms / 1_000:.1f} s" if abs(ms) >= _LONG_MS else f"{_milliseconds(ms)} ms"


def acknowledged(verdicts: Sequence[TrialVerdict]) -> str:
    """Return the share of the load of these trials that succeeded, as in the outcome table; empty if none counts."""
    metric = metrics()["acknowledged"]
    found = summarised(metric, counted(verdicts))
    return "" if found is None else summary(metric, found)


def share(of: Availability) -> str:
    """Return the share of one trial's load that succeeded; empty if there was none."""
    return percent(of.share) if of.offered else ""


def summary(metric: Metric, of: Summary | None) -> str:
    """Return a metric of a row: its value, and the range of the trials if they differ.

    For example ``22.2% (18.7-25.8)``, ``6.2 s (5.7-8.7)``, ``8.1 s (450 ms-never)``.
    """
    if of is None:
        return NONE
    range_ = spread(metric, of)
    return f"{told(metric, of.value)} ({range_})" if range_ else told(metric, of.value)


def interval(of: Interval | None) -> str:
    """Return an interval of a share as text; empty if there is none."""
    return f"{_percents(of.low)}–{percent(of.high)}" if of else ""


def spread(metric: Metric, of: Summary) -> str:
    """Return the range of single trials; empty if they do not differ."""
    low, high = of.low, of.high
    if metric.unit is Unit.COUNT or low == high:
        return ""
    if metric.unit is Unit.SHARE and low is not None and high is not None:
        return f"{_percents(low)}–{_percents(high)}"
    ends = [told(metric, low), told(metric, high)]
    numbers, units = zip(*(end.partition(" ")[::2] for end in (*ends, told(metric, of.value))), strict=True)
    # The unit is not repeated if it is that of the value.
    return "–".join(numbers[:2] if len(set(units)) == 1 else ends)


def _percents(share: float) -> str:
    if share in (0.0, 1.0):
        return f"{share * 100:.0f}"
    texts = (f"{share * 100:.{digits}f}" for digits in range(1, MAX_DIGITS))
    return next((text for text in texts if float(text) not in (0.0, 100.0)), f"{share * 100:g}")


def _milliseconds(ms: float) -> str:
    return f"{ms:.1f}" if 0 < abs(ms) < _EXACT_MS else f"{ms:.0f}"


def columns(rows: Sequence[Row]) -> Mapping[str, Metric]:
    """Return the metrics that a table of these rows shows: those that any of them has."""
    return {name: metric for name, metric in metrics().items() if any(name in row.outcomes for row in rows)}


def headings(rows: Sequence[Row]) -> list[str]:
    """Return the headings of a table of these rows: the fields of a cell that any of them has, then the metrics."""
    return [*_fields(rows), "trials", *(metric.heading for metric in columns(rows).values())]


def lines(rows: Sequence[Row]) -> list[list[str]]:
    """Return the rows as text, in the order of :func:`headings`."""
    fields, shown = _fields(rows), columns(rows)
    return [
        [
            *(getattr(row.cell, field) for field in fields),
            trials(row),
            *(summary(metric, row.outcomes.get(name)) for name, metric in shown.items()),
        ]
        for row in rows
    ]


def _fields(rows: Sequence[Row]) -> list[str]:
    return [name for name in Cell._fields if any(getattr(row.cell, name) for row in rows)]


def trials(row: Row) -> str:
    """Return how many trials count, and of how many if some are left out."""
    return f"{row.trials} of {row.trials + row.left_out}" if row.left_out else str(row.trials)
