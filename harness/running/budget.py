"""What a run may spend: when it is used up nothing new begins, and what is under way is finished.

The reason is told, for a run that was stopped by its budget is neither whole nor interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict

TIME, FAILURES = "its time was used up", "it had as many failures as it may have"


@dataclass
class Budget:
    """``max_time_s`` counts from when this is made; ``max_failures`` counts verdicts ``fail``. None: unlimited."""

    max_time_s: float | None = None
    max_failures: int | None = None
    clock: Callable[[], float] = time.monotonic
    failures: int = 0

    def __post_init__(self) -> None:
        self._began_s = self.clock()

    def count(self, verdict: TrialVerdict) -> None:
        """One more trial is judged."""
        self.failures += verdict.verdict == Verdict.FAIL

    def used_up(self) -> str | None:
        """Why nothing new may begin, None as long as it may."""
        if self.max_failures is not None and self.failures >= self.max_failures:
            return FAILURES
        if self.max_time_s is not None and self.clock() - self._began_s >= self.max_time_s:
            return TIME
        return None
