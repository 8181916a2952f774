"""When a client can have sent an attempt, and when it can have left a connection: intervals, not moments.

Bytes can trickle out of a connection that its client left long ago. So an attempt has an interval: it was sent at the
latest when it came to the witness, and at the earliest when its connection was open, its records were handed over and
the faults on the way can first have held it. On one connection requests arrive in the order in which they were sent. A
client is accused only where no moment of the interval fits a story without a defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import Fate, Frame, FrameKind
from harness.model.units import NS_PER_MS
from suites.analysis.attempts import Attempt, BatchPlace, attempts, batch_place, origins
from suites.analysis.excuses import grants
from suites.analysis.response_order import out_of_turn_ns
from suites.analysis.way import SLACK_NS, Way, way

REQUEST_TIMEOUT = "request.timeout.ms"
NEVER_NS = 2**63


class Span(NamedTuple):
    """From the earliest to the latest moment at which something can have happened."""

    earliest_ns: int
    latest_ns: int


@dataclass(frozen=True)
class Sending:
    """The intervals of one trial."""

    evidence: Evidence
    _spans: dict[tuple[int, int], Span] = field(default_factory=dict)

    @cached_property
    def way(self) -> Way:
        """The faults on the way."""
        return way(self.evidence)

    @cached_property
    def timeout_ns(self) -> int:
        """After how long a client gives a request up for lost."""
        return int(self.evidence.record.spec.config[REQUEST_TIMEOUT]) * NS_PER_MS

    @cached_property
    def patience_ns(self) -> int:
        """The request timeout as the witness sees it at the least: the way there and back counts for the client.

        Half of a timeout that is shorter than two slacks: a client's clock is not wrong by more.
        """
        return self.timeout_ns - min(SLACK_NS, self.timeout_ns // 2)

    @cached_property
    def by_conn(self) -> Mapping[int, list[Attempt]]:
        """Connection -> its attempts, in order."""
        found: dict[int, list[Attempt]] = {}
        for attempt in attempts(self.evidence):
            found.setdefault(attempt.conn, []).append(attempt)
        return found

    @cached_property
    def out_of_turn_ns(self) -> Mapping[int, int]:
        """Connection -> from when on nobody can tell what its answers answer."""
        return out_of_turn_ns(self.evidence)

    @cached_property
    def _handed_over_ns(self) -> Mapping[tuple[int, int | None], int]:
        """Partition and bytes of a batch of the log -> when its last record was handed over."""
        sends, numbers = self.evidence.operations, self.evidence.numbers
        latest: dict[BatchPlace, int] = {}
        for record, n in zip(self.evidence.log, numbers, strict=True):
            if n is not None and n in sends:
                place = batch_place(record)
                latest[place] = max(latest.get(place, 0), sends[n].invoke_ns)
        return {
            (place.partition, attempt.part.crc): latest.get(place, 0)
            for place, attempt in origins(self.evidence).items()
        }

    def sent(self, attempt: Attempt) -> Span:
        """When the client can have sent it."""
        key = (attempt.request, attempt.part.partition)
        if key not in self._spans:
            self._spans[key] = self._sent(attempt)
        return self._spans[key]

    def _sent(self, attempt: Attempt) -> Span:
        earliest_ns = self.way.sent_ns(attempt.broker, attempt.asked_ns)
        if attempt.opened_ns is not None:
            earliest_ns = max(earliest_ns, attempt.opened_ns)
        return Span(min(max(earliest_ns, self.not_before_ns(attempt)), attempt.asked_ns), attempt.asked_ns)

    def not_before_ns(self, attempt: Attempt) -> int:
        """When the last record of it, or of what went ahead of it on its connection, was handed over.

        By the client's own clock, and so without slack beside what else the client said.
        """
        return self._floors_ns.get(attempt.request, 0)

    @cached_property
    def _floors_ns(self) -> Mapping[int, int]:
        floors: dict[int, int] = {}
        for made in self.by_conn.values():
            floor_ns = 0
            for attempt in made:
                handed_over_ns = self._handed_over_ns.get((attempt.part.partition, attempt.part.crc), 0)
                floor_ns = floors[attempt.request] = max(floor_ns, handed_over_ns)
        return floors

    def may_precede(self, earlier: Attempt, later: Attempt) -> bool:
        """True if ``earlier`` can have been sent before ``later``: certain on one connection, by intervals on two."""
        if earlier.conn == later.conn:
            return earlier.request < later.request
        return self.sent(earlier).earliest_ns <= later.asked_ns + SLACK_NS

    def left(self, attempt: Attempt) -> Span | None:
        """When the client can have left the connection of ``attempt``; None: it never did."""
        if attempt.closed_ns is None:
            return None
        return self.ended(attempt.broker, attempt.conn, attempt.closed_ns)

    def ended(self, broker: int, conn: int, closed_ns: int) -> Span:
        """When a connection that ended at the witness then can have ended for the client: it sends nothing behind."""
        ended_ns = self.way.ended_ns(broker, closed_ns)
        last = self.by_conn.get(conn, ())[-1:]
        return Span(max((ended_ns, *(self.sent(each).earliest_ns for each in last))), closed_ns)

    def reached_ns(self, attempt: Attempt) -> int | None:
        """The latest moment by which its answer has reached the client; None: it may never have, or there is none."""
        if attempt.answered_ns is None:
            return None
        if attempt.answered_ns >= self.out_of_turn_ns.get(attempt.conn, attempt.answered_ns + 1):
            return None
        return self.way.reached_ns(attempt.broker, attempt.answered_ns, attempt.opened_ns)

    @grants("lost-with-connection", "answer-out-of-turn")
    def lost_with_connection(self, attempt: Attempt) -> Span | None:
        """When the client can have lost the attempt with its connection; None where it cannot have.

        A client that hangs up in peace on an answer that comes has lost nothing: it has thrown it away.
        """
        left = self.left(attempt)
        if left is None:
            return None
        if attempt.answered_ns is None:
            return left
        reached_ns = self.reached_ns(attempt)
        if reached_ns is not None and reached_ns + SLACK_NS < left.earliest_ns:
            return None
        if attempt.answered_ns >= self.out_of_turn_ns.get(attempt.conn, attempt.answered_ns + 1):
            return left
        return left if self._had_a_reason(attempt, left) else None

    @grants("answers-out-of-turn-elsewhere")
    def lost_beside(self, attempt: Attempt) -> Span | None:
        """When the client can have given up an attempt whose answer it lost with one out of turn, elsewhere; or None.

        A client that fails over one answer may lose what it has read with it from other connections, as Java does.
        """
        answered_ns = attempt.answered_ns
        if answered_ns is None or not any(
            conn != attempt.conn and since_ns - SLACK_NS <= answered_ns <= self._closed_ns.get(conn, NEVER_NS)
            for conn, since_ns in self.out_of_turn_ns.items()
        ):
            return None
        left, sent = self.left(attempt), self.sent(attempt)
        latest_ns = NEVER_NS if left is None else left.latest_ns
        overdue_ns = sent.earliest_ns + self.patience_ns
        return Span(overdue_ns if left is None else min(overdue_ns, left.earliest_ns), latest_ns)

    @cached_property
    def _closed_ns(self) -> Mapping[int, int]:
        return {frame.conn: frame.t_ns for frame in self.evidence.frames if frame.kind is FrameKind.CLOSE}

    @grants("request-timed-out")
    def timed_out(self, attempt: Attempt) -> Span | None:
        """When the client can have given it up for lost by the clock; None where its answer, or its end, came first."""
        sent, reached_ns, left = self.sent(attempt), self.reached_ns(attempt), self.left(attempt)
        earliest_ns, latest_ns = sent.earliest_ns + self.patience_ns, sent.latest_ns + self.timeout_ns
        if reached_ns is not None:
            latest_ns = min(latest_ns, reached_ns)
        if left is not None:
            latest_ns = min(latest_ns, left.latest_ns)
        return None if latest_ns < earliest_ns else Span(earliest_ns, latest_ns)

    @grants("recovering-client-hangs-up")
    def _had_a_reason(self, attempt: Attempt, left: Span) -> bool:
        """True if something else than the client's own whim ended the connection of an answered attempt."""
        return self.way.during(attempt.broker, *self._reasons(attempt, left)) or self._gave_up(attempt, left)

    def known_lost_ns(self, attempt: Attempt, lost: Span) -> int:
        """When the client can first have known of a loss: not before what it is put down to was asked for."""
        earliest_ns = lost.earliest_ns - SLACK_NS
        if self._gave_up(attempt, lost):
            return earliest_ns
        return max(earliest_ns, self.way.requested_ns(attempt.broker, *self._reasons(attempt, lost)))

    def _reasons(self, attempt: Attempt, left: Span) -> Span:
        """When the faults were that can have ended the connection.

        Where the answer was ahead of the end, only what holds or cuts can have kept it from the client. Else a client
        that recovers from a fault may give a connection up with requests on it, for one request timeout.
        """
        if self._was_answered_before(attempt):
            return Span(attempt.answered_ns or 0, attempt.closed_ns or 0)
        return Span(left.earliest_ns - self.timeout_ns, left.latest_ns)

    def _gave_up(self, attempt: Attempt, left: Span) -> bool:
        """True if the client can have left over a request that was overdue, and not over an answer that it had."""
        return not self._was_answered_before(attempt) and self._is_overdue(left)

    def _was_answered_before(self, attempt: Attempt) -> bool:
        return attempt.answered_ns is not None and attempt.answered_ns < (attempt.closed_ns or 0)

    @grants("overdue-neighbour")
    def _is_overdue(self, left: Span) -> bool:
        """True if some request had waited for its answer for the whole request timeout by then, and waited still.

        Of whatever API and on whichever connection: a client that gives one request up may hang up on all connections.
        """
        return any(
            wait.earliest_ns + self.patience_ns <= left.latest_ns
            and left.earliest_ns <= wait.latest_ns + SLACK_NS
            for wait in self._waits
        )

    @cached_property
    def _waits(self) -> list[Span]:
        """From when until when requests waited for long: for an answer, or the end of a connection."""
        waiting: dict[tuple[int, int | None], int] = {}
        waits = []
        for frame in sorted((*self.evidence.frames, *self.evidence.stopped), key=_at_witness_ns):
            key = (frame.conn, frame.correlation_id)
            if frame.kind is FrameKind.REQUEST and frame.acks != 0:
                waiting[key] = self.way.sent_ns(frame.broker, frame.arrived_ns)
            elif frame.kind is FrameKind.RESPONSE and frame.fate is not Fate.STOPPED and key in waiting:
                reached_ns = self.way.reached_ns(frame.broker, frame.t_ns)
                if reached_ns is not None:
                    waits.append(Span(waiting.pop(key), reached_ns))
            elif frame.kind is FrameKind.CLOSE:
                ended = [each for each in waiting if each[0] == frame.conn]
                waits += [Span(waiting.pop(each), frame.t_ns) for each in ended]
        waits += [Span(since_ns, NEVER_NS) for since_ns in waiting.values()]
        return [wait for wait in waits if wait.latest_ns - wait.earliest_ns >= self.patience_ns]


def _at_witness_ns(frame: Frame) -> int:
    return frame.arrived_ns if frame.kind is FrameKind.REQUEST else frame.t_ns


@view
def sending(evidence: Evidence) -> Sending:
    """The intervals of this trial."""
    return Sending(evidence)
