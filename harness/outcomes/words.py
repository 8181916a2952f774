"""Outcomes as text: a value with its unit, and the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.outcomes.cells import Cell, Row, Summary
from harness.outcomes.metrics import Metric, Unit, metrics

NONE = "–"
NEVER = "never"
#: Below this many milliseconds, a tenth is shown.
_EXACT_MS = 10


def told(metric: Metric, value: float | None) -> str:
    """Return a value with its unit; one that is missing is infinite (a recovery that never came)."""
    if value is None or value == float("inf"):
        return NEVER
    match metric.unit:
        case Unit.SHARE:
            return percent(value)
        case Unit.MS:
            return duration(value)
        case Unit.RATIO:
            return f"{value:.2f}"
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share as text. One that is not 0 or 1 is never shown as 0% or 100%."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    digits = next((digits for digits in (1, 2, 3) if 0 < round(share, digits + 2) < 1), 4)
    return f"{share * 100:.{digits}f}%"


def duration(ms: float) -> str:
    """Return a time as text: ``4.2 ms``, ``250 ms``, ``12.3 s``."""
    if abs(ms) >= 1_000:
        return f"{ms / 1_000:.1f} s"
    return f"{ms:.1f} ms" if 0 < abs(ms) < _EXACT_MS else f"{ms:.0f} ms"


def summary(metric: Metric, of: Summary | None) -> str:
    """Return a metric of a row: its value, and the range of the trials if they differ."""
    if of is None:
        return NONE
    if metric.unit is Unit.COUNT:
        return f"{of.value:,.0f}"
    value = told(metric, of.value)
    ends = [told(metric, of.low), told(metric, of.high)]
    return value if ends[0] == ends[1] else f"{value} ({ends[0]} to {ends[1]})"


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
            _trials(row),
            *(summary(metric, row.outcomes.get(name)) for name, metric in shown.items()),
        ]
        for row in rows
    ]


def _fields(rows: Sequence[Row]) -> list[str]:
    return [name for name in Cell._fields if any(getattr(row.cell, name) for row in rows)]


def _trials(row: Row) -> str:
    return f"{row.trials} of {row.trials + row.left_out}" if row.left_out else str(row.trials)
