"""Apply known failures to a verdict: expected-fail if they cover every finding, else unchanged.

A finding that no entry covers leaves the trial a fail, so known failures never hide new ones. A trial that should fail
but does not is an unexpected-pass, and the list must be corrected. Pure, and idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from harness.baseline.known import KnownFailure, covers, held
from harness.judging.fingerprint import FindingKey, findings, key_of
from harness.judging.judge import weighed
from harness.model.rows import RequirementVerdict, TrialVerdict
from harness.model.verdicts import Verdict, worst
from harness.text.counting import some

#: The verdicts to which known failures apply.
ACCUSED = frozenset({Verdict.FAIL, Verdict.DIFFERS})
#: The code of an unexpected pass.
NOT_SEEN = "known-failure-not-seen"


def apply(verdict: TrialVerdict, known: Sequence[KnownFailure]) -> TrialVerdict:
    """Return ``verdict`` with these known failures taken into account."""
    plain = bare(verdict)
    if plain.verdict in ACCUSED:
        plain = _expected(plain, known)
    if plain.verdict in (Verdict.PASS, Verdict.DIFFERS, Verdict.EXPECTED_FAIL):
        absent = [entry for entry in known if not entry.flaky and held(entry, plain)]
        if absent:
            reason = "; ".join(
                f"{entry} is a known failure, but did not occur: {entry.told}" for entry in absent
            )
            return replace(plain, verdict=Verdict.UNEXPECTED_PASS.value, reason=reason, code=NOT_SEEN)
    return plain


def bare(verdict: TrialVerdict) -> TrialVerdict:
    """Return ``verdict`` as the checks gave it, without the effect of known failures."""
    requirements = tuple(
        replace(each, verdict=weighed(each.level, each.findings).value)
        if each.verdict == Verdict.EXPECTED_FAIL
        else each
        for each in verdict.requirements
    )
    was_known = any(each.verdict == Verdict.EXPECTED_FAIL for each in verdict.requirements)
    if verdict.verdict not in (Verdict.EXPECTED_FAIL, Verdict.UNEXPECTED_PASS) and not was_known:
        return replace(verdict, requirements=requirements)
    plain = worst(
        [Verdict.PASS, *(Verdict(each.verdict) for each in requirements if each.verdict in ACCUSED)]
    )
    accused = [each for each in requirements if each.verdict == plain and each.findings]
    reason = _first_of(accused) if accused else f"{some(len(requirements), 'requirement')} judged"
    code, params = (accused[0].findings[0].anomaly, accused[0].findings[0].params) if accused else ("", {})
    return replace(
        verdict, verdict=plain.value, reason=reason, requirements=requirements, code=code, params=params
    )


def first(trial: TrialVerdict, known: Iterable[KnownFailure]) -> dict[FindingKey, KnownFailure | None]:
    """Return each finding of the trial with the first entry that covers it, or None."""
    entries = list(known)
    return {
        key_of(found.finding): next((entry for entry in entries if covers(entry, trial, found)), None)
        for found in findings(trial)
    }


def _expected(trial: TrialVerdict, known: Sequence[KnownFailure]) -> TrialVerdict:
    accounted = first(trial, known)
    requirements = tuple(
        replace(each, verdict=Verdict.EXPECTED_FAIL.value)
        if each.findings and all(accounted[key_of(finding)] for finding in each.findings)
        else each
        for each in trial.requirements
    )
    new = [each for each in requirements if each.verdict in ACCUSED]
    if trial.verdict == Verdict.FAIL and new and all(each.verdict == Verdict.DIFFERS for each in new):
        # All fails are known, so that only a difference is left.
        first_new = new[0].findings[0]
        return replace(
            trial,
            verdict=Verdict.DIFFERS.value,
            reason=_first_of(new),
            code=first_new.anomaly,
            params=first_new.params,
            requirements=requirements,
        )
    if not accounted or new:
        return replace(trial, requirements=requirements)
    reason = "; ".join(f"known: {entry.told}" for entry in dict.fromkeys(accounted.values()) if entry)
    return replace(trial, verdict=Verdict.EXPECTED_FAIL.value, reason=reason, requirements=requirements)


def _first_of(failed: Iterable[RequirementVerdict]) -> str:
    """Return the reason of a fail or a difference, in the same form as judging does."""
    found = [finding for each in failed for finding in each.findings[:1]]
    told = list(dict.fromkeys(f"{finding.anomaly}: {finding.message}" for finding in found))
    return told[0] + (f" (and {len(told) - 1} more)" if len(told) > 1 else "")
