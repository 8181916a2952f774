"""Which answers a client had certainly read by when, by what it says itself: its results, and the dates of its records.

A client that acknowledges a record has read the answer with its place. A request with a record that was dated
afterwards was sent with that answer in hands, however long either was on its way.
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
    """Connection and correlation id of a Produce answer -> when the client had read it, at the latest.

    Only an answer that is the only one with the place of some batch counts, and only where every record of that batch
    was acknowledged after it had passed.
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
    """True if a batch of this request has a record that the client dated after this moment."""
    _, most_ns = wall_offsets_ns(evidence)
    dates_ms = [part.max_timestamp_ms for part in request.produce if part.max_timestamp_ms is not None]
    return most_ns > 0 and any(date_ms * NS_PER_MS - most_ns > at_ns for date_ms in dates_ms)


def _told_ns(evidence: Evidence) -> Mapping[Place, int]:
    """Place of a batch -> when the last of its records was acknowledged, of batches of which all were."""
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
