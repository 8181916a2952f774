"""Check whether the faults of a trial had an effect. Each is checked separately, and those without effect are named.

Each fault kind defines its effect (:meth:`harness.plugins.fault.FaultKind.effect`): something that would not be in the
evidence without the fault. A trial whose faults had no effect never passes. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from harness.model.anomaly import ReasonKind
from harness.model.errors import UsageError
from harness.model.evidence import Evidence, view
from harness.model.parts import parts
from harness.model.rows import FaultRow, FaultVerdict, Reason
from harness.model.verdicts import Verdict
from harness.plugins.fault import touched
from harness.plugins.registry import fault
from harness.plugins.scenario import Consequence, Scenario

NO_ROW = ReasonKind("fault-without-trace", "fault {index} ({fault}) left no trace")
NO_EFFECT = ReasonKind("fault-never-effective", "fault {index} ({fault}) never took effect")
LOAD_OVER = ReasonKind(
    "load-without-fault",
    "fault {index} ({fault}) never took effect in a load of {records:record} and {load_ms} ms: what it waits for did "
    "not happen",
)
NOT_SHOWN = ReasonKind("fault-without-effect", "fault {index} ({fault}) had no effect: 0 {told}")
CONSEQUENCE = ReasonKind("consequence", "{count} {told}")


class Activation(NamedTuple):
    """PASS, with the counted effects, if the faults had one; otherwise NOT_EXERCISED, with the reasons."""

    verdict: Verdict
    reason: Reason
    faults: tuple[FaultVerdict, ...] = ()


def activation(evidence: Evidence, scenario: Scenario) -> Activation:
    """Return whether the faults had the effects that a scenario needs.

    A scenario that names its fault kinds needs an effect of each; one that draws them needs an effect of any. Faults
    without effect are named in both cases. A repeated window is a repeated attempt at the same situation.
    """
    specs = evidence.record.spec.faults
    rows = {row.index: row for row in evidence.faults}
    shown = effects(evidence)
    accounts = tuple(
        FaultVerdict(
            row.spec.kind,
            row.requested_ns,
            row.effective_ns,
            row.hits,
            shown[row.index].count,
            shown[row.index].what,
        )
        for row in evidence.faults
    )
    idle = [
        reason
        for index, spec in enumerate(specs)
        if (reason := _idle(evidence, index, spec.kind, rows, shown)) is not None
    ]
    bitten = {spec.kind for index, spec in enumerate(specs) if index in shown and shown[index].count > 0}
    lacks_a_kind = scenario.require_all_faults and bitten != {spec.kind for spec in specs}
    if idle and (lacks_a_kind or len(idle) == len(specs)):
        return Activation(Verdict.NOT_EXERCISED, _together(idle), accounts)
    seen = _over_parts(evidence, scenario.consequence)
    verdict = Verdict.PASS if seen.count > 0 else Verdict.NOT_EXERCISED
    named = "".join(f"; {reason.message}" for reason in idle)
    reason = CONSEQUENCE.reason(count=seen.count, told=seen.what)
    return Activation(verdict, Reason(reason.code, reason.params, reason.message + named), accounts)


@view
def effects(evidence: Evidence) -> dict[int, Consequence]:
    """Return the effects of each fault that has a row, by its index: how many, and what was counted."""
    return {row.index: _effect(row, evidence) for row in evidence.faults}


def _effect(row: FaultRow, evidence: Evidence) -> Consequence:
    """Return the effect as the fault's kind counts it.

    If that is not installed or counts none, its hits are the effect.
    """
    try:
        told = getattr(fault(row.spec.kind), "effect", None)
    except UsageError:
        told = None
    return touched(row) if told is None else _over_parts(evidence, partial(told, row))


def _over_parts(evidence: Evidence, count: Callable[[Evidence], Consequence]) -> Consequence:
    """Return what is counted in the whole evidence, or in its parts if that is more.

    Records are counted in parts. Connections without a request, such as refused ones, belong to no part.
    """
    whole = count(evidence)
    if (divided := parts(evidence)) == [evidence]:
        return whole
    together = sum(count(part).count for part in divided)
    return whole if whole.count >= together else Consequence(together, whole.what)


def _idle(
    evidence: Evidence, index: int, kind: str, rows: dict[int, FaultRow], shown: dict[int, Consequence]
) -> Reason | None:
    row = rows.get(index)
    if row is None:
        return NO_ROW.reason(index=index, fault=kind)
    if row.effective_ns is None:
        load = evidence.record.spec.workload
        if load.load is not None:
            return LOAD_OVER.reason(index=index, fault=kind, records=load.records, load_ms=load.load_ms)
        return NO_EFFECT.reason(index=index, fault=kind)
    if shown[index].count > 0:
        return None
    return NOT_SHOWN.reason(index=index, fault=kind, told=shown[index].what)


def _together(idle: list[Reason]) -> Reason:
    """Return one reason.

    Its code and parameters are those of the first, for grouping trials; its sentence names them all.
    """
    first = idle[0]
    return Reason(first.code, first.params, "; ".join(reason.message for reason in idle))
