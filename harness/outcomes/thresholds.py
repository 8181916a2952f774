"""Thresholds: what the user demands of outcomes, such as ``given_up < 0.1%`` or ``recovery_p95 < 5s``.

A threshold is ``METRIC[_STATISTIC][{FIELD=GLOB,...}] COMPARISON VALUE``. It is evaluated in each row of the outcome
table that its globs select. The statistic is over the row's trials: ``median`` (that of the table), ``min``, ``max``,
or ``p1`` to ``p99`` (nearest rank). Without one, a share is over all records of the row, and any other metric must meet
the threshold in every trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from operator import eq, ge, gt, le, lt
from statistics import median
from typing import Final

import msgspec

from harness.model.errors import UsageError, unknown
from harness.model.rows import TrialVerdict
from harness.outcomes import words
from harness.outcomes.cells import Cell, cell_of, counted, in_order
from harness.outcomes.metrics import Metric, Unit, metrics
from harness.outcomes.statistics import quantile
from harness.text.globs import matches

_TEXT = re.compile(
    r"\s*(?P<name>\w+)\s*(?:\{(?P<fields>[^{}]*)\})?\s*(?P<op><=|>=|==|<|>)\s*(?P<value>[0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(?P<unit>%|[A-Za-z]*)\s*"
)
_STATISTIC = re.compile(r"median|min|max|p[1-9]\d?")
_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "==": eq,
}
#: The units that a value of each kind may have, and what they multiply it by.
UNITS: Final[Mapping[Unit, Mapping[str, float]]] = {
    Unit.SHARE: {"%": 0.01, "": 1.0},
    Unit.MS: {"ms": 1.0, "s": 1_000.0, "m": 60_000.0},
    Unit.BYTES: {"": 1.0, "B": 1.0, "KiB": 1_024.0},
    Unit.RATIO: {"": 1.0},
    Unit.COUNT: {"": 1.0},
}
_LONGEST_NAME: Final = 40
EXAMPLE: Final = "given_up < 0.1%"
#: The maximum number of thresholds on a screen; the run's summary.md has all of them.
MAX_TOLD: Final = 40


@dataclass(frozen=True)
class Threshold:
    """A parsed threshold. ``statistic`` is empty for the default, and ``fields`` maps a field of Cell to its glob."""

    text: str
    metric: str
    statistic: str
    fields: Mapping[str, str]
    comparison: str
    value: float

    def selects(self, cell: Cell) -> bool:
        """Return True if the threshold is evaluated in this row."""
        return all(matches(getattr(cell, name), glob) for name, glob in self.fields.items())


class Met(StrEnum):
    """Whether a row meets a threshold. Without a trial that counts, nothing is known."""

    MET = "met"
    MISSED = "missed"
    NOT_EVALUATED = "not-evaluated"


class Evaluation(msgspec.Struct, frozen=True):
    """One threshold in one row. ``observed`` is the value with its unit; empty if there is none."""

    threshold: str
    result: Met
    cell: Cell
    observed: str
    trials: int

    @property
    def sentence(self) -> str:
        """The evaluation as one line."""
        return f"threshold {self.result}: {self.threshold}: {self.where}: {self.seen}"

    @property
    def where(self) -> str:
        """The row as text."""
        cell = self.cell
        if not cell.client:
            return "no trial of the run"
        words = (cell.client, f"{cell.scenario}[{cell.guarantee}]", cell.variant, cell.broker)
        return " ".join(filter(None, words))

    @property
    def seen(self) -> str:
        """The observed value as text."""
        return f"it is {self.observed}" if self.observed else "no trial has the value"


def parsed(text: str) -> Threshold:
    """Return the threshold that a user wrote. Raise UsageError, which says what is wrong with it."""
    read = _TEXT.fullmatch(text)
    if read is None:
        if text.isidentifier() and len(text) <= _LONGEST_NAME:
            _metric(text)
        raise UsageError(
            "threshold-syntax",
            "{text!r} is not a threshold; write METRIC COMPARISON VALUE, such as {example!r}",
            text=text,
            example=EXAMPLE,
        )
    metric, statistic = _metric(read["name"])
    units = UNITS[metric.unit]
    if read["unit"] not in units:
        raise UsageError(
            "threshold-unit",
            "{metric} cannot be compared with {value!r}; its units are {units}",
            metric=metric.name,
            value=f"{read['value']}{read['unit']}",
            units=tuple(unit or "none" for unit in units),
        )
    return Threshold(
        " ".join(text.split()),
        metric.name,
        statistic,
        _fields(read["fields"] or ""),
        read["op"],
        float(read["value"]) * units[read["unit"]],
    )


def evaluated(thresholds: Iterable[str], verdicts: Sequence[TrialVerdict]) -> list[Evaluation]:
    """Return each threshold in each row that it selects. One that selects no row is not evaluated, in an empty row."""
    rows: dict[Cell, list[TrialVerdict]] = {}
    for verdict in verdicts:
        rows.setdefault(cell_of(verdict), []).append(verdict)
    found = []
    for each in map(parsed, thresholds):
        selected = [cell for cell in sorted(rows, key=in_order) if each.selects(cell)]
        found += [_evaluated(each, cell, rows[cell]) for cell in selected] or [
            Evaluation(each.text, Met.NOT_EVALUATED, Cell(""), "", 0)
        ]
    return found


def sentences(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield a line for each threshold that was missed or not evaluated, and one with how many were met."""
    told = [
        each for result in (Met.MISSED, Met.NOT_EVALUATED) for each in evaluations if each.result is result
    ]
    yield from (each.sentence for each in told[:MAX_TOLD])
    if len(told) > MAX_TOLD:
        yield f"and {len(told) - MAX_TOLD} more that were missed or not evaluated"
    if evaluations:
        yield f"thresholds: {len(evaluations) - len(told)} of {len(evaluations)} met"


def worst_first(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Return the evaluations by result, the missed ones first, and then by row."""
    ranks = (Met.MISSED, Met.NOT_EVALUATED, Met.MET)
    return sorted(evaluations, key=lambda each: (ranks.index(each.result), in_order(each.cell)))


def exit_code(evaluations: Iterable[Evaluation]) -> int:
    """Return 1 if a threshold was missed, 4 if one could not be evaluated in any row, else 0."""
    results: dict[str, set[Met]] = {}
    for each in evaluations:
        results.setdefault(each.threshold, set()).add(each.result)
    if any(Met.MISSED in found for found in results.values()):
        return 1
    return 4 if {Met.NOT_EVALUATED} in results.values() else 0


def _evaluated(each: Threshold, cell: Cell, verdicts: Sequence[TrialVerdict]) -> Evaluation:
    metric = metrics()[each.metric]
    trials = counted(verdicts)
    seen = _observed(metric, each, trials)
    if seen is None:
        return Evaluation(each.text, Met.NOT_EVALUATED, cell, "", 0)
    met = _COMPARISONS[each.comparison](seen, each.value)
    return Evaluation(each.text, Met.MET if met else Met.MISSED, cell, words.told(metric, seen), len(trials))


def _observed(metric: Metric, each: Threshold, trials: Sequence[TrialVerdict]) -> float | None:
    having = [(trial, value) for trial in trials if (value := metric.value(trial)) is not None]
    values = [value for _, value in having]
    if not values:
        return None
    if metric.amount is not None and not each.statistic:
        amount = sum(metric.amount(trial) for trial, _ in having)
        return amount / sum(trial.availability.offered for trial, _ in having)
    match each.statistic:
        case "":
            # The trial that is farthest on the wrong side.
            return _worst(values, each)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "median":
            return median(values)
    return quantile(values, int(each.statistic.removeprefix("p")) / 100)


def _worst(values: Sequence[float], each: Threshold) -> float:
    if each.comparison == "==":
        return max(values, key=lambda value: abs(value - each.value) if isfinite(value) else value)
    return max(values) if each.comparison in ("<", "<=") else min(values)


def _metric(name: str) -> tuple[Metric, str]:
    known = metrics()
    if name in known:
        return known[name], ""
    stem, _, statistic = name.rpartition("_")
    if stem in known and _STATISTIC.fullmatch(statistic):
        return known[stem], statistic
    raise unknown("metric", name, known)


def _fields(text: str) -> dict[str, str]:
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, sign, glob = (each.strip() for each in part.partition("="))
        if name not in Cell._fields or not sign:
            raise unknown("field of a threshold", name, Cell._fields)
        if name in found:
            raise UsageError("threshold-field-twice", "a threshold names {field} twice", field=name)
        found[name] = glob
    return found
