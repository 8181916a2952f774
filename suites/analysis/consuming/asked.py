"""What each member's process asked its brokers, with the answers and when it can have known them. Pure views.

A request belongs to the process whose name is its client id. It counts even if a rule of the witness stopped it,
because the client sent it. An answer is *received* once the client has certainly read it: it was not out of order,
no fault kept it, and the connection stayed open. A client that reads answers only between two turns of the application
receives it after the turn; a frozen process receives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from harness.judging.availability import Span
from harness.model.consumer_rows import MemberPart
from harness.model.evidence import Evidence, view
from harness.model.exchanges import FOR_EVER, connections
from harness.model.rows import Frame, FrameKind
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants
from suites.analysis.response_order import out_of_turn_ns
from suites.analysis.unread import TORN
from suites.analysis.way import SLACK_NS, way

#: The APIs that a group's coordinator answers.
GROUP_APIS: Final = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetFetch",
    "ConsumerGroupHeartbeat",
)
#: How the note of an answer to a closed connection begins.
_TO_NOBODY: Final = "after the client had closed"


class Asked(msgspec.Struct, frozen=True, gc=False):
    """One request of a process, and its answer if one passed.

    ``sent_ns`` is the earliest time at which the client can have sent it. ``reached_ns`` is by when the answer has
    reached the client, and ``received_ns`` by when the client has read it; both are None if it may never have.
    """

    process: str
    request: Frame
    sent_ns: int
    answer: Frame | None = None
    reached_ns: int | None = None
    received_ns: int | None = None

    @property
    def api(self) -> str:
        """The API's name."""
        return self.request.api or ""

    @property
    def member(self) -> MemberPart:
        """The member that the request names. It is empty if the witness could not read it."""
        return self.request.members[0] if self.request.members else _NO_MEMBER

    @property
    def told(self) -> MemberPart:
        """What the answer says about the member."""
        return self.answer.members[0] if self.answer is not None and self.answer.members else _NO_MEMBER

    @property
    def code(self) -> int | None:
        """The first error of the answer, 0 if it has none, None without an answer."""
        if self.answer is None:
            return None
        return self.answer.error_codes[0] if self.answer.error_codes else 0


_NO_MEMBER: Final = MemberPart()


@view
def asked(evidence: Evidence) -> dict[str, list[Asked]]:
    """Return process -> its requests, in the order in which they arrived."""
    found: dict[str, list[Asked]] = {process: [] for process in lives(evidence)}
    for each in (*_passed(evidence), *_stopped(evidence)):
        if each.process in found:
            found[each.process].append(each)
    for requests in found.values():
        requests.sort(key=lambda each: each.request.arrived_ns)
    return found


def of_group(evidence: Evidence, *apis: str) -> dict[str, list[Asked]]:
    """Return process -> its requests of these APIs, or of all that a group's coordinator answers.

    Companions are left out.
    """
    chosen = apis or GROUP_APIS
    return {
        process: [each for each in requests if each.api in chosen]
        for process, requests in asked(evidence).items()
        if is_tried(evidence, process)
    }


def unread_of_members(evidence: Evidence) -> int:
    """Return how many frames or connections the witness could not read, or not whole."""
    return sum(
        frame.is_cut
        or (frame.note or "").startswith(("body not read", "too large"))
        or (frame.kind is FrameKind.OPAQUE and not (frame.note or "").startswith(TORN))
        for frame in evidence.frames
    )


def _passed(evidence: Evidence) -> Iterator[Asked]:
    known, doubtful_ns = lives(evidence), out_of_turn_ns(evidence)
    for connection in connections(evidence).values():
        from_ns = doubtful_ns.get(connection.number, FOR_EVER)
        for exchange in connection.exchanges:
            request, answer = exchange.request, exchange.answer
            life = known.get(request.client_id or "")
            reached_ns = None
            if answer is not None and answer.t_ns < from_ns:
                reached_ns = _reached_ns(evidence, answer, connection.opened_ns)
            received_ns = None
            if life is not None and reached_ns is not None:
                received_ns = _received_ns(life, reached_ns, connection.closed_ns)
            yield Asked(
                request.client_id or "", request, _sent_ns(evidence, request), answer, reached_ns, received_ns
            )


def _stopped(evidence: Evidence) -> Iterator[Asked]:
    for frame in evidence.blocked_frames:
        if frame.kind is FrameKind.REQUEST:
            yield Asked(frame.client_id or "", frame, _sent_ns(evidence, frame))


def _sent_ns(evidence: Evidence, request: Frame) -> int:
    return way(evidence).sent_ns(request.broker, request.arrived_ns)


@grants("answer-not-for-the-client")
def _reached_ns(evidence: Evidence, answer: Frame, opened_ns: int) -> int | None:
    """Return by when an answer has reached the client, or None if it may never have."""
    if (answer.note or "").startswith(_TO_NOBODY):
        return None
    return way(evidence).reached_ns(answer.broker, answer.t_ns, opened_ns)


@grants("answer-not-read-yet")
def _received_ns(life: Life, reached_ns: int, closed_ns: int) -> int | None:
    """Return by when the process had read an answer, or None if its connection or its life may have ended before."""
    received_ns = _free_ns(life, reached_ns + SLACK_NS)
    return None if closed_ns <= received_ns or life.end_ns <= received_ns else received_ns


def _free_ns(life: Life, at_ns: int) -> int:
    """Return when the process had a chance to read what had arrived: not while it was frozen or in one turn."""
    for spans in (life.turns, life.frozen):
        for span in spans:
            if span.begin_ns <= at_ns <= span.end_ns and span.end_ns - span.begin_ns > SLACK_NS:
                at_ns = span.end_ns + SLACK_NS
    return at_ns


def since(span: Span, requests: list[Asked]) -> list[Asked]:
    """Return the requests that arrived within a period."""
    return [each for each in requests if span.begin_ns <= each.request.arrived_ns <= span.end_ns]
