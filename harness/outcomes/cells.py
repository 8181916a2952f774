"""The outcome table: one row per client, broker, scenario, configuration and guarantee, over all trials of the cell.

The trials of a cell differ in their seeds. A row summarises each metric: the share over all their records, or the
median of an amount, and the lowest and the highest of the trials. Trials that were disturbed, or whose faults had no
effect, are left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isinf
from statistics import median
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from harness.model.rows import TrialVerdict
from harness.outcomes.metrics import Metric, Unit, counts, metrics
from harness.outcomes.statistics import Interval, clustered_share, wilson
from harness.text.version_order import by_version


class Cell(NamedTuple):
    """What the trials of a row share. A field that a table does not separate is empty."""

    client: str
    broker: str = ""
    scenario: str = ""
    variant: str = ""
    guarantee: str = ""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric over the ``trials`` that have it.

    ``value`` is the share over all their elements, the sum of a count, or the median of the trials; ``low`` and
    ``high`` are the extremes of single trials. A recovery that never came counts in ``never``, and is null where it
    would be the value. For a share, ``count`` elements of ``of`` make it, ``interval`` is that of
    :func:`harness.outcomes.statistics.clustered_share`, and it is above 0 in ``occurred`` trials; ``occurred_interval``
    is Wilson's for their share.
    """

    trials: int
    value: float | None
    median: float | None
    low: float | None
    high: float | None
    never: int = 0
    count: int | None = None
    of: int | None = None
    interval: Interval | None = None
    occurred: int | None = None
    occurred_interval: Interval | None = None


class Row(msgspec.Struct, frozen=True):
    """A cell with its outcomes: ``trials`` count, ``left_out`` do not. ``outcomes`` has the metrics that they have."""

    cell: Cell
    trials: int
    left_out: int
    outcomes: dict[str, Summary]


def cell_of(verdict: TrialVerdict) -> Cell:
    """Return the cell of a trial."""
    return Cell(verdict.client, verdict.broker, verdict.scenario, verdict.variant, verdict.guarantee)


def in_order(cell: Cell) -> tuple[object, ...]:
    """Return a sort key for cells: by client, and then by the other fields."""
    return by_version(cell.client), *cell[1:]


def by_client(verdict: TrialVerdict) -> Cell:
    """Return the cell of a table with one row per client, configuration and guarantee."""
    return Cell(verdict.client, variant=verdict.variant, guarantee=verdict.guarantee)


def table(verdicts: Iterable[TrialVerdict], cell: Callable[[TrialVerdict], Cell] = cell_of) -> list[Row]:
    """Return the rows of the outcome table, ordered by cell."""
    found: dict[Cell, list[TrialVerdict]] = {}
    for verdict in verdicts:
        found.setdefault(cell(verdict), []).append(verdict)
    known = metrics()
    return [_row(each, found[each], known) for each in sorted(found, key=in_order)]


def summarised(metric: Metric, trials: Sequence[TrialVerdict]) -> Summary | None:
    """Return one metric over these trials, or None if none of them has it."""
    read = [(trial, metric.value(trial)) for trial in trials]
    having = [trial for trial, value in read if value is not None]
    values = [value for _, value in read if value is not None]
    if not values:
        return None
    middle = median(values)
    told = Summary(len(values), _finite(middle), _finite(middle), _finite(min(values)), _finite(max(values)))
    told = replace(told, never=sum(map(isinf, values)))
    if metric.amount is None:
        return replace(told, value=sum(values)) if metric.unit is Unit.COUNT else told
    parts = [(metric.amount(trial), trial.availability.offered) for trial in having]
    count, of = sum(count for count, _ in parts), sum(size for _, size in parts)
    occurred = sum(count > 0 for count, _ in parts)
    return replace(
        told,
        value=count / of,
        count=count,
        of=of,
        interval=clustered_share(parts),
        occurred=occurred,
        occurred_interval=wilson(occurred, len(parts)),
    )


def counted(verdicts: Sequence[TrialVerdict]) -> list[TrialVerdict]:
    """Return the trials of a row that count.

    Every trial has the same number of attempts in it. Otherwise those that failed, and were repeated for that reason,
    would count several times.
    """
    attempts: dict[tuple[Cell, int], int] = {}
    for verdict in verdicts:
        trial = cell_of(verdict), verdict.seed
        attempts[trial] = max(attempts.get(trial, 0), verdict.attempt)
    fewest = min(attempts.values(), default=1)
    return [verdict for verdict in verdicts if counts(verdict) and verdict.attempt <= fewest]


def _row(cell: Cell, verdicts: Sequence[TrialVerdict], known: Mapping[str, Metric]) -> Row:
    trials = counted(verdicts)
    outcomes = {name: summarised(metric, trials) for name, metric in known.items()}
    return Row(
        cell,
        len(trials),
        len(verdicts) - len(trials),
        {name: summary for name, summary in outcomes.items() if summary is not None},
    )


def _finite(value: float) -> float | None:
    return None if isinf(value) else value
