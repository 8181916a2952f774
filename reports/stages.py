"""How long each stage of a report took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Stages:
    """The stages that have ended, each with its duration in seconds."""

    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def ended(self, stage: str) -> None:
        """Record a stage that began when the one before ended."""
        now = time.monotonic()
        self.seconds[stage] = round(now - self._since, 2)
        self._since = now
