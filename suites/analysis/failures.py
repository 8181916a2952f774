"""What failed in a trial, and for whom: on which broker's way, connection and partitions, and when.

A failure is of attempts that the witness saw (refused, lost with their connection, timed out, stopped), or of attempts
that it cannot have seen, where a fault threw bytes away in front of it or a connection was cut with bytes on their way.
It excuses only what was on its path: the same partition, or the same connection, in the record's life.
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
    """``conn`` None: on no connection that the witness knows; ``partitions`` None: of any that its broker leads.

    ``span``: from when the client can have known of it. ``brokers`` empty: on the way to any of them.
    ``attempts``: those that failed, where the witness saw all of them.
    """

    span: Span
    brokers: frozenset[int]
    conn: int | None = None
    partitions: frozenset[int] | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def is_unseen(self) -> bool:
        """True for attempts that were kept from the witness with their connection: there are none behind its span."""
        return self.conn is None

    def meets(self, begin_ns: int, end_ns: int) -> bool:
        """True if the client can have learned of it in this span; what it knows takes a while to have an effect."""
        return self.span.earliest_ns <= end_ns and begin_ns <= self.span.latest_ns + SLACK_NS


class Path(NamedTuple):
    """Where the attempts of one partition went: the brokers, and the connections to them."""

    brokers: frozenset[int]
    conns: frozenset[int]

    def crosses(self, failure: Failure) -> bool:
        """True if it happened on this path, to this partition's attempts or to those beside them."""
        if failure.conn is not None:
            return failure.conn in self.conns
        return not failure.brokers or not self.brokers.isdisjoint(failure.brokers)


@view
def paths(evidence: Evidence) -> dict[int, Path]:
    """Partition -> its path.

    A connection on which nothing of the partition was seen belongs to it too if it led to the partition's broker: what
    a fault threw away may have been the first on it.
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
    """All of them."""
    return [
        *_refused(evidence),
        *_overdue(evidence),
        *_stopped(evidence),
        *_ended(evidence),
        *_unseen(evidence),
    ]


@view
def failed_attempts(evidence: Evidence) -> int:
    """How many attempts failed that the witness saw: refused, unanswered, answered late, or kept from the broker."""
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
    """Requests that a rule of the witness kept from the broker: they time out."""
    limit_ns = sending(evidence).timeout_ns
    for frame in evidence.stopped:
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE:
            span = Span(frame.arrived_ns, frame.arrived_ns + limit_ns)
            partitions = frozenset(part.partition for part in frame.produce) or None
            yield Failure(span, frozenset({frame.broker}), frame.conn, partitions)


@grants("connection-ended")
def _ended(evidence: Evidence) -> Iterator[Failure]:
    """Connections that ended with attempts on them, seen or not.

    Unseen ones can have been caught in front of the witness where a fault was in effect, or the broker hung up. The
    witness knows that the broker did before the client does; that the client did, or a fault, maybe later.
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
    """Attempts that failed in front of the witness, where a fault refused them or threw them away."""
    for fault in way(evidence).hidden():
        yield Failure(Span(fault.begin_ns, fault.end_ns), fault.brokers)


def _of(attempt: Attempt, span: Span) -> Failure:
    broker, partition = frozenset({attempt.broker}), frozenset({attempt.part.partition})
    return Failure(span, broker, attempt.conn, partition, (attempt,))
