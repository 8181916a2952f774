"""The search between a good and a bad version: what was observed of each, and which to try next. Pure.

The order is from the good end to the bad one, whichever of them is newer. A version without a clear result is skipped,
and a neighbour is tried instead. Versions that remain between the last good and the first bad one may also be the one
that changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from harness.judging.fingerprint import findings
from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict
from harness.search.shrink_passes import attempts_for


class VersionState(StrEnum):
    """The result for a version."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"


def state_of(verdicts: Iterable[TrialVerdict], anomaly: str | None = None) -> VersionState:
    """Return BAD if a trial fails, GOOD if none does and one passes. With ``anomaly``, only that one counts."""
    state = VersionState.SKIPPED
    for verdict in verdicts:
        if _is_bad(verdict, anomaly):
            return VersionState.BAD
        if verdict.verdict in (Verdict.PASS, Verdict.FAIL):
            state = VersionState.GOOD
    return state


def seeds_for(verdicts: Sequence[TrialVerdict], anomaly: str | None = None) -> int:
    """Return the number of seeds with which a version that fails as often as this bad one is rarely missed.

    The failure rate is taken from those scenarios and guarantees that fail at all, since the others always pass.
    """
    failing = {_cell(verdict) for verdict in verdicts if _is_bad(verdict, anomaly)}
    tried = [verdict for verdict in verdicts if _cell(verdict) in failing]
    failed = sum(_is_bad(verdict, anomaly) for verdict in tried)
    return math.ceil(attempts_for(failed, len(tried)) / len(failing))


def _cell(verdict: TrialVerdict) -> tuple[str, str, str]:
    return verdict.scenario, verdict.guarantee, verdict.broker


def _is_bad(verdict: TrialVerdict, anomaly: str | None) -> bool:
    found = {found.finding.anomaly for found in findings(verdict)}
    return verdict.verdict == Verdict.FAIL and (anomaly is None or anomaly in found)


def bracket(versions: Sequence[str], seen: Mapping[str, VersionState]) -> tuple[int, int]:
    """Return the positions of the last good version and the first bad one. One of each must have been seen."""
    good = max(at for at, version in enumerate(versions) if seen.get(version) is VersionState.GOOD)
    bad = min(at for at, version in enumerate(versions) if seen.get(version) is VersionState.BAD)
    return good, bad


def next_to_try(versions: Sequence[str], seen: Mapping[str, VersionState]) -> str | None:
    """Return the middle one of the untried versions that may be the first bad one, or None if none is left."""
    good, bad = bracket(versions, seen)
    left = [version for version in versions[good + 1 : bad] if version not in seen]
    return left[len(left) // 2] if left else None
