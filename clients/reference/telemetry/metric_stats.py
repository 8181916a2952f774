"""The arithmetic of metrics, as in Java's Metrics: totals, and averages, extremes and rates over recent samples.

A sensor keeps ``metrics.num.samples`` samples of ``metrics.sample.window.ms`` each, and drops older ones. A rate
divides by the time that the samples span, but at least by all windows but one. The code is pure: callers pass the
time.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import nan
from typing import Final

#: The statistics of a meter, and of a measured size or time.
METER: Final = ("rate", "total")
RANGE: Final = ("avg", "max")
#: The statistic whose metric has the sensor's own name.
LATEST: Final = "latest"


@dataclass(slots=True)
class Sample:
    """The values that were recorded in one window."""

    began_ms: int
    count: int = 0
    total: float = 0.0
    largest: float = nan
    smallest: float = nan


@dataclass(slots=True)
class Sensor:
    """All values that were recorded under one name."""

    window_ms: int
    samples: int
    total: float = 0.0
    latest: float = nan
    _recent: deque[Sample] = field(default_factory=deque)

    def record(self, value: float, now_ms: int) -> None:
        """Add a value."""
        self.total += value
        self.latest = value
        newest = self._recent[-1] if self._recent else None
        if newest is None or now_ms - newest.began_ms >= self.window_ms:
            newest = Sample(now_ms)
            self._recent.append(newest)
        newest.count += 1
        newest.total += value
        if not newest.largest >= value:  # true for the first value, which is compared with nan
            newest.largest = value
        if not newest.smallest <= value:
            newest.smallest = value

    def read(self, statistic: str, now_ms: int) -> float:
        """Return one statistic: "total" and LATEST of all values, the others of the recent samples.

        These are "avg", "max", "min", "rate" (per second) and "rate-per-hour". Without a recent sample, or any value at
        all, averages, extremes and LATEST are nan. Windows of no length have no rate: it is nan. (Java's client divides
        by zero there.)
        """
        if statistic == "total":
            return self.total
        if statistic == LATEST:
            return self.latest
        while self._recent and now_ms - self._recent[0].began_ms >= self.window_ms * self.samples:
            self._recent.popleft()
        total = sum(sample.total for sample in self._recent)
        if statistic in _UNITS_S:
            return total / self._span_s(now_ms) * _UNITS_S[statistic] if self.window_ms else nan
        count = sum(sample.count for sample in self._recent)
        if not count:
            return nan
        if statistic == "avg":
            return total / count
        if statistic == "max":
            return max(sample.largest for sample in self._recent)
        return min(sample.smallest for sample in self._recent)

    def _span_s(self, now_ms: int) -> float:
        elapsed_ms = now_ms - self._recent[0].began_ms if self._recent else 0
        missing = self.samples - 1 - elapsed_ms // self.window_ms
        return max(elapsed_ms + max(missing, 0) * self.window_ms, self.window_ms) / 1000


_UNITS_S: Final = {"rate": 1, "rate-per-hour": 3_600}
