"""# delivery-timeout

## What it does

Measures, for every record that has a result, the time from the call to the result, and holds it against
max.block.ms (the call itself) plus delivery.timeout.ms (from then on).

## Why it is bad

The application is left waiting: it can neither go on nor start again, and back-pressure reaches places that have
nothing to do with Kafka. The total limit exists so that nobody has to add up linger, retries and timeouts.

## How it is judged per guarantee

The same under all; the limit concerns the waiting, not the record. A client that cannot set delivery.timeout.ms does
not claim it: unsupported. The level is SHOULD: the limit is the Java client's, and is asked of others because they
were given it as a setting and took it.

## What it needs

The history with the moment of each call and result. Five seconds of slack are allowed, for machines are noisy; where
the client's process itself stood still, a result that is late is inconclusive.

## References

PRD-EXP-01, PRD-EXP-02 (KIP-91); MET-11 and PRD-ACC-09 for max.block.ms (KIP-19).
"""

from __future__ import annotations

from harness.anomaly import Anomaly
from harness.check import Check, Requirement
from harness.evidence import Evidence, Send
from harness.outcome import Level
from harness.rows import Finding
from suites.checks.disturbance import NS_PER_MS, doubt_if_disturbed
from suites.checks.findings import of_send, require_settable
from suites.checks.promises import EVERY

LATE = Anomaly(
    "delivery-timeout",
    "{count:record} got a result after {worst_ms} ms at worst; the limit is {limit_ms} ms",
    Level.SHOULD,
)
SETTING = "delivery.timeout.ms"
SLACK_MS = 5_000


def limit_ms(evidence: Evidence) -> int:
    """How long a record may take from its call to its result, slack included."""
    config = evidence.record.spec.config
    return int(config[SETTING]) + int(config["max.block.ms"]) + SLACK_MS


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting late records. Unsupported where the client cannot set the limit."""
    require_settable(evidence, SETTING)
    limit = limit_ms(evidence)
    over_ns = (limit + 1) * NS_PER_MS
    late = [
        send
        for send in evidence.sends.values()
        if send.complete_ns is not None and send.complete_ns - send.invoke_ns >= over_ns
    ]
    if not late:
        return []
    worst = max(_took_ms(send) for send in late)
    found = LATE.found(len(late), map(of_send, late), worst_ms=worst, limit_ms=limit)
    doubt_if_disturbed(evidence, found)
    return [found]


def _took_ms(send: Send) -> int:
    return 0 if send.complete_ns is None else (send.complete_ns - send.invoke_ns) // NS_PER_MS


CHECK = Check(
    name="delivery-timeout",
    summary="Records whose result came later than delivery.timeout.ms allows.",
    requirements=(Requirement("PRD-EXP-01", Level.SHOULD),),
    guarantees=EVERY,
    channels=frozenset({"history"}),
    mutant="never_expires",
    find=find,
)
