"""The failures of a trial: on the way to which broker, on which connection, in which partitions, and when.

A failure concerns attempts that the witness saw (refused, lost with their connection, timed out, or stopped),
or attempts that it cannot have seen, because a fault discarded bytes in front of it or a connection was cut
with bytes in transit. A failure excuses only records on its path: in the same partition or on the same
connection, during the record's life.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import FrameKind
from suites.analysis.attempts import CLIENT, PRODUCE, Attempt, attempts
from suites.analysis.excuses import grants
from suites.analysis.sending import Span, sending
from suites.analysis.way import SLACK_NS, way


class Failure(NamedTuple):
    """A failure of attempts, seen or unseen.

    ``span`` begins when the client can have known of the failure. ``brokers`` is empty if the failure was on
    the way to any of them. ``conn`` is None if the witness knows no connection for it. ``partitions`` is None
    for all partitions that the broker leads. ``attempts`` holds the attempts that failed, if the witness saw
    all of them.
    """

    span: Span
    brokers: frozenset[int]
    conn: int | None = None
    partitions: frozenset[int] | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def is_unseen(self) -> bool:
        """True if the witness saw neither the attempts nor their connection.

        Such attempts do not fail after ``span``.
        """
        return self.conn is None

    def meets(self, begin_ns: int, end_ns: int) -> bool:
        """True if the client can have learned of the failure in this interval. Its reaction may take a while."""
        return self.span.earliest_ns <= end_ns and begin_ns <= self.span.latest_ns + SLACK_NS


class Path(NamedTuple):
    """The brokers and connections that the attempts of one partition used."""

    brokers: frozenset[int]
    conns: frozenset[int]

    def crosses(self, failure: Failure) -> bool:
        """True if the failure was on this path: on one of its connections, or else on the way to one of its brokers."""
        if failure.conn is not None:
            return failure.conn in self.conns
        return not failure.brokers or not self.brokers.isdisjoint(failure.brokers)


@view
def paths(evidence: Evidence) -> dict[int, Path]:
    """Map each partition to its path.

    A connection to the partition's broker belongs to the path even if the witness saw no attempt of the
    partition on it: a fault may have discarded the first one.
    """
    brokers, conns = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for frame in evidence.frames:
        conns[frame.broker].add(frame.conn)
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE:
            for part in frame.produce:
                brokers[part.partition].add(frame.broker)
    return {
        partition: Path(frozenset(ids), frozenset(conn for broker in ids for conn in conns[broker]))
        for partition, ids in brokers.items()
    }


@view
def failures(evidence: Evidence) -> list[Failure]:
    """Return all failures of the trial."""
    return [
        *_refused(evidence),
        *_overdue(evidence),
        *_stopped(evidence),
        *_ended(evidence),
        *_unseen(evidence),
    ]


@view
def failed_attempts(evidence: Evidence) -> int:
    """Return how many attempts the witness saw fail: refused, unanswered, answered late, or kept from the broker."""
    known = sending(evidence)
    seen = sum(
        bool(attempt.error_code)
        or attempt.answered_ns is None
        or known.timed_out(attempt) is not None
        or known.lost_with_connection(attempt) is not None
        for attempt in attempts(evidence)
    )
    return seen + sum(1 for _ in _stopped(evidence))


@grants("error-answer")
def _refused(evidence: Evidence) -> Iterator[Failure]:
    for attempt in attempts(evidence):
        if attempt.answered_ns is not None and attempt.error_code != 0:
            yield _of(attempt, Span(attempt.answered_ns, attempt.answered_ns))


@grants("neighbour-timed-out")
def _overdue(evidence: Evidence) -> Iterator[Failure]:
    known = sending(evidence)
    for attempt in attempts(evidence):
        if (span := known.timed_out(attempt)) is not None:
            yield _of(attempt, span)


@grants("request-kept")
def _stopped(evidence: Evidence) -> Iterator[Failure]:
    """Requests that a rule of the witness kept from the broker. They time out."""
    limit_ns = sending(evidence).timeout_ns
    for frame in evidence.blocked_frames:
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE:
            span = Span(frame.arrived_ns, frame.arrived_ns + limit_ns)
            partitions = frozenset(part.partition for part in frame.produce) or None
            yield Failure(span, frozenset({frame.broker}), frame.conn, partitions)


@grants("connection-ended")
def _ended(evidence: Evidence) -> Iterator[Failure]:
    """Connections that ended with attempts on them, seen or unseen.

    Unseen attempts can have been caught in front of the witness if a fault was in effect or the broker closed
    the connection. The witness sees a close by the broker before the client does. It may see a close by the
    client, or by a fault, later.
    """
    known = sending(evidence)
    for frame in evidence.frames:
        if frame.kind is not FrameKind.CLOSE:
            continue
        brokers, t_ns = frozenset({frame.broker}), frame.t_ns
        if frame.closed_by != CLIENT:
            yield Failure(Span(t_ns, t_ns), brokers, frame.conn)
            continue
        ended = known.ended(frame.broker, frame.conn, t_ns)
        earliest_ns = ended.earliest_ns - SLACK_NS
        lost = [
            attempt for attempt in known.by_conn.get(frame.conn, ()) if known.lost_with_connection(attempt)
        ]
        if (since_ns := known.way.since_ns(frame.broker, ended.earliest_ns, t_ns)) is not None:
            yield Failure(Span(max(earliest_ns, since_ns), t_ns), brokers, frame.conn)
        elif lost:
            partitions = frozenset(attempt.part.partition for attempt in lost)
            earliest_ns = max(earliest_ns, min(known.sent(attempt).earliest_ns for attempt in lost))
            yield Failure(Span(earliest_ns, t_ns), brokers, frame.conn, partitions, tuple(lost))


@grants("unseen-attempt")
def _unseen(evidence: Evidence) -> Iterator[Failure]:
    """Attempts that failed in front of the witness because a fault refused or discarded them."""
    for fault in way(evidence).hidden():
        yield Failure(Span(fault.begin_ns, fault.end_ns), fault.brokers)


def _of(attempt: Attempt, span: Span) -> Failure:
    broker, partition = frozenset({attempt.broker}), frozenset({attempt.part.partition})
    return Failure(span, broker, attempt.conn, partition, (attempt,))
