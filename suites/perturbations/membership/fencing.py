"""Members of KIP-848 that go on although they were fenced, or join again although they were not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace as changed

from harness.model.consumer_contract import PartitionsLost, PartitionsRevoked
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from suites.analysis.consuming.beats import OWNED, Beat, all_beats
from suites.analysis.consuming.fences import FENCES
from suites.checks.consume_wire.fenced_member import Loss, losses
from suites.checks.consume_wire.heartbeat_contents import is_accepted
from suites.perturbations.consuming.edits import nap, wall_ns, with_added, with_changed
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import answer_lost, asking, refused, with_edits
from suites.perturbations.perturbation import channels

ALL_SAID = {"said": ("subscribed_topic_names", OWNED), "rebalance_timeout_ms": 10_000}
Place = tuple[str, int]


def _steady(evidence: Evidence) -> Sequence[Place]:
    """Return process and number of the heartbeats that say nothing, like the one before on their connection."""
    return [
        (process, at)
        for process, beats in all_beats(evidence).items()
        for at, beat in enumerate(beats)
        if at > 1
        and beat.is_steady
        and beats[at - 1].is_steady
        and is_accepted(beat)
        and _is_next(beat)
        # An error that comes at the same moment is a reason to join again.
        and beat.now.code == 0
    ]


def _is_next(beat: Beat) -> bool:
    before = beat.before
    return before is not None and before.request.conn == beat.now.request.conn and not before.told.said


def _unanswered(evidence: Evidence, place: Place, **fields: Any) -> Evidence:
    """The heartbeat before has no answer, and this one says other things."""
    process, at = place
    beat = all_beats(evidence)[process][at]
    assert beat.before is not None
    said = with_edits(evidence, asking(beat.now, **ALL_SAID, **fields))
    return answer_lost(said, beat.before, beat.now)


def _anew(evidence: Evidence, place: Place) -> Evidence:
    return _unanswered(evidence, place, epoch=0)


def _anew_before_a_nap(evidence: Evidence, place: Place) -> Evidence:
    """The process is stopped only after that."""
    process, at = place
    at_ns = all_beats(evidence)[process][at].now.request.arrived_ns + 1
    return with_added(_anew(evidence, place), *nap(evidence, process, at_ns, at_ns + NS_PER_MS))


def _other_epoch(evidence: Evidence, place: Place) -> Evidence:
    process, at = place
    epoch = all_beats(evidence)[process][at].now.member.epoch or 0
    return _unanswered(evidence, place, epoch=epoch + 1)


def _fenced(evidence: Evidence, place: Place) -> Evidence:
    """The heartbeat before is answered with a fence, and the member goes on."""
    process, at = place
    before = all_beats(evidence)[process][at].before
    return evidence if before is None else with_edits(evidence, refused(before, FENCES[0]))


def _told(evidence: Evidence) -> Sequence[int]:
    return [at for at, loss in enumerate(losses(evidence)) if isinstance(loss.told, PartitionsLost)]


def _loss(evidence: Evidence, place: int) -> tuple[Loss, int, PartitionsLost]:
    """Return a loss, and the event of it with its number."""
    loss = list(losses(evidence))[place]
    [index] = [at for at, event in enumerate(evidence.history) if event is loss.told]
    assert isinstance(loss.told, PartitionsLost)
    return loss, index, loss.told


def _silent(evidence: Evidence, place: int) -> Evidence:
    _, index, _ = _loss(evidence, place)
    return with_changed(evidence, {index: None})


def _late(evidence: Evidence, place: int) -> Evidence:
    loss, index, told = _loss(evidence, place)
    at_ns = loss.fence.next.now.request.arrived_ns + 1
    return with_changed(evidence, {index: changed(told, mono_ns=at_ns, wall_ns=wall_ns(evidence, at_ns))})


def _as_revoked(evidence: Evidence, place: int) -> Evidence:
    _, index, told = _loss(evidence, place)
    revoked = PartitionsRevoked(
        seq=told.seq,
        mono_ns=told.mono_ns,
        wall_ns=told.wall_ns,
        producer=told.producer,
        partitions=told.partitions,
    )
    return with_changed(evidence, {index: revoked})


def _revocable(evidence: Evidence) -> Sequence[int]:
    return [at for at in _told(evidence) if list(losses(evidence))[at].fence.is_settled]


PERTURBATIONS = (
    of_consumers(
        "rejoined-after-silence",
        channels("frames"),
        "joins again with epoch 0 after a heartbeat without an answer",
        "rejoins-after-loss",
        _steady,
        _anew,
        Verdict.FAIL,
    ),
    of_consumers(
        "rejoined-after-silence-before-a-nap",
        channels("frames", "history"),
        "joins again with epoch 0 after a heartbeat without an answer, before its process is stopped",
        "rejoins-after-loss",
        _steady,
        _anew_before_a_nap,
        Verdict.FAIL,
    ),
    of_consumers(
        "other-epoch-after-silence",
        channels("frames"),
        "repeats a heartbeat without an answer with another epoch",
        "other-epoch-after-loss",
        _steady,
        _other_epoch,
        Verdict.FAIL,
    ),
    of_consumers(
        "went-on-though-fenced",
        channels("frames"),
        "goes on with its epoch after it was fenced",
        "fenced-goes-on",
        _steady,
        _fenced,
        Verdict.FAIL,
    ),
    of_consumers(
        "loss-kept-back",
        channels("history"),
        "does not tell its listener that a fenced member has lost its partitions",
        "loss-not-told",
        _told,
        _silent,
        Verdict.FAIL,
    ),
    of_consumers(
        "loss-told-late",
        channels("history"),
        "tells its listener of a loss only after it has joined again",
        "joins-before-loss",
        _told,
        _late,
    ),
    of_consumers(
        "loss-as-revocation",
        channels("history"),
        "tells its listener of a loss as if it were a revocation",
        "loss-told-as-revoked",
        _revocable,
        _as_revoked,
    ),
)
