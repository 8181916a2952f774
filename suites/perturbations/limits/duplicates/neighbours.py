"""A batch is sent again because of what happened to another batch, or to itself long before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Disposition
from suites.perturbations.edits import with_frames_added
from suites.perturbations.exchanges import Spot, asked, layout
from suites.perturbations.limits.duplicates.again import OVER_MS, beside, limit
from suites.perturbations.limits.scene import (
    MORE_MS,
    During,
    Scene,
    Stage,
    of_other_partition,
    refusal,
    spots,
    timeout_ms,
)

#: NOT_LEADER_OR_FOLLOWER.
NOT_LEADER = 6


def _refused(partition: bool, at_ms: int, scene: Scene) -> Callable[[Evidence, Spot], Evidence]:
    """Return a perturbation in which a batch is refused on another connection.

    It is this batch if ``partition``, and otherwise one of another partition.
    """

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        stage = Stage(evidence, spot)
        other = stage.batch if partition else of_other_partition(evidence, stage.batch)
        assert other is not None
        part = asked(evidence, other.exchange)
        since_ms = -timeout_ms(evidence) - OVER_MS - 100 if partition else at_ms
        frames = [
            *stage.connection(since_ms - 1, scene.again_ms + 1_000, stage.conn),
            *stage.exchange(part, refusal(part, NOT_LEADER), since_ms, since_ms + 2, stage.conn),
        ]
        return with_frames_added(stage.play(scene), frames)

    return apply


def _unanswered(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch of another partition waits for longer than its timeout, on another connection."""
    stage = Stage(evidence, spot)
    other = of_other_partition(evidence, stage.batch)
    assert other is not None
    part, since_ms = asked(evidence, other.exchange), -timeout_ms(evidence) - OVER_MS
    asks, _ = stage.exchange(part, part, since_ms, since_ms, stage.conn)
    frames = [*stage.connection(since_ms - 1, 50, stage.conn), asks]
    return with_frames_added(stage.play(Scene(MORE_MS)), frames)


def _kept(evidence: Evidence, spot: Spot) -> Evidence:
    """The request of another partition does not reach the broker, because a rule stops it."""
    stage = Stage(evidence, spot)
    other = of_other_partition(evidence, stage.batch)
    assert other is not None
    part = asked(evidence, other.exchange)
    asks, _ = stage.exchange(part, part, 10, 10, stage.conn)
    kept = changed(asks, disposition=Disposition.BLOCKED, fault="dropped_frame")
    frames = stage.connection(9, MORE_MS + 300, stage.conn)
    played_out = with_frames_added(stage.play(Scene(MORE_MS)), frames)
    return replace(played_out, blocked_frames=(*played_out.blocked_frames, kept))


def _elsewhere_before_growth(evidence: Evidence, spot: Spot) -> Evidence:
    """The first request is for another partition. The topic gets more partitions after everything else."""
    growth = During("topic_growth", MORE_MS + 300, MORE_MS + 400, (("partitions", 1),))
    stage = Stage(evidence, spot)
    return stage.play(Scene(MORE_MS, faults=(growth,), partition=_another(evidence, spot)))


def _another(evidence: Evidence, spot: Spot) -> int:
    return next(partition for partition in layout(evidence) if partition != spot[0])


def _of_several(evidence: Evidence) -> list[Spot]:
    """Return the places in a trial with several partitions whose records have keys."""
    has_keys = evidence.record.spec.workload.keys > 0
    return spots(evidence) if len(layout(evidence)) > 1 and has_keys else []


PERTURBATIONS = (
    limit(
        "again-beside-timeout-elsewhere",
        "sends a batch twice, while a batch of another partition times out on another connection",
        _unanswered,
        places=beside,
    ),
    limit(
        "again-beside-kept-elsewhere",
        "sends a batch twice, while a batch of another partition does not reach the broker",
        _kept,
        places=beside,
    ),
    limit(
        "again-beside-refusal-elsewhere",
        "sends a batch twice, while a batch of another partition is refused on another connection",
        _refused(False, 20, Scene(MORE_MS)),
        places=beside,
    ),
    limit(
        "again-after-ack-and-refusal-elsewhere",
        "sends a batch again that it has acknowledged, because another request was refused",
        _refused(False, 20, Scene(OVER_MS + 50, acked_ms=2)),
        places=beside,
    ),
    limit(
        "again-long-after-refusal",
        "sends a batch twice, when it was refused longer than a request timeout before",
        _refused(True, 0, Scene(MORE_MS)),
    ),
    limit(
        "again-elsewhere-before-growth",
        "sends a batch to two partitions, before the topic has more of them",
        _elsewhere_before_growth,
        places=_of_several,
        also=("faults",),
    ),
)
