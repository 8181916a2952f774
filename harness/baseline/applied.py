"""What known failures make of a verdict: expected-fail if they cover all that was found, else what it was.

A finding that no entry covers leaves the trial a fail: what is known never hides what is new. A trial that is known to
fail and does not is an unexpected-pass: the list must be mended. Pure; to apply it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from harness.baseline.known import Known, covers, held
from harness.fingerprint import findings
from harness.outcome import Verdict
from harness.rows import RequirementVerdict, TrialVerdict


def apply(verdict: TrialVerdict, known: Sequence[Known]) -> TrialVerdict:
    """``verdict`` as it is to be read by someone who knows of these failures."""
    plain = bare(verdict)
    if plain.verdict == Verdict.FAIL:
        plain = _expected(plain, known)
    if plain.verdict in (Verdict.PASS, Verdict.EXPECTED_FAIL):
        absent = [entry for entry in known if not entry.flaky and held(entry, plain)]
        if absent:
            reason = "; ".join(f"{entry} is known, and did not happen: {entry.told}" for entry in absent)
            return replace(plain, verdict=Verdict.UNEXPECTED_PASS.value, reason=reason)
    return plain


def bare(verdict: TrialVerdict) -> TrialVerdict:
    """``verdict`` as the checks gave it, whatever was known."""
    requirements = tuple(_with(each, Verdict.EXPECTED_FAIL, Verdict.FAIL) for each in verdict.requirements)
    if verdict.verdict not in (Verdict.EXPECTED_FAIL, Verdict.UNEXPECTED_PASS):
        return replace(verdict, requirements=requirements)
    failed = [each for each in requirements if each.verdict == Verdict.FAIL]
    plain = Verdict.FAIL if failed else Verdict.PASS
    reason = _first_of(failed) if failed else f"{len(requirements)} requirements were judged"
    return replace(verdict, verdict=plain.value, reason=reason, requirements=requirements)


def first(trial: TrialVerdict, known: Iterable[Known]) -> dict[tuple[str, str], Known | None]:
    """Each finding of the trial, by anomaly and message, and the first entry that covers it."""
    entries = list(known)
    return {
        (found.finding.anomaly, found.finding.message): next(
            (entry for entry in entries if covers(entry, trial, found)), None
        )
        for found in findings(trial)
    }


def _expected(trial: TrialVerdict, known: Sequence[Known]) -> TrialVerdict:
    accounted = first(trial, known)
    requirements = tuple(
        _with(each, Verdict.FAIL, Verdict.EXPECTED_FAIL)
        if each.findings and all(accounted[finding.anomaly, finding.message] for finding in each.findings)
        else each
        for each in trial.requirements
    )
    if not accounted or any(each.verdict == Verdict.FAIL for each in requirements):
        return replace(trial, requirements=requirements)
    reason = "; ".join(f"known: {entry.told}" for entry in dict.fromkeys(accounted.values()) if entry)
    return replace(trial, verdict=Verdict.EXPECTED_FAIL.value, reason=reason, requirements=requirements)


def _with(requirement: RequirementVerdict, old: Verdict, new: Verdict) -> RequirementVerdict:
    return replace(requirement, verdict=new.value) if requirement.verdict == old else requirement


def _first_of(failed: Iterable[RequirementVerdict]) -> str:
    """The reason of a fail, as judgement gives it."""
    found = [finding for each in failed for finding in each.findings[:1]]
    told = list(dict.fromkeys(f"{finding.anomaly}: {finding.message}" for finding in found))
    return told[0] + (f" (and {len(told) - 1} more)" if len(told) > 1 else "")
