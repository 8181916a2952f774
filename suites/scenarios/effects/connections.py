"""How Produce requests were routed: connections that ended and their replacements, new leaders, new partitions.

It also covers what the log shows of brokers that lost or forgot something. Pure counts of what passed the
witness during a fault, or since its beginning if the fault leaves something behind.
"""

from __future__ import annotations

from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.plugins.scenario import Consequence
from suites.analysis.attempts import PRODUCE, attempts
from suites.scenarios.effects.fault_windows import begun, during, meets, windows


def another_way(evidence: Evidence) -> Consequence:
    """Connections with Produce requests that ended during a fault, and whose partitions then used another one."""
    made = attempts(evidence)
    ended = {
        attempt.conn: attempt.closed_ns
        for attempt in made
        if attempt.closed_ns is not None and during(evidence, attempt.closed_ns)
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
    return Consequence(
        count, "connections with Produce requests ended, and their partitions used another one"
    )


def other_leaders(evidence: Evidence) -> Consequence:
    """How often during a fault a partition's Produce requests went to another broker than before."""
    count, last = 0, dict[int, int]()
    for frame in evidence.frames:
        if frame.kind is FrameKind.REQUEST and frame.api == PRODUCE:
            for part in frame.produce:
                moved = last.get(part.partition, frame.broker) != frame.broker
                count += moved and during(evidence, frame.t_ns)
                last[part.partition] = frame.broker
    return Consequence(count, "times a partition's Produce went to another broker")


def in_vain(evidence: Evidence) -> Consequence:
    """Connections that the broker's side accepted but never answered on, until the client closed them."""
    seen: dict[int, list[Frame]] = {}
    for frame in evidence.frames:
        seen.setdefault(frame.conn, []).append(frame)
    count = sum(
        _is_in_vain(frames) and meets(evidence, frames[0].t_ns, frames[-1].t_ns) for frames in seen.values()
    )
    return Consequence(count, "connections were accepted and never answered")


def torn_requests(evidence: Evidence) -> Consequence:
    """Connections that ended in the middle of a request, and whose partitions then used another one."""
    made = attempts(evidence)
    torn = [
        frame for frame in evidence.frames if frame.kind is FrameKind.OPAQUE and during(evidence, frame.t_ns)
    ]
    count = sum(
        any(later.sent_ns > frame.t_ns and later.conn != frame.conn for later in made) for frame in torn
    )
    return Consequence(count, "requests were cut off in transit, and Produce used another connection")


def new_partitions(evidence: Evidence) -> Consequence:
    """Batches for partitions that the topic did not have at first."""
    first = evidence.record.spec.workload.partitions
    count = sum(
        attempt.accepted and attempt.part.partition >= first and begun(evidence, attempt.sent_ns)
        for attempt in attempts(evidence)
    )
    return Consequence(count, "batches went to new partitions")


def went_on_unknown(evidence: Evidence) -> Consequence:
    """Producers that a partition accepted before and after it forgot them, with the sequence continuing."""
    spans = windows(evidence)
    known: set[tuple[int, int | None, int | None]] = set()
    went_on = set()
    for attempt in attempts(evidence):
        part = attempt.part
        if not attempt.accepted or attempt.sequence is None:
            continue
        producer = (part.partition, part.producer_id, part.producer_epoch)
        if (attempt.answered_ns or 0) < min((begin for begin, _ in spans), default=0):
            known.add(producer)
        elif producer in known and attempt.sent_ns > max(end for _, end in spans) and part.base_sequence:
            went_on.add(producer)
    return Consequence(len(went_on), "producers went on in partitions that had forgotten them")


def trimmed(evidence: Evidence) -> Consequence:
    """Partitions whose log begins after batches that it had, and to which the client has written since."""
    begins: dict[int, int] = {}
    for record in evidence.log:
        begins[record.partition] = min(begins.get(record.partition, record.offset), record.offset)
    written = {attempt.part.partition for attempt in attempts(evidence) if begun(evidence, attempt.sent_ns)}
    count = sum(offset > 0 and partition in written for partition, offset in begins.items())
    return Consequence(count, "partitions were written to after their log was trimmed")


def _is_in_vain(frames: list[Frame]) -> bool:
    """True if a request passed and the client closed the connection before any answer had passed."""
    asked = False
    for frame in frames:
        if frame.kind is FrameKind.RESPONSE:
            return False
        asked = asked or frame.kind is FrameKind.REQUEST
        if frame.kind is FrameKind.CLOSE:
            return asked and frame.closed_by == "client"
    return False
