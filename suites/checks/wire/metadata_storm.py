"""# metadata-storm

## What it does

Counts the Metadata requests of a client in the busiest second.

## Why it is bad

When a leader is lost, every client of a cluster asks for metadata at the same time. Clients that repeat the
request without a pause keep brokers busy that have to recover.

## How it is judged per guarantee

- **all**: SHOULD.

## What it needs

The witness's frames. The Java client asks once per retry.backoff.ms, less 20 % of jitter. Other clients ask
on each connection, or once for each partition that failed, so the bound is generous: ten times that rate, and
at least 100 per second. Five more are allowed for each connection that was opened, and for each answer with
an error, in that second or the one before it. If the client cannot be given retry.backoff.ms, the bound is
100 plus these. In trials of eleven clients, none asked more than seven times in a second.

## References

MET-02, MET-03 (KIP-580).
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding, Frame, FrameKind
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants
from suites.checks.wire.rate import SECOND_NS, busiest_second

STORM = Anomaly("metadata-storm", "{count:Metadata request} in a second; the limit is {limit}", Level.SHOULD)
METADATA, BACKOFF = "Metadata", "retry.backoff.ms"
LEAST_A_SECOND, TIMES_JAVA, FOR_EACH_REASON = 100, 10, 5


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding: the requests of the busiest second."""
    asked = _questions(evidence)
    most, end_ns = busiest_second(frame.arrived_ns for frame in asked)
    limit = usual(evidence) + FOR_EACH_REASON * _reasons(evidence, end_ns)
    if most <= limit:
        return []
    then = (frame for frame in asked if end_ns - SECOND_NS <= frame.arrived_ns <= end_ns)
    samples: Iterable[Sample] = (
        {"conn": frame.conn, "correlation_id": frame.correlation_id, "at_ns": frame.arrived_ns}
        for frame in then
    )
    return [STORM.found(most, samples, limit=limit)]


def _questions(evidence: Evidence) -> list[Frame]:
    frames = (*evidence.frames, *evidence.blocked_frames)
    return [frame for frame in frames if frame.kind is FrameKind.REQUEST and frame.api == METADATA]


@grants("generous-rate-of-metadata")
def usual(evidence: Evidence) -> int:
    """Return how many requests per second need no reason."""
    record = evidence.record
    if BACKOFF in record.not_set or BACKOFF not in record.spec.config:
        return LEAST_A_SECOND
    java_ms = max(1, int(0.8 * int(record.spec.config[BACKOFF])))
    return max(LEAST_A_SECOND, TIMES_JAVA * 1_000 // java_ms)


@grants("reasons-for-metadata")
def _reasons(evidence: Evidence, end_ns: int) -> int:
    return sum(
        end_ns - 2 * SECOND_NS <= frame.t_ns <= end_ns
        and (frame.kind is FrameKind.OPEN or (bool(frame.error_codes) and frame.api != METADATA))
        for frame in evidence.frames
    )


def _failed(evidence: Evidence) -> int:
    """Return how many Metadata requests were answered with an error or not at all."""
    answered = {
        (frame.conn, frame.correlation_id)
        for frame in evidence.frames
        if frame.kind is FrameKind.RESPONSE and frame.api == METADATA and not frame.error_codes
    }
    return sum((frame.conn, frame.correlation_id) not in answered for frame in _questions(evidence))


def _repeated(evidence: Evidence) -> int:
    return max(0, len(_questions(evidence)) - 1)


CHECK = Check(
    name="metadata-storm",
    summary="Metadata requests that are far more frequent than any backoff allows.",
    requirements=(
        Requirement("MET-02", Level.SHOULD, arises=_failed),
        Requirement("MET-03", Level.SHOULD, arises=_repeated),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames"}),
    killed_mutant="floods_with_metadata_requests",
    run=run,
)
