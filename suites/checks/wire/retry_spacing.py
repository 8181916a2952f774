"""# retry-spacing

## What it does

Measures how soon a batch is sent again after an answer with an error, and how often one batch is sent in a
second.

## Why it is bad

A broker answers with a retriable error because it needs time. A client that does not wait repeats its load at
the speed of the network, on the broker that can bear it least, and uses up its retries before anything can
have changed.

## How it is judged per guarantee

- **all**: SHOULD. The Java client waits retry.backoff.ms, less 20 % of jitter. A batch with more attempts in
  a second than twice what that allows, and more than 50, is a storm for any client.

## What it needs

The witness's frames. The pause is measured from when the answer passed the witness to when the next attempt
arrived there. The client waited for less than that, except for a millisecond of its clock. A batch is
identified by its CRC, and by its sequence if it has one; a client that encodes it again is not judged. The
pause is judged only if the client applies retry.backoff.ms. If there are several brokers, or one was away, an
error that indicates a new leader may be followed by an attempt at once, and any error by an attempt at
another broker (KIP-951). After a lost connection only the storm is judged, because only the client knows when
it noticed the loss. The same holds after a refusal that arrived when the client had closed the connection or
may have given up the request. The bound of a storm follows from the setting: twice the rate of one attempt
per 0.8 of retry.backoff.ms. If the client cannot be given the setting, the bound is 50 per second, one per 20
ms.

## References

PRD-ACC-04, MET-09 (KIP-580, KIP-951).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import error_for
from suites.analysis.attempts import Attempt, attempts
from suites.analysis.excuses import grants
from suites.analysis.sending import sending
from suites.analysis.too_large import TOO_LARGE
from suites.checks.wire.rate import busiest_second
from suites.checks.wire.sent import Sent, sent

HASTY = Anomaly(
    "retry-too-soon",
    "{count:attempt} sent again within {least_ms} ms of an error; the least is {limit_ms} ms",
    Level.SHOULD,
)
STORM = Anomaly(
    "retry-storm", "{count:batch} sent up to {most:time} in a second; the limit is {limit}", Level.SHOULD
)
BACKOFF = "retry.backoff.ms"
#: The smallest share of a pause that remains after jitter.
LEAST_OF_BACKOFF = 0.8
#: A client that counts whole milliseconds may start with the one in which the answer arrived.
CLOCK_MS = 1
#: No client has a reason to send one batch more often than this in a second.
MANY_A_SECOND = 50


@view
def attempts_by_batch(evidence: Evidence) -> Mapping[tuple[object, ...], list[Sent]]:
    """Return the attempts of each batch, in order."""
    found: dict[tuple[object, ...], list[Sent]] = {}
    for each in sent(evidence):
        part = each.part
        if part.crc is not None:
            key = (part.topic, part.partition, part.producer_id, part.base_sequence, part.records, part.crc)
            found.setdefault(key, []).append(each)
    return found


@view
def pauses_ms(evidence: Evidence) -> list[tuple[int, Sent]]:
    """Return how long after an error a batch was sent again, together with that attempt."""
    return [
        ((after.asked_ns - before.answer.t_ns) // NS_PER_MS, after)
        for made in attempts_by_batch(evidence).values()
        for before, after in pairwise(made)
        if before.answer is not None
        and before.error_code
        and before.answer.t_ns <= after.asked_ns
        and not _may_go_at_once(evidence, before, after)
        and _is_heard(evidence, before, after)
    ]


@grants("another-leader", "too-large-at-once")
def _may_go_at_once(evidence: Evidence, before: Sent, after: Sent) -> bool:
    """True for a batch that is sent in parts, and for one whose leader or leader epoch may have changed."""
    if before.error_code == TOO_LARGE or after.frame.broker != before.frame.broker:
        return True
    return error_for(before.error_code or 0).invalid_metadata and _leaders_may_change(evidence)


@view
def _leaders_may_change(evidence: Evidence) -> bool:
    brokers = {frame.broker for frame in evidence.frames if frame.kind is FrameKind.REQUEST}
    return len(brokers) > 1 or any(fault.spec.kind.startswith("broker_") for fault in evidence.faults)


def _is_heard(evidence: Evidence, before: Sent, after: Sent) -> bool:
    """False if the client may have given up the request or lost its connection before the answer."""
    attempt = _attempts(evidence).get((before.frame.conn, before.asked_ns, before.part.partition))
    if attempt is None:
        return True
    known = sending(evidence)
    is_lost = before.frame.conn != after.frame.conn and known.lost_with_connection(attempt) is not None
    return not is_lost and known.timed_out(attempt) is None


@view
def _attempts(evidence: Evidence) -> Mapping[tuple[int, int, int], Attempt]:
    """Map (connection, time, partition) to the attempt."""
    return {(each.conn, each.asked_ns, each.part.partition): each for each in attempts(evidence)}


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind: attempts sent too soon, and batches sent too often."""
    found = []
    applied_ms = backoff_ms(evidence)
    limit = MANY_A_SECOND
    if applied_ms is not None:
        least_ms = int(applied_ms * LEAST_OF_BACKOFF)
        soon = [each for each in pauses_ms(evidence) if not _is_long_enough(each[0], least_ms)]
        if soon:
            shortest_ms = min(pause_ms for pause_ms, _ in soon)
            samples = (_sample(each, pause_ms) for pause_ms, each in soon)
            found.append(HASTY.found(len(soon), samples, least_ms=shortest_ms, limit_ms=least_ms))
        limit = max(limit, 2 * 1_000 // max(1, least_ms))
    storms = {
        most: attempts
        for attempts in attempts_by_batch(evidence).values()
        if (most := _too_often(attempts, limit))
    }
    if storms:
        samples = (_sample(attempts[0], len(attempts)) for attempts in storms.values())
        found.append(STORM.found(len(storms), samples, most=max(storms), limit=limit))
    return found


@grants("jitter-of-backoff")
def _is_long_enough(pause_ms: int, least_ms: int) -> bool:
    return pause_ms + CLOCK_MS >= least_ms


@grants("burst-of-retries")
def _too_often(made: list[Sent], limit: int) -> int:
    """Return the number of attempts in the busiest second, or 0 if it is within the limit."""
    if len(made) <= limit:
        return 0
    most = busiest_second([each.asked_ns for each in made]).times
    return most if most > limit else 0


def backoff_ms(evidence: Evidence) -> int | None:
    """Return the retry.backoff.ms that the client applies, or None if it was not given one."""
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
    """Return how many attempts followed another one of the same batch."""
    return sum(len(attempts) - 1 for attempts in attempts_by_batch(evidence).values())


CHECK = Check(
    name="retry-spacing",
    summary="Batches that are sent again without a pause, or far too often.",
    requirements=(Requirement("PRD-ACC-04", Level.SHOULD, arises=_retries),),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames"}),
    killed_mutant="forgets_retry_backoff",
    run=run,
)
