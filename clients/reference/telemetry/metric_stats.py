"""The arithmetic of metrics: totals, and averages, maxima and rates over the last samples, as Java's Metrics do it.

A sensor keeps ``metrics.num.samples`` samples of ``metrics.sample.window.ms`` each; older ones no longer count. A
rate divides by the time that the samples span, but never by less than all windows but one. Pure: time is handed in.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import nan


@dataclass(slots=True)
class Sample:
    """What was recorded in one window."""

    began_ms: int
    count: int = 0
    total: float = 0.0
    largest: float = nan


@dataclass(slots=True)
class Sensor:
    """Everything that was recorded under one name."""

    window_ms: int
    samples: int
    total: float = 0.0
    _recent: deque[Sample] = field(default_factory=deque)

    def record(self, value: float, now_ms: int) -> None:
        """Take a value in."""
        self.total += value
        newest = self._recent[-1] if self._recent else None
        if newest is None or now_ms - newest.began_ms >= self.window_ms:
            newest = Sample(now_ms)
            self._recent.append(newest)
        newest.count += 1
        newest.total += value
        if not newest.largest >= value:  # true for the first, which is compared with nan
            newest.largest = value

    def read(self, statistic: str, now_ms: int) -> float:
        """ "total", or over the recent samples "avg", "max" (both nan where there is none) or "rate" (per second)."""
        if statistic == "total":
            return self.total
        while self._recent and now_ms - self._recent[0].began_ms >= self.window_ms * self.samples:
            self._recent.popleft()
        total = sum(sample.total for sample in self._recent)
        if statistic == "rate":
            return total / self._span_s(now_ms)
        count = sum(sample.count for sample in self._recent)
        if not count:
            return nan
        return total / count if statistic == "avg" else max(sample.largest for sample in self._recent)

    def _span_s(self, now_ms: int) -> float:
        elapsed_ms = now_ms - self._recent[0].began_ms if self._recent else 0
        missing = self.samples - 1 - elapsed_ms // self.window_ms
        return max(elapsed_ms + max(missing, 0) * self.window_ms, self.window_ms) / 1000
