"""When a client can have sent an attempt or left a connection, as intervals.

Bytes can still arrive from a connection that its client left long ago. So an attempt has an interval. It ends
when the attempt arrived at the witness. It begins when the connection was open, the records were handed over
and the faults on the way can first have delayed the attempt. On one connection, requests arrive in the order
in which they were sent. A client is accused only if no time in the interval fits a story without a defect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import Disposition, Frame, FrameKind
from harness.model.units import NS_PER_MS
from suites.analysis.attempts import Attempt, BatchPlace, attempts, batch_place, origins
from suites.analysis.excuses import grants
from suites.analysis.response_order import out_of_turn_ns
from suites.analysis.way import SLACK_NS, Way, way

REQUEST_TIMEOUT = "request.timeout.ms"
NEVER_NS = 2**63


class Span(NamedTuple):
    """The earliest and the latest time at which something can have happened."""

    earliest_ns: int
    latest_ns: int


@dataclass(frozen=True)
class Sending:
    """The intervals of one trial."""

    evidence: Evidence
    _spans: dict[tuple[int, int], Span] = field(default_factory=dict)

    @cached_property
    def way(self) -> Way:
        """The faults between the client and the brokers."""
        return way(self.evidence)

    @cached_property
    def timeout_ns(self) -> int:
        """After how long a client gives up a request."""
        return int(self.evidence.record.spec.config[REQUEST_TIMEOUT]) * NS_PER_MS

    @cached_property
    def patience_ns(self) -> int:
        """The shortest request timeout that the witness can observe, since the client's clock includes both directions.

        The slack that is subtracted is at most half of the timeout, because a client's clock is not wrong by
        more.
        """
        return self.timeout_ns - min(SLACK_NS, self.timeout_ns // 2)

    @cached_property
    def by_conn(self) -> Mapping[int, list[Attempt]]:
        """Maps a connection to its attempts, in order."""
        found: dict[int, list[Attempt]] = {}
        for attempt in attempts(self.evidence):
            found.setdefault(attempt.conn, []).append(attempt)
        return found

    @cached_property
    def out_of_turn_ns(self) -> Mapping[int, int]:
        """Maps a connection to the time from which it is unknown what its answers answer."""
        return out_of_turn_ns(self.evidence)

    @cached_property
    def _handed_over_ns(self) -> Mapping[tuple[int, int | None], int]:
        """Maps a partition and a batch's CRC to the time at which the batch's last record was handed over."""
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
        """Return when the client can have sent the attempt."""
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
        """Return when the last record of this attempt, or of an earlier one on its connection, was handed over.

        This time comes from the client's own clock, so comparisons with other times from the client need no
        slack.
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
        """True if ``earlier`` can have been sent before ``later``.

        On one connection this is certain; otherwise intervals decide.
        """
        if earlier.conn == later.conn:
            return earlier.request < later.request
        return self.sent(earlier).earliest_ns <= later.asked_ns + SLACK_NS

    def left(self, attempt: Attempt) -> Span | None:
        """Return when the client can have left the connection of ``attempt``, or None if it never did."""
        if attempt.closed_ns is None:
            return None
        return self.ended(attempt.broker, attempt.conn, attempt.closed_ns)

    def ended(self, broker: int, conn: int, closed_ns: int) -> Span:
        """Return when a connection can have ended for the client, given when the witness saw it end.

        The client sends nothing on it afterwards.
        """
        ended_ns = self.way.ended_ns(broker, closed_ns)
        last = self.by_conn.get(conn, ())[-1:]
        return Span(max((ended_ns, *(self.sent(each).earliest_ns for each in last))), closed_ns)

    def reached_ns(self, attempt: Attempt) -> int | None:
        """Return by when the answer has reached the client. None if it may never have, or if there is no answer."""
        if attempt.answered_ns is None:
            return None
        if attempt.answered_ns >= self.out_of_turn_ns.get(attempt.conn, attempt.answered_ns + 1):
            return None
        return self.way.reached_ns(attempt.broker, attempt.answered_ns, attempt.opened_ns)

    @grants("lost-with-connection", "answer-out-of-turn")
    def lost_with_connection(self, attempt: Attempt) -> Span | None:
        """Return when the client can have lost the attempt with its connection, or None if it cannot have.

        A client that closes a connection without a reason while an answer arrives has not lost the answer. It
        has discarded it.
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
        """Return when a client can have lost this answer to an out-of-order answer on another connection, or None.

        A client that fails on one answer may lose answers that it read from other connections at the same
        time, as Java does.
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
        """Return when the attempt can have timed out at the client, or None if its answer or its end came first."""
        sent, reached_ns, left = self.sent(attempt), self.reached_ns(attempt), self.left(attempt)
        earliest_ns, latest_ns = sent.earliest_ns + self.patience_ns, sent.latest_ns + self.timeout_ns
        if reached_ns is not None:
            latest_ns = min(latest_ns, reached_ns)
        if left is not None:
            latest_ns = min(latest_ns, left.latest_ns)
        return None if latest_ns < earliest_ns else Span(earliest_ns, latest_ns)

    @grants("recovering-client-hangs-up")
    def _had_a_reason(self, attempt: Attempt, left: Span) -> bool:
        """True if something other than the client's own decision ended the connection of an answered attempt."""
        return self.way.during(attempt.broker, *self._reasons(attempt, left)) or self._gave_up(attempt, left)

    def known_lost_ns(self, attempt: Attempt, lost: Span) -> int:
        """Return when the client can first have known of a loss: not before its assumed cause was requested."""
        earliest_ns = lost.earliest_ns - SLACK_NS
        if self._gave_up(attempt, lost):
            return earliest_ns
        return max(earliest_ns, self.way.requested_ns(attempt.broker, *self._reasons(attempt, lost)))

    def _reasons(self, attempt: Attempt, left: Span) -> Span:
        """Return the interval in which faults can have ended the connection.

        If the answer came before the end, only a fault that holds or cuts at that time can have kept it from
        the client. Otherwise a client that recovers from a fault may give up a connection with requests on it
        for one request timeout.
        """
        if self._was_answered_before(attempt):
            return Span(attempt.answered_ns or 0, attempt.closed_ns or 0)
        return Span(left.earliest_ns - self.timeout_ns, left.latest_ns)

    def _gave_up(self, attempt: Attempt, left: Span) -> bool:
        """True if the client can have left because of an overdue request, and not after an answer that it got."""
        return not self._was_answered_before(attempt) and self._is_overdue(left)

    def _was_answered_before(self, attempt: Attempt) -> bool:
        return attempt.answered_ns is not None and attempt.answered_ns < (attempt.closed_ns or 0)

    @grants("overdue-neighbour")
    def _is_overdue(self, left: Span) -> bool:
        """True if a request had waited for the whole request timeout by then and was still waiting.

        The request may be of any API and on any connection: a client that gives up one request may close all
        connections.
        """
        return any(
            wait.earliest_ns + self.patience_ns <= left.latest_ns
            and left.earliest_ns <= wait.latest_ns + SLACK_NS
            for wait in self._waits
        )

    @cached_property
    def _waits(self) -> list[Span]:
        """The intervals in which requests waited long for an answer or the end of their connection."""
        waiting: dict[tuple[int, int | None], int] = {}
        waits = []
        for frame in sorted((*self.evidence.frames, *self.evidence.blocked_frames), key=_at_witness_ns):
            key = (frame.conn, frame.correlation_id)
            if frame.kind is FrameKind.REQUEST and frame.acks != 0:
                waiting[key] = self.way.sent_ns(frame.broker, frame.arrived_ns)
            elif (
                frame.kind is FrameKind.RESPONSE
                and frame.disposition is not Disposition.BLOCKED
                and key in waiting
            ):
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
    """Return the intervals of this trial."""
    return Sending(evidence)
