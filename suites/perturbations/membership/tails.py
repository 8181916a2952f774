"""Fetch requests of a client that does not go past markers and aborted records."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_rows import FetchPart, OffsetPart
from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked import Asked, of_group
from suites.checks.consume_wire.refetched_tail import FETCH, TIMES, Stay, begins, tails
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import with_frames
from suites.perturbations.perturbation import channels

#: A request without a session.
ALONE = FetchPart(session_id=0, session_epoch=-1)
MARKER_BYTES = 78
MORE = TIMES + 1


def _at(evidence: Evidence, stay: Stay) -> tuple[Asked, Asked] | None:
    """Return the request with which a stay begins, and before it that on its connection whose answer led there.

    None if there is no time between.
    """
    requests = of_group(evidence, FETCH)[stay.process]
    for at, each in enumerate(requests):
        if (stay.partition, stay.offset) in {(part.partition, part.offset) for part in each.request.offsets}:
            earlier = (other for other in requests[:at] if other.request.conn == each.request.conn)
            before = max(earlier, key=lambda other: other.request.t_ns, default=None)
            if before is None or before.answer is None:
                return None
            return (before, each) if each.request.t_ns - before.answer.t_ns > 4 * MORE else None
    return None


def _places(evidence: Evidence) -> Sequence[int]:
    return [at for at, stay in enumerate(tails(evidence)) if _at(evidence, stay) is not None]


def _again(evidence: Evidence, place: int) -> Evidence:
    """The process asks for the tail's begin first, before it goes on behind it."""
    stay = tails(evidence)[place]
    found = _at(evidence, stay)
    assert found is not None and found[0].answer is not None
    request, answer, next_ns = found[0].request, found[0].answer, found[1].request.t_ns
    last = max(frame.correlation_id or 0 for frame in evidence.frames)
    begin = begins(evidence)[stay.partition]
    asked = OffsetPart(evidence.record.topic, stay.partition, offset=begin)
    told = OffsetPart(evidence.record.topic, stay.partition, data_bytes=MARKER_BYTES, error_code=0)
    step_ns = (next_ns - answer.t_ns) // (2 * MORE + 1)
    rows = list(evidence.frames)
    for turn in range(MORE):
        at_ns = answer.t_ns + (2 * turn + 1) * step_ns
        both = {"correlation_id": last + 1 + turn, "received_ns": None}
        rows += (
            changed(request, t_ns=at_ns, fetch=ALONE, offsets=(asked,), **both),
            changed(answer, t_ns=at_ns + step_ns // 2, fetch=ALONE, offsets=(told,), error_codes=(), **both),
        )
    return with_frames(evidence, rows)


PERTURBATIONS = (
    Perturbation(
        "markers-fetched-again",
        channels("frames"),
        "fetches the markers at the log's end again and again",
        ("refetched-tail",),
        _places,
        _again,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
)
