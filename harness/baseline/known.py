"""One known failure: which findings it covers, and which trials it declares to fail.

An entry applies to a trial only if the trial was judged by the check in question. A trial whose guarantee has no such
check passes, which does not contradict the entry.
"""

from __future__ import annotations

from datetime import date

import msgspec

from harness.judging.fingerprint import Found, findings
from harness.model.rows import RequirementVerdict, TrialVerdict
from harness.model.verdicts import Verdict
from harness.text.globs import matches


class KnownFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """``client`` (a glob over name@version) fails in ``scenario`` (a glob) by ``anomaly``, ``requirement``, or both.

    ``guarantee``, ``level`` and ``variant`` (a glob over names of configurations; empty for trials without one) narrow
    it down. It covers nothing after ``expires``. If it is ``flaky``, a pass is
    allowed too.
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
    variant: str | None = None

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.anomaly, self.requirement)))
        under = f" under {self.guarantee}" if self.guarantee else ""
        with_it = "" if self.variant is None else f" with {self.variant or 'the common settings'}"
        return f"{self.client} {what} in {self.scenario}{under}{with_it}"

    @property
    def told(self) -> str:
        """The reason, with the URL if there is one."""
        return f"{self.reason} ({self.url})" if self.url else self.reason

    def expired(self, today: date) -> bool:
        """Return True after the last day on which the entry is in force."""
        return self.expires is not None and self.expires < today


def concerns(known: KnownFailure, trial: TrialVerdict) -> bool:
    """Return True if the trial matches the entry's patterns."""
    return (
        matches(trial.client, known.client)
        and matches(trial.scenario, known.scenario)
        and known.guarantee in (None, trial.guarantee)
        and is_of_variant(trial.variant, known.variant)
    )


def is_of_variant(variant: str, pattern: str | None) -> bool:
    """Return True if the configuration of a trial is the one that an entry names, or matches its glob."""
    return pattern in (None, variant) or (bool(pattern) and matches(variant, str(pattern)))


def covers(known: KnownFailure, trial: TrialVerdict, found: Found) -> bool:
    """Return True if the entry accounts for this finding of this trial."""
    return (
        concerns(known, trial)
        and known.anomaly in (None, found.finding.anomaly)
        and any(_is_of(known, requirement) for requirement in found.requirements)
    )


def held(known: KnownFailure, trial: TrialVerdict) -> bool:
    """Return True if the entry says that this trial fails, but the trial was judged and passed."""
    return (
        concerns(known, trial)
        and any(_judged(known, each) and each.verdict == Verdict.PASS for each in trial.requirements)
        and not any(covers(known, trial, found) for found in findings(trial))
    )


def _is_of(known: KnownFailure, requirement: RequirementVerdict) -> bool:
    return known.requirement in (None, requirement.id) and known.level in (None, requirement.level)


def _judged(known: KnownFailure, requirement: RequirementVerdict) -> bool:
    """Return whether the requirement was judged for the entry: a check finds the anomaly with its name.

    An anomaly with another name is listed together with its requirement.
    """
    return _is_of(known, requirement) and (
        known.requirement is not None or known.anomaly in requirement.checks
    )
