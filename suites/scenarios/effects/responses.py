"""Answers that clients did or did not get: missing, late, duplicated, or matching no request.

Pure counts, each of what passed the witness while a fault was in effect, and of what the client did about it.
A client's reaction to a missing answer shows in a later request for the partition, or in a record that it
gave up. This is what both good and bad clients do.
"""

from __future__ import annotations

from harness.model.evidence import Evidence, Operation
from harness.model.exchanges import FOR_EVER, connections
from harness.model.rows import Disposition, Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from harness.plugins.scenario import Consequence
from suites.analysis.attempts import PRODUCE, Attempt, attempts
from suites.scenarios.effects.fault_windows import during, meets

#: The clocks of the client and of the witness start to count a request's time slightly apart.
SLACK_NS = 200 * NS_PER_MS
#: The least time that an answer in pieces takes to pass.
IN_PIECES_NS = 20 * NS_PER_MS


def unanswered(evidence: Evidence) -> Consequence:
    """Produce requests to which no answer ever passed, and whose partition was retried or given up."""
    count = sum(
        attempt.answered_ns is None and meets(evidence, *_due(evidence, attempt))
        for attempt in resumed(evidence)
    )
    return Consequence(count, "Produce requests had no answer, and were sent again or given up")


def unasked(evidence: Evidence) -> Consequence:
    """Produce requests that never passed to the broker, and whose partition was retried or given up."""
    asked = attempts(evidence)
    lost = [
        frame
        for frame in evidence.blocked_frames
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE and during(evidence, frame.t_ns)
    ]
    count = sum(
        any(each.part.partition == part.partition and each.sent_ns > frame.t_ns for each in asked)
        or given_up_over(evidence, frame.t_ns)
        for frame in lost
        for part in frame.produce[:1]
    )
    return Consequence(count, "Produce requests never passed, and were sent again or given up")


def overdue(evidence: Evidence) -> Consequence:
    """Produce requests that had no answer at the witness for longer than request.timeout.ms: late, or none at all."""
    count = sum(_is_overdue(evidence, attempt) for attempt in attempts(evidence))
    return Consequence(count, "Produce requests had no answer for longer than request.timeout.ms")


def left_behind(evidence: Evidence) -> Consequence:
    """Connections that ended because of an overdue Produce request, with another unanswered request on them."""
    overdue_on = {attempt.conn for attempt in attempts(evidence) if _is_overdue(evidence, attempt)}
    count = sum(
        number in overdue_on
        and connection.closed_ns != FOR_EVER
        and sum(
            exchange.request.api == PRODUCE
            and (exchange.answer is None or exchange.answer.t_ns >= connection.closed_ns)
            for exchange in connection.exchanges
        )
        > 1
        for number, connection in connections(evidence).items()
    )
    return Consequence(count, "connections ended because of a late answer, with other requests in flight")


def delayed_past_disconnect(evidence: Evidence) -> Consequence:
    """Produce requests that reached the broker after their client had left and was using another connection."""
    count = sum(
        attempt.closed_ns is not None
        and during(evidence, attempt.sent_ns)
        and attempt.closed_ns <= attempt.sent_ns + SLACK_NS
        and (attempt.answered_ns is None or attempt.answered_ns >= attempt.closed_ns)
        and any(
            other.part.partition == attempt.part.partition and other.conn > attempt.conn
            for other in attempts(evidence)
        )
        for attempt in attempts(evidence)
    )
    return Consequence(count, "Produce requests reached the broker after their client had given them up")


def out_of_turn(evidence: Evidence) -> Consequence:
    """Produce answers that passed after the answer to a later request on the same connection."""
    asked: dict[tuple[int, int | None], int] = {}
    latest: dict[int, int] = {}
    count = 0
    for index, frame in enumerate(evidence.frames):
        request = (frame.conn, frame.correlation_id)
        if frame.kind is FrameKind.REQUEST:
            asked[request] = index
        elif frame.kind is FrameKind.RESPONSE and request in asked:
            behind = asked[request] < latest.get(frame.conn, -1)
            count += frame.api == PRODUCE and behind and during(evidence, frame.t_ns)
            latest[frame.conn] = max(latest.get(frame.conn, -1), asked[request])
    return Consequence(count, "Produce answers passed out of order")


def doubled(evidence: Evidence) -> Consequence:
    """Produce answers that passed twice. Only the witness can tell, since the client need not show it."""
    count = sum(frame.disposition is Disposition.ANNOTATED for frame in _answers(evidence))
    return Consequence(count, "Produce answers passed twice")


def from_nobody(evidence: Evidence) -> Consequence:
    """Answers with a correlation id that no request on their connection had used."""
    asked = {
        (frame.conn, frame.correlation_id) for frame in evidence.frames if frame.kind is FrameKind.REQUEST
    }
    strange = sum(
        (frame.conn, frame.correlation_id) not in asked
        for frame in evidence.frames
        if frame.kind is FrameKind.RESPONSE and during(evidence, frame.t_ns)
    )
    return Consequence(strange, "answers passed that matched no request")


def in_pieces(evidence: Evidence) -> Consequence:
    """Produce answers that took a long time to pass, although the broker had given them at once."""
    count = sum(frame.t_ns - frame.arrived_ns >= IN_PIECES_NS for frame in _answers(evidence))
    return Consequence(count, "Produce answers passed in pieces")


def resumed(evidence: Evidence) -> list[Attempt]:
    """Return the attempts whose partition was tried again later, or after which a record was given up."""
    last: dict[int, int] = {}
    made = attempts(evidence)
    for attempt in made:
        last[attempt.part.partition] = attempt.sent_ns
    return [
        attempt
        for attempt in made
        if last[attempt.part.partition] > attempt.sent_ns or given_up_over(evidence, attempt.sent_ns)
    ]


def given_up_over(evidence: Evidence, t_ns: int) -> bool:
    """True if a record that was pending at that time was never acknowledged."""
    return any(
        _was_under_way(send, t_ns) for send in evidence.operations.values() if send.outcome is not Outcome.OK
    )


def _was_under_way(send: Operation, t_ns: int) -> bool:
    return send.invoke_ns <= t_ns and (send.complete_ns is None or send.complete_ns >= t_ns)


def _is_overdue(evidence: Evidence, attempt: Attempt) -> bool:
    begin_ns, due_ns = _due(evidence, attempt)
    ends = [t_ns for t_ns in (attempt.answered_ns, attempt.closed_ns) if t_ns is not None]
    return bool(ends) and min(ends) >= due_ns - SLACK_NS and meets(evidence, begin_ns, due_ns)


def _due(evidence: Evidence, attempt: Attempt) -> tuple[int, int]:
    """Return the interval in which an answer would have been in time."""
    timeout_ns = int(evidence.record.spec.config["request.timeout.ms"]) * NS_PER_MS
    return attempt.sent_ns, attempt.sent_ns + timeout_ns


def _answers(evidence: Evidence) -> list[Frame]:
    return [
        frame
        for frame in evidence.frames
        if frame.kind is FrameKind.RESPONSE and frame.api == PRODUCE and during(evidence, frame.t_ns)
    ]
