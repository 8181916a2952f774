"""What is judged in every scenario: all that any check can judge, whatever the situation is about."""

from __future__ import annotations

from suites.checks import (
    corrupted,
    delivery_timeout,
    duplicate,
    early_ack,
    gave_up,
    lost,
    phantom,
    reordered,
    still_pending,
    unmended,
    unsplit,
)
from suites.checks.traced import TRACE_CHECKS

#: Those of promises, for any client.
PROMISES = (
    corrupted.CHECK,
    delivery_timeout.CHECK,
    duplicate.CHECK,
    early_ack.CHECK,
    gave_up.CHECK,
    lost.CHECK,
    phantom.CHECK,
    reordered.CHECK,
    still_pending.CHECK,
    unmended.CHECK,
    unsplit.CHECK,
)
JUDGED = tuple(sorted({each.id for check in PROMISES + TRACE_CHECKS for each in check.requirements}))
