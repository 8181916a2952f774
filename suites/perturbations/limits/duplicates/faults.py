"""A batch is sent again because of a fault that ended long before, begins later, or is elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from suites.perturbations.edits import with_frames_added, with_record
from suites.perturbations.exchanges import Spot, request_of
from suites.perturbations.limits.duplicates.again import (
    DELAY_MS,
    OVER_MS,
    hung_up_after_answer,
    limit,
    limit_in_scene,
    over_before,
    patience_ms,
)
from suites.perturbations.limits.scene import (
    ELSEWHERE,
    MORE_MS,
    During,
    Scene,
    Stage,
    beats,
    lead_ms,
    metadata,
    spots,
    timeout_ms,
)


def _answered_after_losses(evidence: Evidence) -> Scene:
    return hung_up_after_answer(evidence, over_before(evidence, "dropped_response"))


def _losses_elsewhere(evidence: Evidence) -> Scene:
    return hung_up_after_answer(
        evidence, During("dropped_response", -MORE_MS, 2 * OVER_MS, brokers=(ELSEWHERE,))
    )


def _held_before(evidence: Evidence) -> Scene:
    return Scene(MORE_MS, faults=(over_before(evidence, "bandwidth", upstream_bytes_per_s=1_000),))


def _held_elsewhere(evidence: Evidence) -> Scene:
    fault = over_before(evidence, "bandwidth", 0, upstream_bytes_per_s=1_000)
    return Scene(MORE_MS, faults=(replace(fault, brokers=(ELSEWHERE,)),))


def _delayed(evidence: Evidence) -> Scene:
    """The latency is so short that the request cannot have waited long enough."""
    waited_ms = patience_ms(evidence) - DELAY_MS - MORE_MS
    fault = over_before(evidence, "latency", waited_ms - DELAY_MS, upstream_ms=DELAY_MS)
    return Scene(waited_ms, answered_ms=waited_ms - 50, faults=(fault,))


def _refused_before(evidence: Evidence) -> Scene:
    begin_ms = -lead_ms(evidence) + MORE_MS
    return Scene(MORE_MS, faults=(During("refuse", begin_ms, -timeout_ms(evidence) - OVER_MS),))


def _refused_after(evidence: Evidence) -> Scene:
    return Scene(MORE_MS, faults=(During("refuse", MORE_MS + 1, MORE_MS + 300),))


def _harness_stalled_later(evidence: Evidence, spot: Spot) -> Evidence:
    """The harness stalls for a second, long after both requests."""
    stage = Stage(evidence, spot)
    stall = stage.ns(MORE_MS + OVER_MS), stage.ns(MORE_MS + OVER_MS + 1_000)
    return with_record(stage.play(Scene(MORE_MS)), harness_stalls=(stall,))


def _unread(broker: int | None, at_ms: int) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation with an unreadable connection, to another broker or long afterwards."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        stage = Stage(evidence, spot)
        rows = list(stage.connection(at_ms, at_ms + 2, stage.conn))
        opaque: Frame = changed(
            rows[0], kind=FrameKind.OPAQUE, t_ns=stage.ns(at_ms), size_bytes=3, note="not Kafka"
        )
        ends = [row for row in rows if row.kind in (FrameKind.OPEN, FrameKind.CLOSE)]
        frames = [
            row if broker is None else changed(row, broker=broker) for row in (ends[0], opaque, ends[-1])
        ]
        return with_frames_added(stage.play(Scene(MORE_MS)), frames)

    return apply


def _cut_before(evidence: Evidence, spot: Spot) -> Evidence:
    """Another connection is cut, long before the first request."""
    stage, since_ms = Stage(evidence, spot), -timeout_ms(evidence) - OVER_MS - 100
    cut = During("disconnect", since_ms, since_ms + 50)
    frames = stage.connection(since_ms - 10, since_ms + 20, stage.conn)
    return with_frames_added(stage.play(Scene(MORE_MS, faults=(cut,))), frames)


def _out_of_turn_later(evidence: Evidence, spot: Spot) -> Evidence:
    """The answer to the batch is in order.

    Long after it two others are swapped, and the client closes the connection.
    """
    stage, found, at_ms = Stage(evidence, spot), metadata(evidence), OVER_MS + MORE_MS
    assert found is not None
    ids = 2_000_000_000
    broker = request_of(evidence, stage.batch).broker
    own = {"conn": stage.conn, "broker": broker, "received_ns": None, "fault": None, "disposition": None}
    frames = [
        changed(row, correlation_id=ids + n, t_ns=stage.ns(at_ms + at), **own)
        for row, n, at in ((found[0], 0, 0), (found[0], 1, 1), (found[1], 1, 3), (found[1], 0, 4))
    ]
    scene = Scene(at_ms + 150, closed_ms=at_ms + 5)
    return with_frames_added(stage.play(scene), frames)


def _out_of_turn_elsewhere(evidence: Evidence, spot: Spot) -> Evidence:
    """The same on another connection: the batch is sent again as if its answer were lost and its request overdue."""
    stage, found = Stage(evidence, spot), metadata(evidence)
    assert found is not None
    own = {"conn": stage.conn, "received_ns": None, "fault": None, "disposition": None}
    swapped = [
        changed(row, correlation_id=2_000_000_000 + n, t_ns=stage.ns(OVER_MS + at), **own)
        for row, n, at in ((found[0], 0, 0), (found[0], 1, 1), (found[1], 1, 3), (found[1], 0, 4))
    ]
    rows = [
        changed(row, broker=found[0].broker) for row in stage.connection(OVER_MS, OVER_MS + 5, stage.conn)
    ]
    return with_frames_added(stage.play(Scene(timeout_ms(evidence) + 50)), [*rows, *swapped])


def _tells_metadata(evidence: Evidence) -> list[Spot]:
    return spots(evidence) if metadata(evidence) else []


def _cut_afterwards(evidence: Evidence) -> Scene:
    """The connection of the first request is cut, less than one slack after the second request."""
    return Scene(MORE_MS, closed_ms=4 * MORE_MS, faults=(During("reset", 3 * MORE_MS, 5 * MORE_MS),))


PERTURBATIONS = (
    limit_in_scene(
        "again-shortly-before-a-cut",
        "sends an answered batch again, shortly before its connection is cut",
        _cut_afterwards,
    ),
    limit_in_scene(
        "again-after-answers-were-lost",
        "sends an answered batch again after the last fault that loses answers has ended",
        _answered_after_losses,
    ),
    limit_in_scene(
        "again-while-others-lose-answers",
        "sends a batch again because answers of another broker are lost",
        _losses_elsewhere,
    ),
    limit_in_scene(
        "again-after-bytes-were-held",
        "sends a batch again at once, although a fault that delayed bytes ended before it was sent",
        _held_before,
    ),
    limit_in_scene(
        "again-while-others-are-held",
        "sends a batch again at once, while a fault delays bytes to another broker",
        _held_elsewhere,
    ),
    limit_in_scene(
        "again-within-latency",
        "sends a batch again that a latency cannot have delayed for the whole request timeout",
        _delayed,
    ),
    limit_in_scene(
        "again-long-after-refusals",
        "sends a batch twice, when connections were refused longer than a request timeout before",
        _refused_before,
    ),
    limit_in_scene(
        "again-before-refusals", "sends a batch twice, right before connections are refused", _refused_after
    ),
    limit(
        "again-long-after-a-cut",
        "sends a batch twice, when another connection was cut longer than a request timeout before",
        _cut_before,
        also=("faults",),
    ),
    limit(
        "again-before-harness-stalled",
        "sends a batch twice, long before the harness stalls",
        _harness_stalled_later,
        also=("record",),
    ),
    limit(
        "again-beside-unread-elsewhere",
        "sends a batch twice, while unreadable bytes pass to another broker",
        _unread(ELSEWHERE, 50),
    ),
    limit(
        "again-before-unread",
        "sends a batch twice, long before unreadable bytes pass",
        _unread(None, MORE_MS + OVER_MS),
    ),
    limit(
        "again-before-answers-out-of-turn",
        "sends a batch again whose answer arrived in order, although later answers do not",
        _out_of_turn_later,
        places=_tells_metadata,
    ),
    limit(
        "again-before-others-were-out-of-turn",
        "sends a batch again that was answered before answers on another connection were out of order",
        _out_of_turn_elsewhere,
        places=lambda evidence: beats(evidence) if metadata(evidence) else [],
    ),
)
