"""From evidence to a verdict: every relevant check is asked, and a pass has to be earned.

A verdict is a pass only if the trial was collected whole, every fault was in effect and its consequence was seen,
at least one requirement was checked, and no check found anything, crashed, or could not tell. In every other case
the worst thing comes first (:data:`harness.outcome.SEVERITY`): a violation outranks a fault that did not bite.
Pure: yesterday's evidence gives the same verdict today.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from harness import delivery
from harness.capture.crosscheck import crosscheck
from harness.check import Check, Inconclusive, Requirement, Unsupported
from harness.evidence import Evidence
from harness.outcome import Guarantee, Verdict, worst
from harness.rows import Delivery, Ending, FaultRow, FaultVerdict, Finding, RequirementVerdict, TrialVerdict
from harness.scenario import Scenario

ENDINGS = {Ending.UNSUPPORTED: Verdict.UNSUPPORTED, Ending.HARNESS_ERROR: Verdict.HARNESS_ERROR}


@dataclass(frozen=True)
class Opinion:
    """What one check says of one trial; ``reason`` is empty for a pass and begins with the check's name otherwise."""

    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...] = ()

    def of(self, requirement: Requirement) -> Opinion:
        """What it says of one requirement: findings that name another one are none of its."""
        mine = tuple([each for each in self.findings if each.requirement in ("", requirement.id)])
        return self if mine == self.findings else _accusing(mine)


class _Ruling(NamedTuple):
    """One requirement as judged, by whom, and the opinion that decided it."""

    requirement: Requirement
    checks: list[str]
    decisive: Opinion
    findings: tuple[Finding, ...] = ()


_PASS = Opinion(Verdict.PASS, "")


def judge(evidence: Evidence, scenario: Scenario, checks: Mapping[str, Check]) -> TrialVerdict:
    """The verdict of one trial. Never raises for what a check or a scenario does: that is a harness-error."""
    if (early := _not_judged(evidence)) is not None:
        return _verdict(evidence, early.verdict, early.reason)
    try:
        bitten = _bitten(evidence, scenario)
        counts = delivery.count(evidence)
    except Exception as error:
        return _verdict(
            evidence, Verdict.HARNESS_ERROR, f"the evidence cannot be accounted for: {_told(error)}"
        )
    if bitten.verdict is Verdict.PASS and not counts.acked:
        bitten = Opinion(Verdict.NOT_EXERCISED, "the client acknowledged nothing")
    elif (
        bitten.verdict is Verdict.PASS
        and (missing := evidence.record.spec.workload.records - counts.sent) > 0
    ):
        bitten = Opinion(Verdict.INCONCLUSIVE, f"{missing} records were never handed to the client")
    rulings = _rulings(evidence, scenario, checks, bitten)
    return _verdict(evidence, *_summary(rulings, bitten), rulings=rulings, counts=counts)


# Campaigns ask the same again for each of their trials.
@lru_cache(maxsize=1024)
def relevant(check: Check, guarantee: Guarantee) -> tuple[Requirement, ...]:
    """The requirements that ``check`` judges in a trial under ``guarantee``; none: it is not asked."""
    if guarantee not in check.guarantees:
        return ()
    return tuple(each for each in check.requirements if guarantee in each.guarantees)


def _not_judged(evidence: Evidence) -> Opinion | None:
    """The opinion on a trial that gives no verdict about the client, None if it does."""
    record = evidence.record
    if record.ending is not Ending.COMPLETE:
        return Opinion(ENDINGS[record.ending], record.reason or f"collecting ended as {record.ending}")
    if torn := len([row for row in evidence.log if not row.crc_ok]):
        # The broker checks each batch before it appends it: this is a disk's fault, or a reader's, never a client's.
        return Opinion(Verdict.HARNESS_ERROR, f"{torn} batches in the broker's log do not match their CRC")
    if (comparison := crosscheck(evidence)) is not None and (disagreements := comparison.disagreements):
        more = f", and {len(disagreements) - 1} more" if len(disagreements) > 1 else ""
        return Opinion(Verdict.HARNESS_ERROR, f"witness and capture disagree: {disagreements[0]}{more}")
    idempotent = record.spec.guarantee in (Guarantee.IDEMPOTENT, Guarantee.TRANSACTIONAL)
    for setting in ("acks", "enable.idempotence") if idempotent else ("acks",):
        if setting in record.not_set:
            return Opinion(Verdict.UNSUPPORTED, f"the client cannot set {setting}: {record.not_set[setting]}")
    return None


def _bitten(evidence: Evidence, scenario: Scenario) -> Opinion:
    """PASS with what was counted if every fault bit, NOT_EXERCISED with the first reason why not otherwise.

    Where a scenario throws faults in at random, one that bit is enough.
    """
    idle = []
    for index in range(len(evidence.record.spec.faults)):
        row = next((row for row in evidence.faults if row.index == index), None)
        if (reason := _idle(row, index)) is not None:
            idle.append(reason)
    if idle and (scenario.each_fault or len(idle) == len(evidence.record.spec.faults)):
        return Opinion(Verdict.NOT_EXERCISED, idle[0])
    seen = scenario.consequence(evidence)
    verdict = Verdict.PASS if seen.count > 0 else Verdict.NOT_EXERCISED
    return Opinion(verdict, f"{seen.count} {seen.what}")


def _idle(row: FaultRow | None, index: int) -> str | None:
    if row is None:
        return f"fault {index} left no trace"
    named = f"fault {index} ({row.spec.kind})"
    if row.effective_ns is None:
        return f"{named} never took effect"
    return f"{named} touched nothing" if row.hits <= 0 else None


def _ask(check: Check, evidence: Evidence) -> Opinion:
    try:
        findings = tuple(check.find(evidence))
    except Inconclusive as doubt:
        return Opinion(Verdict.INCONCLUSIVE, f"{check.name}: {doubt}")
    except Unsupported as lack:
        return Opinion(Verdict.UNSUPPORTED, f"{check.name}: {lack}")
    except Exception as error:
        return Opinion(Verdict.HARNESS_ERROR, f"{check.name}: the check crashed: {_told(error)}")
    judged = {"", *(requirement.id for requirement in check.requirements)}
    if strange := next((each.requirement for each in findings if each.requirement not in judged), None):
        what = f"the check found something about {strange}, which it does not judge"
        return Opinion(Verdict.HARNESS_ERROR, f"{check.name}: {what}")
    return _accusing(findings)


def _accusing(findings: tuple[Finding, ...]) -> Opinion:
    if not findings:
        return _PASS
    return Opinion(Verdict.FAIL, f"{findings[0].anomaly}: {findings[0].message}", findings)


def _rulings(
    evidence: Evidence, scenario: Scenario, checks: Mapping[str, Check], bitten: Opinion
) -> tuple[_Ruling, ...]:
    """One ruling a requirement, by id: the worst opinion of its checks, and no pass for a fault that did not bite."""
    asked: dict[str, tuple[Requirement, list[str], list[Opinion]]] = {}
    for _, check in sorted(checks.items()):
        if "trace" in check.channels and not evidence.trace:
            continue
        if requirements := relevant(check, evidence.record.spec.guarantee):
            said = _ask(check, evidence)
            for requirement in requirements:
                _, names, objections = asked.setdefault(requirement.id, (requirement, [], []))
                names.append(check.name)
                if (opinion := said.of(requirement)) is not _PASS:
                    objections.append(opinion)
    return tuple(
        [
            _rule(requirement, names, objections) if objections else _Ruling(requirement, names, bitten)
            for _, (requirement, names, objections) in sorted(asked.items())
        ]
    )


def _rule(requirement: Requirement, names: list[str], objections: list[Opinion]) -> _Ruling:
    verdict = worst([opinion.verdict for opinion in objections])
    decisive = next(opinion for opinion in objections if opinion.verdict is verdict)
    findings = tuple([each for opinion in objections for each in opinion.findings])
    return _Ruling(requirement, names, decisive, findings)


def _summary(rulings: tuple[_Ruling, ...], bitten: Opinion) -> tuple[Verdict, str]:
    """The trial's verdict and its sentence. What the client does not claim counts only if nothing else was checked."""
    if not rulings:
        return Verdict.NOT_EXERCISED, "no check judges this scenario under this guarantee"
    claimed = [ruling for ruling in rulings if ruling.decisive.verdict is not Verdict.UNSUPPORTED]
    verdict = worst({ruling.decisive.verdict for ruling in claimed or rulings})
    if verdict is Verdict.PASS:
        return verdict, f"{len(claimed)} requirements held; {bitten.reason}"
    reasons = _distinct(ruling.decisive.reason for ruling in rulings if ruling.decisive.verdict is verdict)
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return verdict, reasons[0] + more


def _verdict(
    evidence: Evidence,
    verdict: Verdict,
    reason: str,
    *,
    rulings: tuple[_Ruling, ...] = (),
    counts: Delivery | None = None,
) -> TrialVerdict:
    spec = evidence.record.spec
    return TrialVerdict(
        trial=spec.trial,
        client=str(spec.client),
        broker=spec.broker,
        scenario=spec.scenario,
        guarantee=spec.guarantee,
        seed=spec.seed,
        verdict=verdict,
        reason=reason,
        requirements=tuple(
            [
                RequirementVerdict(
                    requirement.id, requirement.level, decisive.verdict, findings, tuple(names)
                )
                for requirement, names, decisive, findings in rulings
            ]
        ),
        faults=tuple(
            FaultVerdict(row.spec.kind, row.requested_ns, row.effective_ns, row.hits)
            for row in evidence.faults
        ),
        delivery=counts or Delivery(),
        variant=spec.variant,
        attempt=spec.attempt,
    )


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _distinct(reasons: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reasons))
