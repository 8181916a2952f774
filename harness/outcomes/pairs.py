"""Compare the outcomes of two sides: two runs, two versions of a client, or two configurations of one run.

Trials are paired by what they have in common, seed included, so that both sides met the same faults. Each metric of
each pair is compared; the attempts at one trial count as one, by their median. A change is *clear* if the split into
better and worse pairs is not chance: by the exact sign test, at a false discovery rate of 5 % over all rows
(:func:`harness.outcomes.statistics.discoveries`). Pairs that differ by less than the metric's smallest difference that
matters count as equal. Differences of times also depend on the machine, so those below a fifth count as equal too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import StrEnum
from math import isinf
from statistics import fmean, median
from typing import NamedTuple

import msgspec

from harness.model.rows import TrialVerdict
from harness.outcomes.cells import Cell, in_order
from harness.outcomes.metrics import Better, Metric, counts, metrics
from harness.outcomes.statistics import (
    CONFIDENCE,
    Interval,
    discoveries,
    mean_interval,
    median_interval,
    sign_test,
)

#: Times that differ by less than this share of the larger one are equal.
TIMES_ALIKE = 0.2


class Direction(StrEnum):
    """How an outcome changed, over all pairs."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"


class Change(msgspec.Struct, frozen=True):
    """One metric of one row on both sides.

    ``old`` and ``new`` are the centres of the pairs: the medians of a time, the means of anything else, since a few
    trials may have all of it. Null is a recovery that never came. ``difference`` is the centre of new minus old, from
    ``low`` to ``high``, null if one of the two is infinite; ``interval`` is that of the centre, null for fewer than six
    pairs. ``worse`` and ``better`` of ``pairs`` changed. ``direction`` is that of most, or SAME if that is not
    clear and the difference points the other way. ``clear`` is True if that is not chance, and ``probability`` is that
    of the sign test.
    """

    cell: Cell
    metric: str
    pairs: int
    old: float | None
    new: float | None
    difference: float | None
    low: float | None
    high: float | None
    interval: Interval | None
    worse: int
    better: int
    probability: float
    direction: Direction
    clear: bool = False


class Paired(NamedTuple):
    """One trial on both sides, in the ``cell`` of a row."""

    cell: Cell
    old: Sequence[TrialVerdict]
    new: Sequence[TrialVerdict]


def paired(
    old: Mapping[Hashable, Sequence[TrialVerdict]],
    new: Mapping[Hashable, Sequence[TrialVerdict]],
    cell: Callable[[TrialVerdict, TrialVerdict], Cell],
) -> list[Paired]:
    """Return the trials that both sides have, given the attempts at each, in the row that ``cell`` names.

    Attempts that do not count are left out.
    """
    counted = [
        ([each for each in old[key] if counts(each)], [each for each in new[key] if counts(each)])
        for key in old
        if key in new
    ]
    return [Paired(cell(was[0], now[0]), was, now) for was, now in counted if was and now]


def changes(pairs: Sequence[Paired]) -> list[Change]:
    """Return every metric of every row, the rows in order."""
    rows: dict[Cell, list[Paired]] = {}
    for pair in pairs:
        rows.setdefault(pair.cell, []).append(pair)
    known = metrics()
    found = [
        change
        for cell in sorted(rows, key=in_order)
        for metric in known.values()
        if metric.better is not Better.NEITHER
        if (change := _change(cell, metric, rows[cell])) is not None
    ]
    # Too few pairs can never be clear, so they do not count as tests.
    tested = [at for at, each in enumerate(found) if sign_test(each.worse + each.better, 0) <= 1 - CONFIDENCE]
    clear = dict(zip(tested, discoveries([found[at].probability for at in tested]), strict=True))
    return [_settled(each, known[each.metric], clear=clear.get(at, False)) for at, each in enumerate(found)]


def _settled(change: Change, metric: Metric, *, clear: bool) -> Change:
    """Return the change with its clearness. Without it, most pairs and the difference must point the same way."""
    harm = (change.difference or 0) * _sign(metric)
    if not clear and harm * (change.worse - change.better) < 0:
        return msgspec.structs.replace(change, direction=Direction.SAME)
    return msgspec.structs.replace(change, clear=clear)


def _sign(metric: Metric) -> int:
    return 1 if metric.better is Better.LOWER else -1


def _change(cell: Cell, metric: Metric, pairs: Sequence[Paired]) -> Change | None:
    both = [
        (old, new)
        for pair in pairs
        if (old := _value(metric, pair.old)) is not None and (new := _value(metric, pair.new)) is not None
    ]
    if not both:
        return None
    moved = [_sign(metric) * _moved(metric, old, new) for old, new in both]
    worse, better = sum(each > 0 for each in moved), sum(each < 0 for each in moved)
    differences = [new - old for old, new in both if not (isinf(old) or isinf(new))]
    whole = len(differences) == len(both)
    centre, interval = (median, median_interval) if metric.timed else (fmean, mean_interval)
    return Change(
        cell=cell,
        metric=metric.name,
        pairs=len(both),
        old=_finite(centre([old for old, _ in both])),
        new=_finite(centre([new for _, new in both])),
        difference=centre(differences) if whole else None,
        low=min(differences) if whole else None,
        high=max(differences) if whole else None,
        interval=interval(differences) if whole else None,
        worse=worse,
        better=better,
        probability=sign_test(worse, better),
        direction=Direction.WORSE
        if worse > better
        else Direction.BETTER
        if better > worse
        else Direction.SAME,
    )


def _value(metric: Metric, attempts: Sequence[TrialVerdict]) -> float | None:
    values = [value for each in attempts if (value := metric.value(each)) is not None]
    return median(values) if values else None


def _moved(metric: Metric, old: float, new: float) -> int:
    """Return 1 if the value rose by an amount that matters, -1 if it fell, and 0 if it stayed."""
    if old == new:
        return 0
    by = abs(new - old)
    if by < metric.least or (metric.timed and by < TIMES_ALIKE * max(old, new)):
        return 0
    return 1 if new > old else -1


def _finite(value: float) -> float | None:
    return None if isinf(value) else value
