"""Members that take what they have lost for theirs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import PartitionsLost, PartitionsRevoked
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.lives import lives
from suites.checks.consume_wire.lost_as_revoked import COMMIT, REBALANCES, Loss, losses, reported
from suites.perturbations.consuming.edits import with_changed
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import inserted_id, with_frames_added
from suites.perturbations.perturbation import channels

OUTDATED = BY_NAME["ILLEGAL_GENERATION"].code


def _told(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the losses that the listener was told."""
    return [
        at for at, each in enumerate(losses(evidence)) if isinstance(reported(evidence, each), PartitionsLost)
    ]


def _told_after_a_rebalance(evidence: Evidence) -> Sequence[int]:
    """Return those of members that were told to join again in an earlier generation."""
    found = list(losses(evidence))
    return [at for at in _told(evidence) if _has_rebalanced(evidence, found[at])]


def _has_rebalanced(evidence: Evidence, loss: Loss) -> bool:
    return any(
        each.code == REBALANCES and each.request.arrived_ns < loss.generation.began_ns
        for each in of_group(evidence)[loss.process]
    )


def _revoked(evidence: Evidence, place: int) -> Evidence:
    event = reported(evidence, list(losses(evidence))[place])
    assert event is not None
    other = PartitionsRevoked(
        seq=event.seq,
        mono_ns=event.mono_ns,
        wall_ns=event.wall_ns,
        producer=event.producer,
        partitions=event.partitions,
    )
    return with_changed(evidence, {evidence.history.index(event): other})


def _committed_before(evidence: Evidence, loss: Loss) -> Asked | None:
    """Return an answered commit in a lost generation."""
    return next(
        (
            each
            for each in of_group(evidence, COMMIT)[loss.process]
            if loss.generation.names(each) and each.answer is not None
        ),
        None,
    )


def _outlived(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the losses after which the process lives on, and before which it has committed."""
    return [
        at
        for at, loss in enumerate(losses(evidence))
        if loss.known_ns is not None
        and loss.known_ns + 3 * NS_PER_MS < lives(evidence)[loss.process].end_ns
        and _committed_before(evidence, loss) is not None
    ]


def _commits_on(evidence: Evidence, place: int) -> Evidence:
    """The member commits in the generation that is over, and is refused."""
    loss = list(losses(evidence))[place]
    known_ns, before = loss.known_ns, _committed_before(evidence, loss)
    assert known_ns is not None and before is not None and before.answer is not None
    own = {"received_ns": None, "correlation_id": inserted_id(evidence)}
    refused = tuple(changed(part, error_code=OUTDATED) for part in before.answer.offsets)
    return with_frames_added(
        evidence,
        (
            changed(before.request, t_ns=known_ns + NS_PER_MS, **own),
            changed(
                before.answer, t_ns=known_ns + 2 * NS_PER_MS, error_codes=(OUTDATED,), offsets=refused, **own
            ),
        ),
    )


PERTURBATIONS = (
    Perturbation(
        "lost-told-as-revoked",
        channels("history"),
        "tells its listener that partitions are revoked which it has lost",
        ("lost-as-revoked",),
        _told,
        _revoked,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "lost-told-as-revoked-after-a-rebalance",
        channels("history"),
        "tells its listener that partitions are revoked which it has lost, after an earlier rebalance",
        ("lost-as-revoked",),
        _told_after_a_rebalance,
        _revoked,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "committed-in-a-lost-generation",
        channels("frames"),
        "commits in a generation after it has learnt that it is out of it",
        ("commit-of-a-lost-generation",),
        _outlived,
        _commits_on,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
