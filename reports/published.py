"""The verdicts that may be published: those on which the two judgements of delivery agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from harness.outcome import Verdict
from harness.rows import TrialVerdict


def published(
    verdict: TrialVerdict, disagreements: Mapping[str, Sequence[Mapping[str, Any]]]
) -> TrialVerdict:
    """``verdict``; if Spark counted its trial otherwise, a harness-error in its place, requirements and all."""
    rows = disagreements.get(verdict.trial)
    if not rows:
        return verdict
    withdrawn = Verdict.HARNESS_ERROR.value
    return replace(
        verdict,
        verdict=withdrawn,
        reason=f"{told(rows)} (judged {verdict.verdict})",
        requirements=tuple(replace(requirement, verdict=withdrawn) for requirement in verdict.requirements),
    )


def told(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of the table disagreements, of one trial, as a sentence."""
    counts = ", ".join(f"{row['count']} {row['judged']} but {row['recomputed']}" for row in rows)
    return f"the online checks and PySpark disagree: {counts}"
