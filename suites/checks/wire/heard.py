"""When a client had certainly read an answer, judged by its own results and the timestamps of its records.

A client that acknowledges a record has read the answer with the record's place. A request with a record that
is dated later was sent with that answer in hand, however long either was in transit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from harness.model.evidence import Evidence, view
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from suites.analysis.attempts import PRODUCE
from suites.checks.wire.on_the_way import wall_offsets_ns

Place = tuple[int, int | None]


@view
def read_by_ns(evidence: Evidence) -> Mapping[tuple[int, int | None], int]:
    """Map (connection, correlation id) of a Produce answer to the latest time by which the client had read it.

    Only an answer that alone names the place of some batch counts, and only if every record of that batch was
    acknowledged after the answer had passed.
    """
    told_ns = _told_ns(evidence)
    answers = [
        frame for frame in evidence.frames if frame.kind is FrameKind.RESPONSE and frame.api == PRODUCE
    ]
    named = Counter((part.partition, part.base_offset) for answer in answers for part in answer.produce)
    found: dict[tuple[int, int | None], int] = {}
    for answer in answers:
        for part in answer.produce:
            place = (part.partition, part.base_offset)
            at_ns = told_ns.get(place)
            if at_ns is not None and at_ns >= answer.t_ns and named[place] == 1:
                key = (answer.conn, answer.correlation_id)
                found[key] = min(at_ns, found.get(key, at_ns))
    return found


def made_after(evidence: Evidence, request: Frame, at_ns: int) -> bool:
    """True if a batch of this request has a record that the client dated after ``at_ns``."""
    _, most_ns = wall_offsets_ns(evidence)
    dates_ms = [part.max_timestamp_ms for part in request.produce if part.max_timestamp_ms is not None]
    return most_ns > 0 and any(date_ms * NS_PER_MS - most_ns > at_ns for date_ms in dates_ms)


def _told_ns(evidence: Evidence) -> Mapping[Place, int]:
    """Map the place of each batch whose records were all acknowledged to the time of its last acknowledgement."""
    told: dict[Place, int] = {}
    other: set[Place] = set()
    for n, copies in evidence.copies.items():
        send = evidence.operations.get(n)
        for copy in copies:
            place = (copy.partition, copy.base_offset)
            if send is None or send.outcome is not Outcome.OK or send.complete_ns is None:
                other.add(place)
            else:
                told[place] = max(send.complete_ns, told.get(place, 0))
    return {place: at_ns for place, at_ns in told.items() if place not in other}
