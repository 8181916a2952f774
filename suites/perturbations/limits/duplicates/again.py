"""What the limits of duplicates share: a batch that is sent a second time, in a scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
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
from suites.perturbations.perturbation import Perturbation, channels

UNEXPLAINED = ("unexplained-duplicate",)
#: So long after a moment nothing that happened then matters.
OVER_MS = SLACK_MS + MORE_MS
DELAY_MS = 300
Places = Callable[[Evidence], Sequence[Spot]]


def over_before(evidence: Evidence, kind: str, until_ms: int = -OVER_MS, **params: int) -> During:
    """A fault from the beginning of the pause on; without ``until_ms`` it is over before the first request."""
    return During(kind, -lead_ms(evidence) + OVER_MS, until_ms, tuple(params.items()))


def patience_ms(evidence: Evidence) -> int:
    """How long a request waits at least before its client may give it up."""
    return timeout_ms(evidence) - min(SLACK_MS, timeout_ms(evidence) // 2)


def hung_up_after_answer(evidence: Evidence, *faults: During) -> Scene:
    """The client closes the connection long after it had the answer, and sends the batch again."""
    return Scene(OVER_MS + 200, closed_ms=OVER_MS + MORE_MS, faults=faults)


def beside(evidence: Evidence) -> list[Spot]:
    """Where a batch of another partition waits in the client as well."""
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
    """A perturbation after which one batch is in the log twice; ``also`` are further channels that it changes."""
    changes = channels("frames", "log", "history", *also)
    return Perturbation(name, changes, defect, caught_by, places, apply, verdict, AT_LEAST_ONCE)


def limit_in_scene(
    name: str, defect: str, scenes: Scenes, places: Places = spots, also: tuple[str, ...] = ("faults",)
) -> Perturbation:
    """The same, where the defect is a scene."""
    return limit(name, defect, played(scenes), places, also=also)
