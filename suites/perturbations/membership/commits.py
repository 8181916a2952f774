"""Requests of commits that name another member, or come when they must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked import Asked
from suites.checks.consume_wire.commit_identity import of_consumers_alone
from suites.perturbations.consuming.deliveries import CONSUME
from suites.perturbations.membership.exchanges import asking, with_edits
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")


def _alone(evidence: Evidence) -> Sequence[int]:
    return range(len(of_consumers_alone(evidence)))


def _naming(name: Callable[[Asked], dict[str, object]]) -> Callable[[Evidence, int], Evidence]:
    """Return what makes a commit with a number name its member differently."""

    def apply(evidence: Evidence, at: int) -> Evidence:
        each = of_consumers_alone(evidence)[at]
        return with_edits(evidence, asking(each, **name(each)))

    return apply


PERTURBATIONS = (
    Perturbation(
        "commit-of-its-own-generation",
        FRAMES,
        "commits as a member of a generation without having joined",
        ("commit-of-a-generation",),
        _alone,
        _naming(lambda _: {"epoch": 0}),
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "commit-under-a-name",
        FRAMES,
        "names itself as a member in a commit without having joined",
        ("commit-of-a-member",),
        _alone,
        _naming(lambda each: {"member_id": each.process}),
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
