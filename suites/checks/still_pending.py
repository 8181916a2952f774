"""# still-pending

## What it does

Looks for records that never got a result, though the faults are gone and the client had every chance: its own
delivery timeout has passed, or it has said that its flush or its close was a success.

## Why it is bad

A future that never completes leaks memory, blocks shutdown, and hides a loss: nobody is told, so nobody retries.

## How it is judged per guarantee

Forbidden under all. A result may be a success, a failure or "unknown"; none at all is what is wrong. ``flush()`` and
``close()`` promise that everything sent before has a result when they return.

## What it needs

The history to the end of the trial. A record whose time has not run out yet when the trial ends, or that is missing
from a process which stood still, is inconclusive.

## References

PRD-CLS-01, PRD-CLS-03. ``stuck producer`` in the Bufstream report; ``no progress after heal``.
"""

from __future__ import annotations

from harness.check import Check, Inconclusive, Requirement
from harness.contract import OpComplete
from harness.evidence import Evidence
from harness.outcome import Level, Outcome
from harness.rows import Finding
from suites.checks.delivery_timeout import SETTING, limit_ms
from suites.checks.disturbance import NS_PER_MS, doubt_if_starved
from suites.checks.findings import finding, of_send, some
from suites.checks.promises import EVERY


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting records without a result. Inconclusive if the client still had time."""
    pending = [send for send in evidence.sends.values() if send.pending]
    if not pending:
        return []
    message = f"{some(len(pending), 'record')} never got a result"
    oldest_ns = min(send.invoke_ns for send in pending)
    done = [e for e in evidence.history if isinstance(e, OpComplete) and e.op in ("flush", "close")]
    kept = [event.op for event in done if event.outcome == [Outcome.OK] and event.invoke_ns[0] >= oldest_ns]
    if kept:
        message += f", though {' and '.join(kept)} succeeded"
    else:
        _doubt_unless_overdue(evidence, oldest_ns, message)
        doubt_if_starved(evidence, message)
    return [finding("still-pending", message, len(pending), map(of_send, pending))]


def _doubt_unless_overdue(evidence: Evidence, oldest_ns: int, message: str) -> None:
    if SETTING in evidence.record.not_set:
        raise Inconclusive(f"{message}, but the client has no {SETTING} that could have passed")
    end_ns = evidence.record.phases.end_ns
    left_ms = limit_ms(evidence) - ((end_ns or oldest_ns) - oldest_ns) // NS_PER_MS
    if left_ms > 0:
        raise Inconclusive(f"{message}, but the oldest had {left_ms} ms left when the trial ended")


CHECK = Check(
    name="still-pending",
    summary="Records that never got a result, after the faults were gone.",
    requirements=(Requirement("PRD-CLS-01", Level.MUST), Requirement("PRD-CLS-03", Level.MUST)),
    guarantees=EVERY,
    channels=frozenset({"history"}),
    mutant="drops_batch_on_disconnect",
    find=find,
)
