"""The heartbeats of each member of a group of KIP-848, each with the one before it. Pure views.

A client may have several heartbeats outstanding, although it should not. What an answer tells it counts then only once
it has certainly read that answer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.model.consumer_rows import OffsetPart
from harness.model.evidence import Evidence, view
from harness.model.exchanges import connections
from harness.model.units import NS_PER_MS
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.timing import REQUEST, setting_ms
from suites.analysis.excuses import grants

HEARTBEAT: Final = "ConsumerGroupHeartbeat"
OWNED: Final = "topic_partitions"
SUBSCRIPTIONS: Final = frozenset({"subscribed_topic_names", "subscribed_topic_regex"})
#: For how long a client certainly waits for an answer. librdkafka gives a heartbeat up after one interval.
LEAST_WAIT_NS: Final = 500 * NS_PER_MS


class Beat(NamedTuple):
    """A heartbeat of a member, and the one before it of the same process, if there is one.

    ``known`` is what the member had said that it owns.
    """

    now: Asked
    before: Asked | None
    known: frozenset[OffsetPart] = frozenset()

    @property
    def joins(self) -> bool:
        """True if it is the first of a membership."""
        return self.now.member.epoch == 0

    @property
    def leaves(self) -> bool:
        """True if it is the last of a membership."""
        return self.now.member.epoch is not None and self.now.member.epoch < 0

    @property
    def says_timeout(self) -> bool:
        """True if it says the rebalance timeout, which is -1 otherwise."""
        return (self.now.member.rebalance_timeout_ms or 0) > 0

    @property
    def is_steady(self) -> bool:
        """True if it only says that the member lives."""
        return not (self.joins or self.leaves or self.now.member.said or self.says_timeout)


@view
def all_beats(evidence: Evidence) -> dict[str, list[Beat]]:
    """Return process -> its heartbeats, those that leave too, in the order in which they arrived."""
    found: dict[str, list[Beat]] = {}
    for process, requests in of_group(evidence, HEARTBEAT).items():
        before: Asked | None = None
        known: frozenset[OffsetPart] = frozenset()
        for each in requests:
            if each.member.epoch is None:
                continue
            found.setdefault(process, []).append(Beat(each, before, known))
            if OWNED in each.member.said:
                known = frozenset(each.request.offsets)
            before = each
    return found


def overlaps(evidence: Evidence, beat: Beat) -> bool:
    """Return whether the client certainly sent a heartbeat while it waited for the answer to the one before.

    On one connection a request that arrives before an answer passes was sent without that answer.
    """
    before, now = beat.before, beat.now
    if before is None or before.request.conn != now.request.conn:
        return False
    if may_give_up(before, now.request.arrived_ns):
        return False
    return before.answer is None or now.request.arrived_ns < before.answer.t_ns


def may_overlap(evidence: Evidence, beat: Beat) -> bool:
    """Return whether the client may have sent a heartbeat while it waited for the answer to the one before."""
    before, now = beat.before, beat.now
    if before is None or (before.reached_ns is not None and before.reached_ns < now.sent_ns):
        return False
    connection = connections(evidence).get(before.request.conn)
    is_open = connection is None or now.request.arrived_ns <= connection.closed_ns
    return is_open and not _is_timed_out(evidence, before, now)


def is_answered(evidence: Evidence, beat: Beat) -> bool:
    """Return whether a client with one heartbeat at a time had read the answer to the one before.

    It reads an answer that has reached it in time before it sends the next request on the same connection.
    """
    before, now = beat.before, beat.now
    if before is None or before.answer is None or now.process in pipelines(evidence):
        return False
    if before.received_ns is not None and before.received_ns < now.sent_ns:
        return True
    return (
        before.reached_ns is not None
        and before.reached_ns < now.sent_ns
        and before.request.conn == now.request.conn
        and not may_give_up(before, before.reached_ns)
    )


@view
def pipelines(evidence: Evidence) -> frozenset[str]:
    """Return the processes that had several heartbeats outstanding at a time."""
    return frozenset(
        process
        for process, beats in all_beats(evidence).items()
        if any(overlaps(evidence, beat) for beat in beats)
    )


@grants("heartbeat-given-up")
def may_give_up(asked: Asked, at_ns: int) -> bool:
    """Return whether a client may have given up a heartbeat by then."""
    return at_ns - asked.sent_ns >= LEAST_WAIT_NS


def _is_timed_out(evidence: Evidence, before: Asked, now: Asked) -> bool:
    return now.sent_ns - before.request.arrived_ns >= setting_ms(evidence, REQUEST) * NS_PER_MS
