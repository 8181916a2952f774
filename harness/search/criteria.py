"""What makes a version bad: a failure, a missed threshold, or an outcome like that of the bad end. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Protocol

from harness.model.errors import UsageError
from harness.model.rows import TrialVerdict
from harness.outcomes import words
from harness.outcomes.cells import Cell, cell_of, counted, summarised
from harness.outcomes.metrics import Better, Metric, metrics
from harness.outcomes.pairs import changes, paired
from harness.outcomes.statistics import CONFIDENCE, sign_test
from harness.outcomes.thresholds import Met, evaluated, parsed
from harness.search.bisect_search import VersionState, seeds_for, state_of


class Criterion(Protocol):
    """Decides about versions from the verdicts of their trials. ``hint`` is what to do if the ends are not as said."""

    @property
    def hint(self) -> str: ...

    def learn(self, good: Sequence[TrialVerdict], bad: Sequence[TrialVerdict]) -> None:
        """Take note of both ends, before any version is decided."""

    def state(self, verdicts: Sequence[TrialVerdict]) -> VersionState:
        """Return whether a version with these verdicts is good or bad."""

    def seeds(self, bad: Sequence[TrialVerdict]) -> int:
        """Return the number of seeds with which a version like the bad end is rarely missed."""

    def seen(self, verdicts: Sequence[TrialVerdict]) -> str:
        """Return what was seen of a version, as text to add; empty if the verdicts say it."""


@dataclass(frozen=True)
class ByFailure:
    """A version is bad if a trial fails, or if one fails with ``anomaly``."""

    anomaly: str | None = None
    hint: str = ""

    def learn(self, good: Sequence[TrialVerdict], bad: Sequence[TrialVerdict]) -> None:
        """Nothing is learnt: a failure is one by itself."""

    def state(self, verdicts: Sequence[TrialVerdict]) -> VersionState:
        """See :func:`harness.search.bisect_search.state_of`."""
        return state_of(verdicts, self.anomaly)

    def seeds(self, bad: Sequence[TrialVerdict]) -> int:
        """See :func:`harness.search.bisect_search.seeds_for`."""
        return seeds_for(bad, self.anomaly)

    def seen(self, verdicts: Sequence[TrialVerdict]) -> str:
        """The verdicts say it."""
        return ""


@dataclass(frozen=True)
class ByThreshold:
    """A version is bad if it misses the threshold in any row of its outcome table."""

    threshold: str
    hint: str = ""

    def learn(self, good: Sequence[TrialVerdict], bad: Sequence[TrialVerdict]) -> None:
        """Nothing is learnt: the threshold is given."""

    def state(self, verdicts: Sequence[TrialVerdict]) -> VersionState:
        """Return SKIPPED if no row could be evaluated."""
        results = {each.result for each in evaluated((self.threshold,), verdicts)}
        if Met.MISSED in results:
            return VersionState.BAD
        return VersionState.GOOD if Met.MET in results else VersionState.SKIPPED

    def seeds(self, bad: Sequence[TrialVerdict]) -> int:
        """Return 1: the user's number is enough."""
        return 1

    def seen(self, verdicts: Sequence[TrialVerdict]) -> str:
        """Return the values."""
        told = [each.observed for each in evaluated((self.threshold,), verdicts) if each.observed]
        return ", ".join(dict.fromkeys(told))


@dataclass
class ByOutcome:
    """A version is bad if its outcome is nearer to the bad end's than to the good end's."""

    metric: Metric
    _cut: float | None = None
    _bad_is_high: bool = True

    @property
    def hint(self) -> str:
        """Without a boundary, more seeds may show one."""
        return (
            ""
            if self._cut is not None
            else f"{self.metric.name} does not clearly differ; try six seeds or more"
        )

    def learn(self, good: Sequence[TrialVerdict], bad: Sequence[TrialVerdict]) -> None:
        """Put the boundary in the middle. Ends that do not clearly differ have none: it would divide noise."""
        low, high = self._value(good), self._value(bad)
        if low is None or high is None or not self._differ(good, bad):
            return
        self._bad_is_high = high > low
        low, high = sorted((low, high))
        self._cut = high if isinf(high) else (low + high) / 2

    def state(self, verdicts: Sequence[TrialVerdict]) -> VersionState:
        """Return GOOD for every version if the ends are alike."""
        value = self._value(verdicts)
        if value is None:
            return VersionState.SKIPPED
        if self._cut is None:
            return VersionState.GOOD
        return VersionState.BAD if (value >= self._cut) is self._bad_is_high else VersionState.GOOD

    def seeds(self, bad: Sequence[TrialVerdict]) -> int:
        """Return 1: all versions meet the same seeds."""
        return 1

    def seen(self, verdicts: Sequence[TrialVerdict]) -> str:
        """Return the value."""
        value = self._value(verdicts)
        return "" if value is None else f"{self.metric.heading} {words.told(self.metric, value)}"

    def _differ(self, good: Sequence[TrialVerdict], bad: Sequence[TrialVerdict]) -> bool:
        of_metric = [
            each
            for each in changes(paired(_by_trial(good), _by_trial(bad), lambda *_: Cell("")))
            if each.metric == self.metric.name
        ]
        return any(sign_test(each.worse, each.better) <= 1 - CONFIDENCE for each in of_metric)

    def _value(self, verdicts: Sequence[TrialVerdict]) -> float | None:
        told = summarised(self.metric, counted(verdicts))
        if told is None:
            return None
        return float("inf") if told.value is None else told.value


def _by_trial(verdicts: Sequence[TrialVerdict]) -> dict[Hashable, list[TrialVerdict]]:
    found: dict[Hashable, list[TrialVerdict]] = {}
    for each in verdicts:
        found.setdefault((*cell_of(each)[1:], each.seed), []).append(each)
    return found


def criterion(on: str | None, anomaly: str | None) -> Criterion:
    """Return the criterion for ``--on`` (a metric or a threshold) or ``--anomaly``. Raise UsageError for neither."""
    if on is None:
        return ByFailure(anomaly)
    if anomaly is not None:
        raise UsageError("on-and-anomaly", "a version is bad by --on or by --anomaly: give one of them")
    known = metrics()
    if on in known and known[on].better is not Better.NEITHER:
        return ByOutcome(known[on])
    return ByThreshold(parsed(on).text)
