"""The limit of the excuse that a fault gives for a retry: refusals that the client had received."""

from __future__ import annotations

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.checks.wire.retry_spacing import LEAST_OF_BACKOFF, backoff_ms
from suites.perturbations.edits import with_frames_added
from suites.perturbations.exchanges import Spot, asked
from suites.perturbations.limits.scene import ELSEWHERE, MORE_MS, During, Stage, refusal, spots
from suites.perturbations.perturbation import channels

#: The batch was not stored, and its leader is the same.
NOT_ENOUGH_REPLICAS = 19
AGAIN_MS = 5


def _has_backoff(evidence: Evidence) -> list[Spot]:
    applied_ms = backoff_ms(evidence) or 0
    return spots(evidence) if applied_ms * LEAST_OF_BACKOFF > 2 * AGAIN_MS else []


def _beside_fault(evidence: Evidence, spot: Spot) -> Evidence:
    """The batch is refused on a separate connection and sent again at once, while another broker is cut off."""
    stage = Stage(evidence, spot)
    calm = stage.faulted(stage.pause(AGAIN_MS), [During("reset", -MORE_MS, MORE_MS, brokers=(ELSEWHERE,))])
    sent = asked(evidence, stage.batch.exchange)
    frames = stage.exchange(sent, refusal(sent, NOT_ENOUGH_REPLICAS), 0, 1, stage.conn)
    return with_frames_added(calm, [*frames, *stage.connection(-1, 2, stage.conn)])


PERTURBATIONS = (
    Perturbation(
        "again-at-once-beside-fault",
        channels("frames", "faults", "history", "log"),
        "sends a batch again at once after a refusal, while another broker is cut off",
        ("retry-too-soon",),
        _has_backoff,
        _beside_fault,
        verdict=Verdict.DIFFERS,
    ),
)
