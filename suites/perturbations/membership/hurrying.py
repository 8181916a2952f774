"""Requests that are repeated at once although their coordinator said to wait."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.units import NS_PER_MS
from suites.checks.consume_wire.group_retry_spacing import Repeated, backoff_ms, repeated
from suites.checks.wire.retry_spacing import CLOCK_MS, LEAST_OF_BACKOFF
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")


def _limit_ns(evidence: Evidence) -> int:
    return (int((backoff_ms(evidence) or 0) * LEAST_OF_BACKOFF) - CLOCK_MS) * NS_PER_MS


def _places(evidence: Evidence) -> Sequence[int]:
    """Return the repetitions that waited, if no other answer passed the connection in between."""
    limit_ns = _limit_ns(evidence)
    return [
        at
        for at, each in enumerate(repeated(evidence))
        if limit_ns > NS_PER_MS and each.pause_ns >= limit_ns and _is_alone(evidence, each)
    ]


def _is_alone(evidence: Evidence, each: Repeated) -> bool:
    told = each.refused.answer
    assert told is not None
    return not any(
        frame.conn == told.conn
        and frame.kind is FrameKind.RESPONSE
        and told.t_ns < frame.t_ns < each.again.request.arrived_ns
        for frame in evidence.frames
    )


def _waited(evidence: Evidence, place: int, pause_ns: int) -> Evidence:
    each = repeated(evidence)[place]
    told = each.refused.answer
    assert told is not None
    later = changed(told, t_ns=each.again.request.arrived_ns - pause_ns, received_ns=None)
    return with_edits(evidence, {id(told): later})


def _at_once(evidence: Evidence, place: int) -> Evidence:
    return _waited(evidence, place, NS_PER_MS // 10)


def _almost(evidence: Evidence, place: int) -> Evidence:
    return _waited(evidence, place, _limit_ns(evidence) - NS_PER_MS)


PERTURBATIONS = (
    of_consumers(
        "group-request-repeated-at-once",
        FRAMES,
        "repeats a request to its coordinator at once although it was told to wait",
        "group-retry-too-soon",
        _places,
        _at_once,
    ),
    of_consumers(
        "group-request-repeated-a-little-early",
        FRAMES,
        "waits a millisecond less than it has to before it repeats a request to its coordinator",
        "group-retry-too-soon",
        _places,
        _almost,
    ),
)
