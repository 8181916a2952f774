"""What the reference client's consumer can do, in the contract's words."""

from __future__ import annotations

from typing import Final

FEATURES: Final = (
    "consumer",
    "group",
    "cooperative",
    "consumer_protocol",
    "static_membership",
    "read_committed",
    "assign",
    "seek",
    "pause",
    "pattern",
    "wakeup",
    "attempt",
)
