"""Whether an attempt reproduced a stored verdict, and what differs. Pure.

A verdict is reproduced if the attempt has the same verdict and its findings the same fingerprints. Counts are compared
as well, but they depend on time and decide nothing. A known failure is a failure here: a replay has no baseline.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.judging.fingerprint import Cause, causes
from harness.model.rows import RequirementVerdict, TrialVerdict
from harness.model.verdicts import Verdict

#: What a baseline makes of a verdict -> the verdict without it.
_BARE = {Verdict.EXPECTED_FAIL: Verdict.FAIL.value, Verdict.UNEXPECTED_PASS: Verdict.PASS.value}
_STORED, _AGAIN = "stored", "again"


class Finding(msgspec.Struct, frozen=True):
    """A cause of one of the two verdicts: its fingerprint, and its sentence."""

    fingerprint: str
    code: str
    message: str

    def __str__(self) -> str:
        told = self.message if self.message.startswith(self.code) else f"{self.code}: {self.message}"
        return f"{self.fingerprint} {told}"


class Compared(msgspec.Struct, frozen=True):
    """One attempt, compared with the stored verdict. ``counts`` has those that differ: the stored one, the new one."""

    trial: str
    verdict: str
    reproduced: bool
    missing: tuple[Finding, ...] = ()
    new: tuple[Finding, ...] = ()
    counts: dict[str, tuple[int, int]] = {}


def compared(stored: TrialVerdict, attempt: TrialVerdict) -> Compared:
    """Return what differs between a stored verdict and an attempt at the same trial."""
    old, new = _named(stored, _STORED), _named(attempt, _AGAIN)
    # Together, because lists of names are grouped by what they share.
    found = causes([old, new])
    missing, added = _only(found, _STORED), _only(found, _AGAIN)
    return Compared(
        attempt.trial,
        attempt.verdict,
        reproduced=old.verdict == new.verdict and not (missing or added),
        missing=missing,
        new=added,
        counts=_counts(stored, attempt),
    )


def _named(verdict: TrialVerdict, name: str) -> TrialVerdict:
    """Return the verdict without its baseline, as that of a trial with this name."""
    requirements = tuple(map(_bare, verdict.requirements))
    return msgspec.structs.replace(
        verdict, trial=name, verdict=_without_baseline(verdict.verdict), requirements=requirements
    )


def _bare(requirement: RequirementVerdict) -> RequirementVerdict:
    return msgspec.structs.replace(requirement, verdict=_without_baseline(requirement.verdict))


def _without_baseline(verdict: str) -> str:
    return _BARE.get(Verdict(verdict), verdict)


def _only(found: Sequence[Cause], trial: str) -> tuple[Finding, ...]:
    return tuple(
        Finding(cause.fingerprint, cause.code, cause.message) for cause in found if cause.trials == (trial,)
    )


def _counts(stored: TrialVerdict, attempt: TrialVerdict) -> dict[str, tuple[int, int]]:
    shares = ("offered", "acked", "failed", "unknown")
    old = {name: getattr(stored.availability, name) for name in shares} | stored.counts
    new = {name: getattr(attempt.availability, name) for name in shares} | attempt.counts
    return {
        name: (old.get(name, 0), new.get(name, 0))
        for name in dict.fromkeys((*old, *new))
        if old.get(name, 0) != new.get(name, 0)
    }
