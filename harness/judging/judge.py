"""Turn evidence into a verdict: run every relevant check, and pass only if the trial proved something. Pure.

A verdict is a pass only if the evidence is whole, every fault was in effect and its consequence was seen, at least one
requirement held in its situation, and no check found anything, crashed, or was inconclusive. Otherwise the worst result
decides (:data:`harness.model.verdicts.SEVERITY`). A finding outranks a fault without effect, which the reason of a
difference names. A finding fails the trial if it and its requirement are a MUST; otherwise the client differs. A client
that acknowledged nothing either fails or was not exercised: it cannot merely differ from a client that works. The same
evidence always gives the same verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from harness.judging.availability import availability
from harness.judging.completeness import lacking
from harness.judging.crosscheck import crosscheck
from harness.judging.fault_activation import Activation, activation
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.parts import parts, place, strangers
from harness.model.rows import (
    Availability,
    Ending,
    FaultVerdict,
    Finding,
    Reason,
    RequirementVerdict,
    TrialVerdict,
)
from harness.model.verdicts import Guarantee, Level, Verdict, worst
from harness.plugins import registry
from harness.plugins.check import Check, Inconclusive, NotExercised, Requirement, Unsupported
from harness.plugins.scenario import Scenario
from harness.plugins.workload import WorkloadKind
from harness.text import redaction
from harness.text.counting import some

#: The code of a trial whose client rejected its settings.
REFUSED_CODE = "config-refused"
ENDINGS = {Ending.UNSUPPORTED: Verdict.UNSUPPORTED, Ending.HARNESS_ERROR: Verdict.HARNESS_ERROR}

NOT_COLLECTED = ReasonKind("not-collected", "collecting ended as {ending}")
CHOICE_REFUSED = ReasonKind("chosen-settings-refused", "{why} (with the chosen settings {settings})")
TORN_LOG = ReasonKind("log-torn", "the CRC does not match in {count:batch} of the broker's log")
OBSERVERS_DISAGREE = ReasonKind("observers-disagree", "witness and capture disagree: {told}")
NOT_OFFERED = ReasonKind("setting-not-offered", "the client cannot set {setting}: {told}")
NOT_ACCOUNTED = ReasonKind("evidence-unaccountable", "the evidence cannot be evaluated: {error}: {told}")
NOT_ATTRIBUTED = ReasonKind(
    "producers-not-told-apart",
    "{count:request} on connections whose client id names none of the trial's producers",
)
CHECK_CRASHED = ReasonKind("check-crashed", "{check}: the check crashed: {error}: {told}")
FOREIGN_FINDING = ReasonKind(
    "foreign-finding", "{check}: the check found something about {requirement}, which it does not judge"
)
NOTHING_ACKED = ReasonKind("nothing-acknowledged", "no {told}")
NOT_OFFERED_RECORDS = ReasonKind("records-not-sent", "{told} never handed to the client")
NO_CHECK = ReasonKind("no-check", "no check judges this scenario under this guarantee")
NO_SITUATION = ReasonKind("situation-absent", "the situation of {requirement} did not arise in this trial")
NOTHING_AROSE = ReasonKind("no-situation", "none of the {count:requirement} judged here was exercised")
HELD = ReasonKind("held", "{held:requirement} held")


@dataclass(frozen=True)
class CheckResult:
    """The result of one check for one trial. ``reason`` is None for a pass."""

    verdict: Verdict
    reason: Reason | None
    findings: tuple[Finding, ...] = ()

    def of(self, requirement: Requirement) -> CheckResult:
        """Return its result for one requirement. Findings that name another requirement are ignored."""
        if self.verdict is not Verdict.FAIL:
            return self
        mine = tuple([each for each in self.findings if each.requirement in ("", requirement.id)])
        if not mine:
            return _PASS
        return CheckResult(weighed(requirement.level, mine), _found(mine), mine)


class _RequirementResult(NamedTuple):
    """The result of one requirement, its checks, and the check result that decided it.

    If ``arose`` is False, it was not tested.
    """

    requirement: Requirement
    checks: list[str]
    decisive: CheckResult
    findings: tuple[Finding, ...] = ()
    arose: bool = True


class _Asked(NamedTuple):
    """The checks of one requirement, their objections, and whether its situation arose for one of them."""

    requirement: Requirement
    checks: list[str]
    objections: list[CheckResult]
    arose: list[bool]


_PASS = CheckResult(Verdict.PASS, None)


def judge(
    evidence: Evidence, scenario: Scenario, checks: Mapping[str, Check], level: Level = Level.SHOULD
) -> TrialVerdict:
    """Judge one trial. An exception of a check or a scenario is a harness-error; it is never raised.

    With the ``level`` MUST, differences are among its requirements, and its verdict is the one without them.
    """
    if (early := _not_judged(evidence)) is not None:
        return _verdict(evidence, early)
    try:
        bitten = activation(evidence, scenario)
        kind = registry.workload(evidence.record.spec.workload.kind)
        counts, available = _counts(kind, evidence), availability(evidence)
    except Exception as error:
        return _verdict(evidence, CheckResult(Verdict.HARNESS_ERROR, _error(NOT_ACCOUNTED, error)))
    basis = _basis(evidence, bitten, available)
    results = _results(evidence, checks, basis)
    return _verdict(evidence, _summary(results, basis, level), results, bitten.faults, counts, available)


def weighed(level: str, findings: Iterable[Finding]) -> Verdict:
    """Return the verdict of findings for a requirement: fail if it and one of them are a MUST, otherwise differs."""
    binds = level == Level.MUST and any(each.level == Level.MUST for each in findings)
    return Verdict.FAIL if binds else Verdict.DIFFERS


# Campaigns ask this again for each of their trials.
@lru_cache(maxsize=1024)
def relevant(check: Check, guarantee: Guarantee, workload: str) -> tuple[Requirement, ...]:
    """Return the requirements that ``check`` judges in a trial of ``workload`` under ``guarantee``.

    If empty, it is not run.
    """
    if guarantee not in check.guarantees or workload not in check.workloads:
        return ()
    return tuple(each for each in check.requirements if guarantee in each.guarantees)


def _not_judged(evidence: Evidence) -> CheckResult | None:
    """Return the result of a trial that says nothing about the client, or None if it does."""
    record = evidence.record
    if record.ending is not Ending.COMPLETE:
        ended = NOT_COLLECTED.reason(ending=record.ending.value)
        if record.code == REFUSED_CODE and (chosen := record.spec.chosen):
            told = ", ".join(f"{name}={value}" for name, value in redaction.settings(chosen).items())
            refused = CHOICE_REFUSED.reason(settings=told, why=record.reason)
            return CheckResult(Verdict.NOT_EXERCISED, refused)
        why = Reason(record.code or ended.code, ended.params, record.reason or ended.message)
        return CheckResult(ENDINGS[record.ending], why)
    if (lack := lacking(evidence)) is not None:
        return CheckResult(Verdict.HARNESS_ERROR, lack)
    if torn := len([row for row in evidence.log if not row.crc_ok]):
        # The broker checks each batch before it appends it, so the cause is a disk or a reader, never a client.
        return CheckResult(Verdict.HARNESS_ERROR, TORN_LOG.reason(count=torn))
    if (comparison := crosscheck(evidence)) is not None and (disagreements := comparison.disagreements):
        more = f", and {len(disagreements) - 1} more" if len(disagreements) > 1 else ""
        told = f"{disagreements[0]}{more}"
        return CheckResult(Verdict.HARNESS_ERROR, OBSERVERS_DISAGREE.reason(told=told))
    if unknown := strangers(evidence, registry.workload(record.spec.workload.kind).api):
        return CheckResult(Verdict.NOT_EXERCISED, NOT_ATTRIBUTED.reason(count=unknown))
    for setting in registry.workload(record.spec.workload.kind).essential(record.spec.guarantee):
        if setting in record.not_set:
            why = NOT_OFFERED.reason(setting=setting, told=record.not_set[setting])
            return CheckResult(Verdict.UNSUPPORTED, why)
    return None


def _basis(evidence: Evidence, bitten: Activation, available: Availability) -> CheckResult:
    """Return the result of a requirement without findings: a pass if the faults had an effect and the client worked."""
    kind = registry.workload(evidence.record.spec.workload.kind)
    if not available.acked:
        nothing = NOTHING_ACKED.reason(told=f"{kind.element} was {kind.done}")
        return CheckResult(Verdict.NOT_EXERCISED, nothing)
    if bitten.verdict is not Verdict.PASS:
        return CheckResult(bitten.verdict, bitten.reason)
    if (missing := evidence.record.spec.workload.records - available.offered) > 0:
        told = some(missing, kind.element)
        return CheckResult(Verdict.INCONCLUSIVE, NOT_OFFERED_RECORDS.reason(count=missing, told=told))
    return CheckResult(Verdict.PASS, bitten.reason)


def _ask(check: Check, evidence: Evidence) -> CheckResult:
    try:
        findings = tuple(_placed(each, evidence) for each in check.run(evidence))
    except Inconclusive as doubt:
        return CheckResult(Verdict.INCONCLUSIVE, doubt.reason)
    except Unsupported as lack:
        return CheckResult(Verdict.UNSUPPORTED, lack.reason)
    except NotExercised as chosen:
        return CheckResult(Verdict.NOT_EXERCISED, chosen.reason)
    except Exception as error:
        return _crashed(check, error)
    judged = {"", *(requirement.id for requirement in check.requirements)}
    if strange := next((each.requirement for each in findings if each.requirement not in judged), None):
        told = FOREIGN_FINDING.reason(check=check.name, requirement=strange)
        return CheckResult(Verdict.HARNESS_ERROR, told)
    return CheckResult(Verdict.FAIL, _found(findings), findings) if findings else _PASS


def _placed(finding: Finding, evidence: Evidence) -> Finding:
    """Return the finding, whose sentence says of which producer and in which topic it is if there are several."""
    if where := place(evidence):
        return replace(finding, message=f"{finding.message} ({where})")
    return finding


def _crashed(check: Check, error: Exception) -> CheckResult:
    return CheckResult(Verdict.HARNESS_ERROR, _error(CHECK_CRASHED, error, check=check.name))


def _found(findings: tuple[Finding, ...]) -> Reason:
    """Return the reason of the first binding finding: a difference is never reported before a failure."""
    first = next((each for each in findings if each.level == Level.MUST), findings[0])
    return Reason(first.anomaly, first.params, f"{first.anomaly}: {first.message}")


def _results(
    evidence: Evidence, checks: Mapping[str, Check], basis: CheckResult
) -> tuple[_RequirementResult, ...]:
    """Return one result per requirement, by id: the worst of its checks. There is no pass if nothing was exercised."""
    asked: dict[str, _Asked] = {}
    spec = evidence.record.spec
    for _, check in sorted(checks.items()):
        for part in parts(evidence):
            if "trace" in check.requires and not part.trace:
                continue
            if requirements := relevant(check, spec.guarantee, spec.workload.kind):
                _enter(asked, check, requirements, part)
    return tuple([_result(entry, basis) for _, entry in sorted(asked.items())])


def _enter(
    asked: dict[str, _Asked], check: Check, requirements: Iterable[Requirement], part: Evidence
) -> None:
    """Enter what a check says about one part of the evidence."""
    said = _ask(check, part)
    for requirement in requirements:
        entry = asked.setdefault(requirement.id, _Asked(requirement, [], [], []))
        if check.name not in entry.checks:
            entry.checks.append(check.name)
        opinion, arose = said.of(requirement), True
        if opinion is _PASS:
            opinion, arose = _situation(check, requirement, part)
        entry.arose.append(arose)
        if opinion is not _PASS and opinion not in entry.objections:
            entry.objections.append(opinion)


def _counts(kind: WorkloadKind, evidence: Evidence) -> dict[str, int]:
    """Return the counts of a trial: those of its parts, added up."""
    total: dict[str, int] = {}
    for part in parts(evidence):
        for name, count in kind.counts(part).items():
            total[name] = total.get(name, 0) + count
    return total


def _situation(check: Check, requirement: Requirement, evidence: Evidence) -> tuple[CheckResult, bool]:
    try:
        return _PASS, requirement.arises(evidence) > 0
    except Exception as error:
        return _crashed(check, error), True


def _result(entry: _Asked, basis: CheckResult) -> _RequirementResult:
    requirement, names, objections, arose = entry
    if objections:
        verdict = worst([opinion.verdict for opinion in objections])
        decisive = next(opinion for opinion in objections if opinion.verdict is verdict)
        findings = tuple([each for opinion in objections for each in opinion.findings])
        arisen = decisive.verdict is not Verdict.NOT_EXERCISED
        return _RequirementResult(requirement, names, decisive, findings, arose=arisen)
    if basis.verdict is Verdict.PASS and not any(arose):
        absent = CheckResult(Verdict.NOT_EXERCISED, NO_SITUATION.reason(requirement=requirement.id))
        return _RequirementResult(requirement, names, absent, arose=False)
    return _RequirementResult(requirement, names, basis)


def _why_nothing_arose(results: tuple[_RequirementResult, ...]) -> Reason:
    """Return the reason that names a setting of the user, or else that no situation arose."""
    reasons = (result.decisive.reason for result in results if not result.arose)
    chosen = (reason for reason in reasons if reason and reason.code != NO_SITUATION.code)
    return next(chosen, NOTHING_AROSE.reason(count=len(results)))


def _summary(
    results: tuple[_RequirementResult, ...], basis: CheckResult, level: Level = Level.SHOULD
) -> CheckResult:
    """Return the trial's verdict and its sentence. With the ``level`` MUST, differences do not count.

    Requirements that the client does not claim, and situations that did not arise, count only if nothing else was
    judged.
    """
    if not results:
        return CheckResult(Verdict.NOT_EXERCISED, NO_CHECK.reason())
    arose = [result for result in results if result.arose]
    claimed = [result for result in arose if result.decisive.verdict is not Verdict.UNSUPPORTED]
    differing = [result for result in arose if result.decisive.verdict is Verdict.DIFFERS]
    if level == Level.MUST and differing:
        arose = [result for result in arose if result not in differing]
        claimed = [result for result in claimed if result not in differing]
    if not arose:
        return CheckResult(Verdict.NOT_EXERCISED, _why_nothing_arose(results))
    verdict = worst({result.decisive.verdict for result in claimed or arose})
    if verdict is Verdict.DIFFERS and basis.reason and basis.reason.code == NOTHING_ACKED.code:
        return basis
    if verdict is Verdict.PASS:
        listed = len(differing) if level == Level.MUST else 0
        absent = len(results) - len(arose) - listed
        seen = basis.reason.message if basis.reason else ""
        held = HELD.reason(held=len(claimed))
        more = f", {absent} not exercised" if absent else ""
        more += f", {some(listed, 'difference')} not counted" if listed else ""
        return CheckResult(verdict, Reason(held.code, held.params, f"{held.message}{more}; {seen}"))
    reasons = _distinct(result.decisive.reason for result in arose if result.decisive.verdict is verdict)
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    if verdict is Verdict.DIFFERS and basis.verdict is Verdict.NOT_EXERCISED and basis.reason:
        more += f"; not exercised: {basis.reason.message}"
    return CheckResult(verdict, Reason(reasons[0].code, reasons[0].params, reasons[0].message + more))


def _verdict(
    evidence: Evidence,
    decided: CheckResult,
    results: tuple[_RequirementResult, ...] = (),
    faults: tuple[FaultVerdict, ...] | None = None,
    counts: Mapping[str, int] | None = None,
    available: Availability | None = None,
) -> TrialVerdict:
    record = evidence.record
    return replace(
        TrialVerdict.of(evidence.record.spec, decided.verdict, decided.reason or Reason("")),
        requirements=tuple(
            [
                RequirementVerdict(
                    result.requirement.id,
                    result.requirement.level,
                    result.decisive.verdict,
                    result.findings,
                    tuple(result.checks),
                )
                for result in results
            ]
        ),
        faults=_accounts(evidence) if faults is None else faults,
        counts=dict(counts or {}),
        not_set={name: why for name, why in record.not_set.items() if name in record.spec.chosen},
        availability=available or Availability(),
    )


def _accounts(evidence: Evidence) -> tuple[FaultVerdict, ...]:
    return tuple(
        FaultVerdict(row.spec.kind, row.requested_ns, row.effective_ns, row.hits) for row in evidence.faults
    )


def _error(kind: ReasonKind, error: Exception, **params: str) -> Reason:
    return kind.reason(told=str(error), error=type(error).__name__, **params)


def _distinct(reasons: Iterable[Reason | None]) -> list[Reason]:
    distinct: list[Reason] = []
    for reason in reasons:
        if reason is not None and reason not in distinct:
            distinct.append(reason)
    return distinct
