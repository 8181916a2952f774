"""# delivery-timeout

## What it does

Measures the time from call to result for every record that has a result. It compares this time with
max.block.ms (for the call itself) plus delivery.timeout.ms (from then on).

## Why it is bad

The application has to wait. It can neither continue nor restart, and back-pressure reaches parts of it that
have nothing to do with Kafka. The total limit exists so that an application does not have to add up linger,
retries and timeouts.

## How it is judged per guarantee

The same under all guarantees, since the limit concerns the waiting time and not the record. A client that
cannot set delivery.timeout.ms does not claim the limit, and the check is unsupported. The level is SHOULD:
the limit is the Java client's, and it is expected of other clients because they accepted it as a setting.

## What it needs

The history, with the time of each call and result. Five seconds of slack are allowed for machine noise. A
late result is inconclusive if stalls of the client's process during the record's life account for the delay.

## References

PRD-EXP-01, PRD-EXP-02 (KIP-91); MET-11 and PRD-ACC-09 for max.block.ms (KIP-19).
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence, Operation
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Inconclusive, Requirement
from suites.analysis.disturbance import CLIENT_STALLED, client_stalls, stalled_ns
from suites.analysis.excuses import grants
from suites.analysis.findings import of_send, require_settable
from suites.analysis.promises import EVERY

LATE = Anomaly(
    "delivery-timeout",
    "{count:record} got a result after {worst_ms} ms at worst; the limit is {limit_ms} ms",
    Level.SHOULD,
)
SETTING = "delivery.timeout.ms"
SLACK_MS = 5_000
#: A client may start its delivery timeout slightly before the call, or round it down.
ROUNDED_MS = 1_000


def limit_ms(evidence: Evidence) -> int:
    """Return how long a record may take from its call to its result, including slack."""
    config = evidence.record.spec.config
    return int(config[SETTING]) + int(config["max.block.ms"]) + SLACK_MS


@grants("late-by-a-stall", "slack-of-delivery")
def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts late records. Unsupported if the client cannot set the limit."""
    require_settable(evidence, SETTING)
    limit = limit_ms(evidence)
    over_ns = (limit + 1) * NS_PER_MS
    late = [
        send
        for send in evidence.operations.values()
        if send.complete_ns is not None and send.complete_ns - send.invoke_ns >= over_ns
    ]
    if not late:
        return []
    stalls = client_stalls(evidence)
    lived = {send.n: stalled_ns(stalls, send.invoke_ns, send.complete_ns or send.invoke_ns) for send in late}
    accused = [send for send in late if _took_ns(send) - lived[send.n] >= over_ns]
    if not accused:
        doubted = LATE.found(len(late), worst_ms=max(map(_took_ms, late)), limit_ms=limit)
        stalled_ms = max(lived.values()) // NS_PER_MS
        raise Inconclusive(CLIENT_STALLED.reason(of=LATE.code, told=doubted.message, stalled_ms=stalled_ms))
    worst = max(map(_took_ms, accused))
    return [LATE.found(len(accused), map(of_send, accused), worst_ms=worst, limit_ms=limit)]


def _took_ns(send: Operation) -> int:
    return 0 if send.complete_ns is None else send.complete_ns - send.invoke_ns


def _took_ms(send: Operation) -> int:
    return _took_ns(send) // NS_PER_MS


def _tried_patience(evidence: Evidence) -> int:
    """Count the records that had no result for as long as the limit, within a second. Other records do not test it."""
    limit_ns = (int(evidence.record.spec.config[SETTING]) - ROUNDED_MS) * NS_PER_MS
    return sum(
        send.complete_ns is None or _took_ns(send) >= limit_ns for send in evidence.operations.values()
    )


CHECK = Check(
    name="delivery-timeout",
    summary="Records whose result came later than delivery.timeout.ms allows.",
    requirements=(Requirement("PRD-EXP-01", Level.SHOULD, arises=_tried_patience),),
    guarantees=EVERY,
    requires=frozenset({"history"}),
    killed_mutant="never_expires",
    run=run,
)
