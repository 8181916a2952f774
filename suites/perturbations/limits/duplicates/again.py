"""Shared code for the limits of duplicates: a batch that is sent a second time, in a scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.promises import AT_LEAST_ONCE
from suites.perturbations.exchanges import Spot, settled
from suites.perturbations.limits.scene import (
    MORE_MS,
    SLACK_MS,
    During,
    Scene,
    Scenes,
    lead_ms,
    of_other_partition,
    openings,
    played,
    spots,
    timeout_ms,
)
from suites.perturbations.perturbation import channels

UNEXPLAINED = ("unexplained-duplicate",)
#: After this time, an event has no effect any more.
OVER_MS = SLACK_MS + MORE_MS
DELAY_MS = 300
Places = Callable[[Evidence], Sequence[Spot]]


def over_before(evidence: Evidence, kind: str, until_ms: int = -OVER_MS, **params: int) -> During:
    """Return a fault from the beginning of the pause on. By default it ends before the first request."""
    return During(kind, -lead_ms(evidence) + OVER_MS, until_ms, tuple(params.items()))


def patience_ms(evidence: Evidence) -> int:
    """Return how long a request waits at least before its client may give it up."""
    return timeout_ms(evidence) - min(SLACK_MS, timeout_ms(evidence) // 2)


def hung_up_after_answer(evidence: Evidence, *faults: During) -> Scene:
    """The client closes the connection long after it had the answer, and sends the batch again."""
    return Scene(OVER_MS + 200, closed_ms=OVER_MS + MORE_MS, faults=faults)


def beside(evidence: Evidence) -> list[Spot]:
    """Return the places at which a batch of another partition waits in the client too."""
    batches = settled(evidence)
    return [spot for spot in openings(evidence) if of_other_partition(evidence, batches[spot]) is not None]


def limit(
    name: str,
    defect: str,
    apply: Callable[[Evidence, Spot], Evidence],
    places: Places = spots,
    verdict: Verdict = Verdict.FAIL,
    caught_by: tuple[str, ...] = UNEXPLAINED,
    also: tuple[str, ...] = (),
) -> Perturbation:
    """Return a perturbation after which one batch is in the log twice.

    ``also`` names further channels that it changes.
    """
    changes = channels("frames", "log", "history", *also)
    return Perturbation(name, changes, defect, caught_by, places, apply, verdict, AT_LEAST_ONCE)


def limit_in_scene(
    name: str, defect: str, scenes: Scenes, places: Places = spots, also: tuple[str, ...] = ("faults",)
) -> Perturbation:
    """Return the same kind of perturbation for a defect that is a scene."""
    return limit(name, defect, played(scenes), places, also=also)
