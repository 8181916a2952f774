"""Which ways Produce took: connections that ended and what came in their place, leaders that changed, new partitions.

And what the log shows of brokers that lost or forgot something. Pure counts of what passed the witness and of what was
read back.
"""

from __future__ import annotations

from harness.evidence import Evidence
from harness.rows import Frame, FrameKind
from harness.scenario import Consequence
from harness.units import NS_PER_MS
from suites.checks.attempts import PRODUCE, attempts

#: A connection that a fault ended is seen to end at the latest so long after the fault was over.
GRACE_NS = 500 * NS_PER_MS


def another_way(evidence: Evidence) -> Consequence:
    """Connections with Produce on them that ended during a fault, and whose partitions went by another one then."""
    windows = [row.effective_ns for row in evidence.faults if row.effective_ns is not None]
    made = attempts(evidence)
    ended = {
        attempt.conn: attempt.closed_ns
        for attempt in made
        if attempt.closed_ns is not None
        and any(begin <= attempt.closed_ns <= end + GRACE_NS for begin, end in windows)
    }
    carried: dict[int, set[int]] = {}
    for attempt in made:
        carried.setdefault(attempt.conn, set()).add(attempt.part.partition)
    count = sum(
        any(
            later.sent_ns > closed_ns and later.conn != conn and later.part.partition in carried[conn]
            for later in made
        )
        for conn, closed_ns in ended.items()
    )
    return Consequence(count, "connections ended with Produce on them, which took another way")


def other_leaders(evidence: Evidence) -> Consequence:
    """How often the Produce of a partition went to another broker than before."""
    count, last = 0, dict[int, int]()
    for frame in evidence.frames:
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE:
            for part in frame.produce:
                count += last.get(part.partition, frame.broker) != frame.broker
                last[part.partition] = frame.broker
    return Consequence(count, "times a partition's Produce went to another broker")


def in_vain(evidence: Evidence) -> Consequence:
    """Connections that a broker's side accepted and on which it answered nothing, until the client left."""
    seen: dict[int, list[Frame]] = {}
    for frame in evidence.frames:
        seen.setdefault(frame.conn, []).append(frame)
    count = sum(_is_in_vain(frames) for frames in seen.values())
    return Consequence(count, "connections were accepted and never answered")


def torn_requests(evidence: Evidence) -> Consequence:
    """Connections that ended with the beginning of a request on them, whose partitions then took another way."""
    made = attempts(evidence)
    torn = [frame for frame in evidence.frames if frame.kind is FrameKind.OPAQUE]
    count = sum(
        any(later.sent_ns > frame.t_ns and later.conn != frame.conn for later in made) for frame in torn
    )
    return Consequence(count, "requests broke off on their way, and Produce took another one")


def new_partitions(evidence: Evidence) -> Consequence:
    """Batches that went to partitions which the topic did not have at first."""
    first = evidence.record.spec.workload.partitions
    count = sum(attempt.accepted and attempt.part.partition >= first for attempt in attempts(evidence))
    return Consequence(count, "batches went to new partitions")


def went_on_unknown(evidence: Evidence) -> Consequence:
    """Batches that were stored behind others of their producer, long enough after the brokers began to forget it."""
    windows = [row.effective_ns for row in evidence.faults if row.effective_ns is not None]
    count = sum(
        attempt.accepted
        and (attempt.part.base_sequence or 0) > 0
        and any(begin + 2 * GRACE_NS <= attempt.sent_ns <= end for begin, end in windows)
        for attempt in attempts(evidence)
    )
    return Consequence(count, "batches went on where their producer was forgotten")


def trimmed(evidence: Evidence) -> Consequence:
    """Partitions whose log no longer begins at offset 0, and to which the client went on to write."""
    begins: dict[int, int] = {}
    for record in evidence.log:
        begins[record.partition] = min(begins.get(record.partition, record.offset), record.offset)
    return Consequence(
        sum(offset > 0 for offset in begins.values()), "partitions went on behind a trimmed log"
    )


def _is_in_vain(frames: list[Frame]) -> bool:
    """True where a request passed, the client's end closed, and no answer had passed until then."""
    asked = False
    for frame in frames:
        if frame.kind is FrameKind.RESPONSE:
            return False
        asked = asked or frame.kind is FrameKind.REQUEST
        if frame.kind is FrameKind.CLOSE:
            return asked and frame.closed_by == "client"
    return False
