"""How long each member waited for the answer to a JoinGroup, and whether it gave up before. Pure views.

The coordinator answers once all members have joined, or after the rebalance timeout that they have announced. A member
gives up if it closes the connection, or sends another JoinGroup, before it has the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.evidence import Evidence, view
from harness.model.exchanges import FOR_EVER, connections
from harness.model.units import NS_PER_MS
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.calls import has_called
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.excuses import grants
from suites.analysis.way import SLACK_NS

JOIN: Final = "JoinGroup"
LEAVE: Final = "LeaveGroup"
REBALANCES: Final = BY_NAME["REBALANCE_IN_PROGRESS"].code
#: Calls after which a member may have to join again.
SUBSCRIPTIONS: Final = ("subscribe", "assign", "unsubscribe")


class Wait(NamedTuple):
    """A JoinGroup that waits for its answer, until the answer came or the client gave it up.

    ``limit_ns`` is how long the coordinator may take, by what the member has announced.
    """

    asked: Asked
    span: Span
    limit_ns: int
    is_given_up: bool

    @property
    def process(self) -> str:
        """The process that joins."""
        return self.asked.process

    @property
    def length_ns(self) -> int:
        """How long the member waited."""
        return self.span.end_ns - self.span.begin_ns


@view
def waits(evidence: Evidence) -> list[Wait]:
    """Return the waits of which it is known how they ended, and in which nothing else made the member join again."""
    return [
        wait
        for process, requests in of_group(evidence).items()
        for wait in _waits(evidence, requests)
        if not _has_reason(evidence, lives(evidence)[process], wait, requests)
    ]


def _waits(evidence: Evidence, requests: list[Asked]) -> Iterator[Wait]:
    joins = [each for each in requests if each.api == JOIN]
    for at, each in enumerate(joins):
        limit_ms = each.member.rebalance_timeout_ms or each.member.session_timeout_ms
        connection = connections(evidence).get(each.request.conn)
        if limit_ms is None or connection is None:
            continue
        answered_ns = FOR_EVER if each.answer is None else each.answer.t_ns
        again_ns = joins[at + 1].request.arrived_ns if at + 1 < len(joins) else FOR_EVER
        end_ns = min(answered_ns, again_ns, connection.closed_ns)
        is_closed = end_ns == connection.closed_ns
        if end_ns == FOR_EVER or (is_closed and connection.closed_by != "client"):
            continue
        begin_ns = each.request.arrived_ns
        yield Wait(each, Span(begin_ns, end_ns), limit_ms * NS_PER_MS, end_ns != answered_ns)


@grants("had-to-join-again")
def _has_reason(evidence: Evidence, life: Life, wait: Wait, requests: list[Asked]) -> bool:
    """Return whether something else may have ended the wait: a fault, an error, a call, or the end of the process."""
    span = wait.span
    return (
        not life.covers(Span(span.begin_ns, span.end_ns + SLACK_NS))
        or any(nap.overlap_ns(*span) for nap in life.frozen)
        or during_cut(evidence, span)
        or any(_ends_it(each, span) for each in requests if each is not wait.asked)
        or has_called(evidence, wait.process, span, SUBSCRIPTIONS)
    )


def _ends_it(other: Asked, span: Span) -> bool:
    """Return whether another request of the member ends its join: it leaves, or is told an error."""
    if other.api == LEAVE:
        return span.begin_ns <= other.request.arrived_ns <= span.end_ns
    is_error = other.code is not None and other.code not in (0, REBALANCES)
    return is_error and other.answer is not None and span.begin_ns <= other.answer.t_ns <= span.end_ns
