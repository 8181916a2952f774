"""The budget of a run. When it is used up, no further trial starts; trials in progress are finished.

The reason is stored, because a run that its budget stopped is neither complete nor interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict

TIME, FAILURES = "its time was used up", "it reached its limit of failures"


@dataclass
class Budget:
    """``max_time_s`` counts from the creation of the object; ``max_failures`` counts verdicts ``fail``.

    None: unlimited.
    """

    max_time_s: float | None = None
    max_failures: int | None = None
    clock: Callable[[], float] = time.monotonic
    failures: int = 0

    def __post_init__(self) -> None:
        self._began_s = self.clock()

    def count(self, verdict: TrialVerdict) -> None:
        """Count the verdict of another trial."""
        self.failures += verdict.verdict == Verdict.FAIL

    def used_up(self) -> str | None:
        """Return why no further trial may start, or None if one may."""
        if self.max_failures is not None and self.failures >= self.max_failures:
            return FAILURES
        if self.max_time_s is not None and self.clock() - self._began_s >= self.max_time_s:
            return TIME
        return None
