"""Where the excuses of a second copy end: what a client may not take for a reason to send a batch again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.evidence import Evidence
from harness.outcome import Verdict
from harness.rows import Fate, Frame, FrameKind
from suites.checks.promises import AT_LEAST_ONCE
from suites.perturbations.edits import with_frames_added, with_record
from suites.perturbations.exchanges import Spot, asked, layout, request_of, settled
from suites.perturbations.limits.scene import (
    ELSEWHERE,
    MORE_MS,
    REQUEST_TIMEOUT,
    SLACK_MS,
    During,
    Scene,
    Scenes,
    Stage,
    beats,
    lacking,
    lead_ms,
    metadata,
    of_other_partition,
    openings,
    played,
    refusal,
    spots,
    timeout_ms,
)
from suites.perturbations.perturbation import Perturbation, channels

UNEXPLAINED = ("unexplained-duplicate",)
NOT_LEADER = 6
#: So long after a moment nothing of it is left.
OVER_MS = SLACK_MS + MORE_MS
DELAY_MS = 300
Places = Callable[[Evidence], Sequence[Spot]]


def _patience_ms(evidence: Evidence) -> int:
    """How long a request waits at the least before its client gives it up for lost."""
    return timeout_ms(evidence) - min(SLACK_MS, timeout_ms(evidence) // 2)


def _before(evidence: Evidence, kind: str, until_ms: int = -OVER_MS, **params: int) -> During:
    """A fault since the pause began, that is over before the first request goes."""
    return During(kind, -lead_ms(evidence) + OVER_MS, until_ms, tuple(params.items()))


def _just_too_early(evidence: Evidence) -> Scene:
    waited_ms = _patience_ms(evidence) - MORE_MS
    return Scene(waited_ms, answered_ms=waited_ms - 50)


def _hung_up_too_early(evidence: Evidence) -> Scene:
    waited_ms = _patience_ms(evidence) - MORE_MS
    return Scene(waited_ms, answered_ms=waited_ms - 50, closed_ms=waited_ms - 60)


def _hung_up_after_answer(evidence: Evidence, *faults: During) -> Scene:
    return Scene(OVER_MS + 200, closed_ms=OVER_MS + MORE_MS, faults=faults)


def _hung_up_long_after_fault(evidence: Evidence) -> Scene:
    until_ms = -timeout_ms(evidence) - OVER_MS
    fault = During("dropped_response", until_ms - 2 * MORE_MS, until_ms)
    return Scene(2 * MORE_MS, answered_ms=2, closed_ms=1, faults=(fault,))


def _answered_after_losses(evidence: Evidence) -> Scene:
    return _hung_up_after_answer(evidence, _before(evidence, "dropped_response"))


def _losses_elsewhere(evidence: Evidence) -> Scene:
    return _hung_up_after_answer(
        evidence, During("dropped_response", -MORE_MS, 2 * OVER_MS, brokers=(ELSEWHERE,))
    )


def _held_before(evidence: Evidence) -> Scene:
    return Scene(MORE_MS, faults=(_before(evidence, "bandwidth", upstream_bytes_per_s=1_000),))


def _held_elsewhere(evidence: Evidence) -> Scene:
    fault = _before(evidence, "bandwidth", 0, upstream_bytes_per_s=1_000)
    return Scene(MORE_MS, faults=(replace(fault, brokers=(ELSEWHERE,)),))


def _delayed(evidence: Evidence) -> Scene:
    """By so little that it cannot have waited long enough."""
    waited_ms = _patience_ms(evidence) - DELAY_MS - MORE_MS
    fault = _before(evidence, "latency", waited_ms - DELAY_MS, upstream_ms=DELAY_MS)
    return Scene(waited_ms, answered_ms=waited_ms - 50, faults=(fault,))


def _end_held_later(evidence: Evidence) -> Scene:
    """Whenever the client hung up, it was after it had read the answer."""
    fault = During("bandwidth", OVER_MS, OVER_MS + 800, (("upstream_bytes_per_s", 1_000),))
    return Scene(OVER_MS + 750, closed_ms=OVER_MS + 700, faults=(fault,))


def _refused_before(evidence: Evidence) -> Scene:
    begin_ms = -lead_ms(evidence) + MORE_MS
    return Scene(MORE_MS, faults=(During("refuse", begin_ms, -timeout_ms(evidence) - OVER_MS),))


def _refused_after(evidence: Evidence) -> Scene:
    return Scene(MORE_MS, faults=(During("refuse", MORE_MS + 1, MORE_MS + 300),))


def _acked_before(evidence: Evidence) -> Scene:
    """Something fails on the way between the acknowledgement and the second request."""
    return Scene(OVER_MS + 50, acked_ms=2, faults=(During("refuse", MORE_MS, 2 * MORE_MS),))


def _stalled_later(evidence: Evidence) -> Scene:
    """The client had more than half a second to read the answer before its process stalled."""
    until_ms = OVER_MS + MORE_MS + max(timeout_ms(evidence), 3_000)
    return Scene(until_ms + 1, stalled_ms=(OVER_MS + MORE_MS, until_ms))


def _without_timeout(evidence: Evidence, spot: Spot) -> Evidence:
    return lacking(Stage(evidence, spot).play(Scene(OVER_MS)), REQUEST_TIMEOUT)


def _harness_stalled_later(evidence: Evidence, spot: Spot) -> Evidence:
    """The harness keeps no time for a second, long after both requests."""
    stage = Stage(evidence, spot)
    stall = stage.ns(MORE_MS + OVER_MS), stage.ns(MORE_MS + OVER_MS + 1_000)
    return with_record(stage.play(Scene(MORE_MS)), harness_stalls=(stall,))


def _unread(broker: int | None, at_ms: int) -> Callable[[Evidence, Spot], Evidence]:
    """Something passes that cannot be read: on the way to another broker, or when all is over."""

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


def _refused(partition: bool, at_ms: int, scene: Scene) -> Callable[[Evidence, Spot], Evidence]:
    """A batch is refused on another connection: of another partition, or this one where ``partition``."""

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
    """The same, because a rule kept it from the broker."""
    stage = Stage(evidence, spot)
    other = of_other_partition(evidence, stage.batch)
    assert other is not None
    part = asked(evidence, other.exchange)
    asks, _ = stage.exchange(part, part, 10, 10, stage.conn)
    kept = changed(asks, fate=Fate.STOPPED, fault="dropped_frame")
    frames = stage.connection(9, MORE_MS + 300, stage.conn)
    played_out = with_frames_added(stage.play(Scene(MORE_MS)), frames)
    return replace(played_out, stopped=(*played_out.stopped, kept))


def _elsewhere_before_growth(evidence: Evidence, spot: Spot) -> Evidence:
    """The first request goes to another partition; the topic has more of them when all is over."""
    growth = During("topic_growth", MORE_MS + 300, MORE_MS + 400, (("partitions", 1),))
    stage = Stage(evidence, spot)
    return stage.play(Scene(MORE_MS, faults=(growth,), partition=_another(evidence, spot)))


def _another(evidence: Evidence, spot: Spot) -> int:
    return next(partition for partition in layout(evidence) if partition != spot[0])


def _of_several(evidence: Evidence) -> list[Spot]:
    """Where there is another partition, and keys that tell where a record belongs."""
    has_keys = evidence.record.spec.workload.keys > 0
    return spots(evidence) if len(layout(evidence)) > 1 and has_keys else []


def _late_answer(evidence: Evidence) -> Scene:
    """The answer came late, and long before the client hung up."""
    fault = _before(evidence, "latency", 50, downstream_ms=DELAY_MS)
    closed_ms = DELAY_MS + OVER_MS + MORE_MS
    return Scene(closed_ms + MORE_MS, closed_ms=closed_ms, faults=(fault,))


def _beside(evidence: Evidence) -> list[Spot]:
    """Where a batch of another partition waits as well."""
    batches = settled(evidence)
    return [spot for spot in openings(evidence) if of_other_partition(evidence, batches[spot]) is not None]


def _out_of_turn_later(evidence: Evidence, spot: Spot) -> Evidence:
    """The answer to the batch came in its turn; long after it two others are swapped, and the client hangs up."""
    stage, found, at_ms = Stage(evidence, spot), metadata(evidence), OVER_MS + MORE_MS
    assert found is not None
    ids = 2_000_000_000
    broker = request_of(evidence, stage.batch).broker
    own = {"conn": stage.conn, "broker": broker, "came_ns": None, "fault": None, "fate": None}
    frames = [
        changed(row, correlation_id=ids + n, t_ns=stage.ns(at_ms + at), **own)
        for row, n, at in ((found[0], 0, 0), (found[0], 1, 1), (found[1], 1, 3), (found[1], 0, 4))
    ]
    scene = Scene(at_ms + 150, closed_ms=at_ms + 5)
    return with_frames_added(stage.play(scene), frames)


def _tells_metadata(evidence: Evidence) -> list[Spot]:
    return spots(evidence) if metadata(evidence) else []


def _kind(
    name: str,
    defect: str,
    apply: Callable[[Evidence, Spot], Evidence],
    places: Places = spots,
    verdict: Verdict = Verdict.FAIL,
    caught_by: tuple[str, ...] = UNEXPLAINED,
    also: tuple[str, ...] = (),
) -> Perturbation:
    changes = channels("frames", "log", "history", *also)
    return Perturbation(name, changes, defect, caught_by, places, apply, verdict, AT_LEAST_ONCE)


def _scene(
    name: str, defect: str, scenes: Scenes, places: Places = spots, also: tuple[str, ...] = ("faults",)
) -> Perturbation:
    return _kind(name, defect, played(scenes), places, also=also)


PERTURBATIONS = (
    _scene(
        "again-before-its-timeout",
        "sends a batch again shortly before its request timeout",
        _just_too_early,
        also=(),
    ),
    _scene(
        "again-after-impatient-hang-up",
        "hangs up on a request that has not waited for its timeout, and sends it again",
        _hung_up_too_early,
        also=(),
    ),
    _scene(
        "again-after-hanging-up-on-answer",
        "hangs up long after it had the answer, and sends the batch again",
        _hung_up_after_answer,
        also=(),
    ),
    _scene(
        "again-after-hanging-up-in-peace",
        "hangs up on a request when the last fault is longer ago than a request timeout, and sends it again",
        _hung_up_long_after_fault,
    ),
    _scene(
        "again-after-hanging-up-on-late-answer",
        "hangs up long after it had an answer that a latency delayed, and sends the batch again",
        _late_answer,
    ),
    _kind(
        "again-beside-timeout-elsewhere",
        "sends a batch twice, while one of another partition times out on another connection",
        _unanswered,
        places=_beside,
    ),
    _kind(
        "again-beside-kept-elsewhere",
        "sends a batch twice, while one of another partition does not reach the broker",
        _kept,
        places=_beside,
    ),
    _kind(
        "again-elsewhere-before-growth",
        "sends a batch to two partitions, before the topic has more of them",
        _elsewhere_before_growth,
        places=_of_several,
        also=("faults",),
    ),
    _scene(
        "again-after-answers-were-lost",
        "sends a batch again that was answered when no fault lost answers any more",
        _answered_after_losses,
    ),
    _scene(
        "again-while-others-lose-answers",
        "sends a batch again because answers of another broker are lost",
        _losses_elsewhere,
    ),
    _scene(
        "again-after-bytes-were-held",
        "sends a batch again at once, when a fault that held bytes was over before it was sent",
        _held_before,
    ),
    _scene(
        "again-while-others-are-held",
        "sends a batch again at once, while a fault holds bytes on the way to another broker",
        _held_elsewhere,
    ),
    _scene(
        "again-within-latency",
        "sends a batch again that a latency cannot have kept for the whole request timeout",
        _delayed,
    ),
    _kind(
        "again-after-end-was-held",
        "hangs up when it has the answer, its end is held back, and sends the batch again",
        played(_end_held_later),
        verdict=Verdict.DIFFERS,
        caught_by=("avoidable-duplicate", *UNEXPLAINED),
        also=("faults",),
    ),
    _scene(
        "again-long-after-refusals",
        "sends a batch twice, when connections had been refused longer ago than a request timeout",
        _refused_before,
    ),
    _scene(
        "again-before-refusals", "sends a batch twice, right before connections are refused", _refused_after
    ),
    _kind(
        "again-long-after-a-cut",
        "sends a batch twice, when another connection had been cut longer ago than a request timeout",
        _cut_before,
        also=("faults",),
    ),
    _scene(
        "again-after-ack-beside-failure",
        "sends a batch again 600 ms after it has acknowledged its records, because something else failed",
        _acked_before,
    ),
    _scene(
        "again-after-late-stall",
        "sends a batch again when its process has stalled, though it had the answer long before",
        _stalled_later,
        places=beats,
        also=(),
    ),
    _kind(
        "again-without-timeout",
        "has no request timeout, and sends a batch again that was answered",
        _without_timeout,
        also=("record",),
    ),
    _kind(
        "again-before-harness-stalled",
        "sends a batch twice, long before the harness stalls",
        _harness_stalled_later,
        also=("record",),
    ),
    _kind(
        "again-beside-unread-elsewhere",
        "sends a batch twice, while something unreadable passes on the way to another broker",
        _unread(ELSEWHERE, 50),
    ),
    _kind(
        "again-before-unread",
        "sends a batch twice, long before something unreadable passes",
        _unread(None, MORE_MS + OVER_MS),
    ),
    _kind(
        "again-beside-refusal-elsewhere",
        "sends a batch twice, while one of another partition is refused on another connection",
        _refused(False, 20, Scene(MORE_MS)),
        places=_beside,
    ),
    _kind(
        "again-after-ack-and-refusal-elsewhere",
        "sends a batch again that it has acknowledged, because another request was refused",
        _refused(False, 20, Scene(OVER_MS + 50, acked_ms=2)),
        places=_beside,
    ),
    _kind(
        "again-long-after-refusal",
        "sends a batch twice, when it had been refused longer ago than a request timeout",
        _refused(True, 0, Scene(MORE_MS)),
    ),
    _kind(
        "again-before-answers-out-of-turn",
        "sends a batch again whose answer came in its turn, when later ones do not",
        _out_of_turn_later,
        places=_tells_metadata,
    ),
)
