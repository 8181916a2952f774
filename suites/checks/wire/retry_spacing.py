"""# retry-spacing

## What it does

Measures how soon a batch is sent again after an answer with an error, and how often one batch is sent in a second.

## Why it is bad

A broker answers with a retriable error because it needs time. A client that does not wait repeats its load at the
speed of the network, on the broker that can bear it least, and uses up its retries before anything can have changed.

## How it is judged per guarantee

- **all**: SHOULD. The Java client waits retry.backoff.ms, less 20 % of jitter. More attempts of one batch in a second
  than twice what that allows, and more than 50, are a storm for any client.

## What it needs

The witness's frames. The pause is counted from the moment at which the answer passed the witness to the moment at which
the next attempt was there; the client waited less than that, but for a millisecond of its clock. A batch is known by
its CRC, and by its sequence where it has one; a client that encodes it again is not judged. The pause is judged only
where the client applies retry.backoff.ms. Where there are several brokers, an error that says that the leader has
changed may be followed by an attempt at once, and any error by one at another broker (KIP-951). After a lost connection
only the storm is judged, for only the client knows when it noticed; that includes an answer that came when the client
had closed the connection, or while a fault was on its way, if the next attempt went by another connection. The bound of
a storm follows from the setting: one attempt in 0.8 of retry.backoff.ms, twice; where the client cannot be given it, 50
in a second, one in 20 ms.

## References

PRD-ACC-04, MET-09 (KIP-580, KIP-951).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from harness.anomaly import Anomaly, Sample
from harness.check import Check, Requirement
from harness.evidence import Evidence, view
from harness.outcome import Guarantee, Level
from harness.rows import Finding, Frame, FrameKind
from harness.units import NS_PER_MS
from harness.wire.error_table import error_for
from suites.checks.analysis.excuses import grants
from suites.checks.analysis.way import way
from suites.checks.too_large import TOO_LARGE
from suites.checks.wire.rate import busiest_second
from suites.checks.wire.sent import Sent, sent

HASTY = Anomaly(
    "retry-too-soon",
    "{count:attempt} sent again within {least_ms} ms of an error, of {limit_ms} ms",
    Level.SHOULD,
)
STORM = Anomaly(
    "retry-storm", "{count:batch} sent up to {most:time} in a second, of {limit} at most", Level.SHOULD
)
BACKOFF = "retry.backoff.ms"
#: What the jitter may take off a pause.
LEAST_OF_BACKOFF = 0.8
#: A client that counts whole milliseconds may begin with the one in which the answer came.
CLOCK_MS = 1
#: No client has a reason to send one batch more often in a second.
MANY_A_SECOND = 50


@view
def attempts_by_batch(evidence: Evidence) -> Mapping[tuple[object, ...], list[Sent]]:
    """The attempts of each batch, in order."""
    found: dict[tuple[object, ...], list[Sent]] = {}
    for each in sent(evidence):
        part = each.part
        if part.crc is not None:
            key = (part.topic, part.partition, part.producer_id, part.base_sequence, part.records, part.crc)
            found.setdefault(key, []).append(each)
    return found


@view
def pauses_ms(evidence: Evidence) -> list[tuple[int, Sent]]:
    """How long after an error a batch was sent again, and that attempt."""
    found = []
    brokers = {frame.broker for frame in evidence.frames if frame.kind is FrameKind.REQUEST}
    for attempts in attempts_by_batch(evidence).values():
        for before, after in pairwise(attempts):
            if before.answer is None or not before.error_code or after.asked_ns < before.answer.t_ns:
                continue
            if before.error_code == TOO_LARGE or after.frame.broker != before.frame.broker:
                continue
            if after.frame.conn != before.frame.conn and _may_be_lost(evidence, before.answer):
                continue
            if len(brokers) == 1 or not error_for(before.error_code).invalid_metadata:
                found.append(((after.asked_ns - before.answer.t_ns) // NS_PER_MS, after))
    return found


@grants("lost-refusal")
def _may_be_lost(evidence: Evidence, answer: Frame) -> bool:
    """True if a fault was on its way: then only the client knows whether it heard it, or lost its connection."""
    return way(evidence).during(answer.broker, answer.t_ns, answer.t_ns)


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding of each kind: attempts that came too soon, batches that were sent too often."""
    found = []
    applied_ms = backoff_ms(evidence)
    limit = MANY_A_SECOND
    if applied_ms is not None:
        least_ms = int(applied_ms * LEAST_OF_BACKOFF)
        soon = [(pause_ms, each) for pause_ms, each in pauses_ms(evidence) if pause_ms + CLOCK_MS < least_ms]
        if soon:
            shortest_ms = min(pause_ms for pause_ms, _ in soon)
            samples = (_sample(each, pause_ms) for pause_ms, each in soon)
            found.append(HASTY.found(len(soon), samples, least_ms=shortest_ms, limit_ms=least_ms))
        limit = max(limit, 2 * 1_000 // max(1, least_ms))
    storms = {
        most: attempts
        for attempts in attempts_by_batch(evidence).values()
        if len(attempts) > limit
        and (most := busiest_second([each.asked_ns for each in attempts]).times) > limit
    }
    if storms:
        samples = (_sample(attempts[0], len(attempts)) for attempts in storms.values())
        found.append(STORM.found(len(storms), samples, most=max(storms), limit=limit))
    return found


def backoff_ms(evidence: Evidence) -> int | None:
    """The retry.backoff.ms that the client applies; None if it was not given one."""
    record = evidence.record
    if BACKOFF in record.not_set or BACKOFF not in record.spec.config:
        return None
    return int(record.spec.config[BACKOFF])


def _sample(each: Sent, number: int) -> Sample:
    return {
        "partition": each.part.partition,
        "crc": each.part.crc,
        "base_sequence": each.part.base_sequence,
        "conn": each.frame.conn,
        "correlation_id": each.frame.correlation_id,
        "at_ns": each.asked_ns,
        "pause_ms_or_attempts": number,
    }


def _retries(evidence: Evidence) -> int:
    """How many attempts followed another one of the same batch."""
    return sum(len(attempts) - 1 for attempts in attempts_by_batch(evidence).values())


CHECK = Check(
    name="retry-spacing",
    summary="Batches that are sent again without a pause, or far too often.",
    requirements=(Requirement("PRD-ACC-04", Level.SHOULD, arises=_retries),),
    guarantees=frozenset(Guarantee),
    channels=frozenset({"frames"}),
    mutant="forgets_retry_backoff",
    find=find,
)
