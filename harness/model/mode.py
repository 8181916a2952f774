"""The two modes of a trial: live, on real brokers, and simulated, in virtual time. Both leave the same evidence."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Mode(StrEnum):
    """Where a trial runs.

    ``LIVE`` has real brokers, Toxiproxy and a client process. ``SIMULATED`` has virtual time, scripted brokers and the
    client in this process.
    """

    LIVE = "live"
    SIMULATED = "simulated"


BOTH_MODES: Final = frozenset(Mode)
LIVE_ONLY: Final = frozenset({Mode.LIVE})
SIMULATED_ONLY: Final = frozenset({Mode.SIMULATED})
