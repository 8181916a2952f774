"""The verdicts that may be published: those on which the two judgements of delivery agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict
from reports.doubts import Doubt, told


def published(verdict: TrialVerdict, doubts: Mapping[str, Sequence[Doubt]]) -> TrialVerdict:
    """Return ``verdict``, or a harness-error in its place if Spark disagrees, including for its requirements."""
    found = doubts.get(verdict.trial)
    if not found:
        return verdict
    withdrawn = Verdict.HARNESS_ERROR.value
    return replace(
        verdict,
        verdict=withdrawn,
        reason=f"{told(found)} (judged {verdict.verdict})",
        requirements=tuple(replace(requirement, verdict=withdrawn) for requirement in verdict.requirements),
    )
