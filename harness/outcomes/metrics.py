"""The table of outcomes: each metric with its unit, its meaning, and how it is read from a verdict.

A share is of the elements that were offered to the client, such as records. A recovery that never came is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Final

from harness.model.rows import Availability, TrialVerdict
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins import registry

#: The verdicts of trials whose numbers count. In others the trial was disturbed, or its faults had no effect.
COUNTED: Final = frozenset(
    {Verdict.PASS, Verdict.FAIL, Verdict.DIFFERS, Verdict.EXPECTED_FAIL, Verdict.UNEXPECTED_PASS}
)


class Unit(StrEnum):
    """What a metric is measured in. A ``SHARE`` is a number from 0 to 1."""

    COUNT = "count"
    SHARE = "share"
    MS = "ms"
    RATIO = "ratio"
    BYTES = "bytes"


class Better(StrEnum):
    """Which direction is an improvement."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True)
class Metric:
    """One number of a trial. ``value`` returns None if the trial has none.

    ``least`` is the smallest difference that matters, in the metric's unit; for times, a fifth of the larger value is
    another condition (:mod:`harness.outcomes.pairs`). ``amount`` returns how many elements a share stands for.
    """

    name: str
    heading: str
    unit: Unit
    better: Better
    what: str
    value: Callable[[TrialVerdict], float | None]
    amount: Callable[[TrialVerdict], int] | None = None
    least: float = 0.0

    @property
    def timed(self) -> bool:
        """True if the speed of the machine affects it."""
        return self.unit is Unit.MS


def counts(verdict: TrialVerdict) -> bool:
    """Return True if the trial's numbers belong into a table of outcomes."""
    return verdict.verdict in COUNTED and verdict.availability.offered > 0


def metrics() -> Mapping[str, Metric]:
    """Return every metric by name, in the order of tables: those of all workloads, and those that workloads add."""
    shares = {metric.name: metric for metric in _SHARES}
    for kind in registry.table("workloads").values():
        for name in kind.outcomes:
            shares.setdefault(name, _counted(name, kind.meaning[name]))
    return shares | {metric.name: metric for metric in _AMOUNTS}


def _of(verdict: TrialVerdict, amount: int | None) -> float | None:
    offered = verdict.availability.offered
    return None if amount is None or not offered else amount / offered


def _share(name: str, heading: str, better: Better, what: str, of: Callable[[Availability], int]) -> Metric:
    def amount(verdict: TrialVerdict) -> int:
        return of(verdict.availability)

    return Metric(name, heading, Unit.SHARE, better, what, lambda v: _of(v, amount(v)), amount, least=0.001)


def _counted(name: str, what: str) -> Metric:
    """Return the metric of one of a workload's counts."""

    def value(verdict: TrialVerdict) -> float | None:
        return _of(verdict, verdict.counts.get(name))

    def amount(verdict: TrialVerdict) -> int:
        return verdict.counts.get(name, 0)

    return Metric(name, name, Unit.SHARE, Better.LOWER, what, value, amount)


def _recovery_ms(verdict: TrialVerdict) -> float | None:
    told = verdict.availability
    if told.recovered is None:
        return None
    return inf if not told.recovered or told.steady_ack_ms is None else float(told.steady_ack_ms)


def _ms(of_ns: int | None) -> float | None:
    return None if of_ns is None else of_ns / NS_PER_MS


def _gap_ms(verdict: TrialVerdict) -> float | None:
    gap_ms = verdict.availability.longest_gap_ms
    return None if gap_ms is None else float(gap_ms)


_SHARES: Final = (
    Metric(
        "offered",
        "offered",
        Unit.COUNT,
        Better.NEITHER,
        "elements of the load, such as records, that were passed to the client",
        lambda verdict: float(verdict.availability.offered),
    ),
    _share("acknowledged", "acked", Better.HIGHER, "reported as done", lambda told: told.acked),
    _share("given_up", "given up", Better.LOWER, "reported as certainly not done", lambda told: told.failed),
    _share(
        "unknown",
        "unknown",
        Better.LOWER,
        "reported as neither, or never reported",
        lambda told: told.unknown,
    ),
)
_AMOUNTS: Final = (
    Metric(
        "longest_gap",
        "gap",
        Unit.MS,
        Better.LOWER,
        "the longest time without an acknowledgement while elements waited",
        _gap_ms,
        least=250,
    ),
    Metric(
        "recovery",
        "recovery",
        Unit.MS,
        Better.LOWER,
        "from the end of the last fault to the first acknowledgement after which no gap was too long",
        _recovery_ms,
        least=250,
    ),
    Metric(
        "latency_p50",
        "p50",
        Unit.MS,
        Better.LOWER,
        "half of the elements with a result had it within this time after the call",
        lambda verdict: _ms(verdict.availability.p50_ns),
        least=50,
    ),
    Metric(
        "latency_p99",
        "p99",
        Unit.MS,
        Better.LOWER,
        "99 % of the elements with a result had it within this time after the call",
        lambda verdict: _ms(verdict.availability.p99_ns),
        least=250,
    ),
    Metric(
        "requests_per_record",
        "req/rec",
        Unit.RATIO,
        Better.LOWER,
        "requests that carry the load, per element offered",
        lambda verdict: _of(verdict, verdict.availability.requests),
        least=0.01,
    ),
    Metric(
        "bytes_per_record",
        "B/rec",
        Unit.BYTES,
        Better.LOWER,
        "bytes of these requests, per element offered",
        lambda verdict: _of(verdict, verdict.availability.request_bytes),
        least=10,
    ),
)
