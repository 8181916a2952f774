"""One known failure: which findings it covers, and of which trials it says that they fail.

An entry names a trial only where somebody judged what it speaks of: a trial under a guarantee that has no such check
passes, and that is no news.
"""

from __future__ import annotations

from datetime import date

import msgspec

from harness.judging.fingerprint import Found, findings
from harness.model.rows import RequirementVerdict, TrialVerdict
from harness.model.verdicts import Verdict
from harness.text.globs import matches


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``client`` (a glob over name@version) fails in ``scenario`` (a glob) by ``anomaly``, ``requirement``, or both.

    ``guarantee`` and ``level`` narrow it down. It covers nothing once ``expires`` is past; where it is ``flaky`` a pass
    is allowed too.
    """

    client: str
    reason: str
    anomaly: str | None = None
    requirement: str | None = None
    scenario: str = "*"
    guarantee: str | None = None
    level: str | None = None
    url: str | None = None
    expires: date | None = None
    flaky: bool = False

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.anomaly, self.requirement)))
        under = f" under {self.guarantee}" if self.guarantee else ""
        return f"{self.client} {what} in {self.scenario}{under}"

    @property
    def told(self) -> str:
        """The reason, and where more of it stands."""
        return f"{self.reason} ({self.url})" if self.url else self.reason

    def expired(self, today: date) -> bool:
        """True after the last day on which it covers anything."""
        return self.expires is not None and self.expires < today


def concerns(known: Known, trial: TrialVerdict) -> bool:
    """True for the trials that the entry's patterns fit."""
    return (
        matches(trial.client, known.client)
        and matches(trial.scenario, known.scenario)
        and known.guarantee in (None, trial.guarantee)
    )


def covers(known: Known, trial: TrialVerdict, found: Found) -> bool:
    """True if the entry accounts for this finding of this trial."""
    return (
        concerns(known, trial)
        and known.anomaly in (None, found.finding.anomaly)
        and any(_is_of(known, requirement) for requirement in found.requirements)
    )


def held(known: Known, trial: TrialVerdict) -> bool:
    """True if the entry says that this trial fails, it was judged, and it did not."""
    return (
        concerns(known, trial)
        and any(_judged(known, each) and each.verdict == Verdict.PASS for each in trial.requirements)
        and not any(covers(known, trial, found) for found in findings(trial))
    )


def _is_of(known: Known, requirement: RequirementVerdict) -> bool:
    return known.requirement in (None, requirement.id) and known.level in (None, requirement.level)


def _judged(known: Known, requirement: RequirementVerdict) -> bool:
    """An anomaly is found by the check of its name; one of another name comes with its requirement."""
    return _is_of(known, requirement) and (
        known.requirement is not None or known.anomaly in requirement.checks
    )
