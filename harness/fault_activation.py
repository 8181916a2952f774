"""Did the faults of a trial bite? Each is accounted for by itself; one that had no effect is named.

The judge passes no trial whose faults proved nothing. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.anomaly import ReasonKind
from harness.evidence import Evidence
from harness.outcome import Verdict
from harness.rows import FaultRow, FaultVerdict, Reason
from harness.scenario import Scenario

NO_ROW = ReasonKind("fault-without-trace", "fault {index} ({fault}) left no trace")
NO_EFFECT = ReasonKind("fault-never-effective", "fault {index} ({fault}) never took effect")
NOTHING_HIT = ReasonKind("fault-hit-nothing", "fault {index} ({fault}) affected no traffic")
CONSEQUENCE = ReasonKind("consequence", "{count} {what}")


class Activation(NamedTuple):
    """PASS with what was counted if the faults bit, NOT_EXERCISED with the first reason why not otherwise."""

    verdict: Verdict
    reason: Reason
    faults: tuple[FaultVerdict, ...] = ()


def activation(evidence: Evidence, scenario: Scenario) -> Activation:
    """Where a scenario throws faults in at random, one that bit is enough."""
    specs = evidence.record.spec.faults
    rows = {row.index: row for row in evidence.faults}
    idle = [reason for index in range(len(specs)) if (reason := _idle(evidence, rows.get(index), index))]
    accounts = tuple(
        FaultVerdict(row.spec.kind, row.requested_ns, row.effective_ns, row.hits) for row in evidence.faults
    )
    if idle and (scenario.each_fault or len(idle) == len(specs)):
        return Activation(Verdict.NOT_EXERCISED, idle[0], accounts)
    seen = scenario.consequence(evidence)
    verdict = Verdict.PASS if seen.count > 0 else Verdict.NOT_EXERCISED
    return Activation(verdict, CONSEQUENCE.reason(count=seen.count, what=seen.what), accounts)


def _idle(evidence: Evidence, row: FaultRow | None, index: int) -> Reason | None:
    fault = evidence.record.spec.faults[index].kind
    if row is None:
        return NO_ROW.reason(index=index, fault=fault)
    if row.effective_ns is None:
        return NO_EFFECT.reason(index=index, fault=fault)
    return NOTHING_HIT.reason(index=index, fault=fault) if row.hits <= 0 else None
