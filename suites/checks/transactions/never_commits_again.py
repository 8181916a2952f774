"""# never-commits-again

## What it does

Looks for a client that commits nothing more until the end of the trial, although no fault acts any longer and the
application goes on asking for transactions.

## Why it is bad

One lost answer has become an outage without an end. Each transaction fails for itself, so no error says that none will
ever succeed again. Only a new transactional.id helps.

## How it is judged per guarantee

- **transactional**: forbidden. At least ten transactions in a row that were to be committed, the last ones of the
  trial, which the client began more than request.timeout.ms after the last fault had acted, and over at least two
  seconds. None of them was reported as committed.

A fault that acts on frames has acted when the witness passes or stops the last of them, and any other fault when it
ends. What the client reports of aborts does not count: a client that cannot begin a transaction has nothing to abort.

## What it needs

The history, the witness's frames and the faults as they happened. If the client, a broker or the harness stalled
meanwhile, the trial is inconclusive.

## References

E2E-LIV-01 (KIP-98, KIP-360). platformatic-kafka 2.12.1 asks for its identity as if it had one: after a lost answer to
InitProducerId, the coordinator fences it for good.
"""

from __future__ import annotations

from typing import Final

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level, Outcome
from harness.plugins.check import Check, Requirement
from harness.workloads.transactions.commands import COMMIT
from harness.workloads.transactions.outcomes import Transaction, transactions
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.promises import TRANSACTIONAL
from suites.analysis.sending import REQUEST_TIMEOUT

IN_A_ROW: Final = 10
LEAST_NS: Final = 2_000 * NS_PER_MS
NEVER = Anomaly(
    "never-commits-again",
    "{count:transaction} in a row not committed, to the end of the trial and without a fault",
)


@grants("fault-has-just-acted")
def calm_ns(evidence: Evidence) -> int:
    """Return from when on no fault excuses a failure."""
    acted_ns = [
        frame.t_ns for frame in (*evidence.frames, *evidence.blocked_frames) if frame.fault is not None
    ]
    acted_ns += [
        row.effective_ns[1]
        for row in evidence.faults
        if row.effective_ns is not None and row.spec.frames is None and row.spec.kind != "error_response"
    ]
    timeout_ms = int(evidence.record.spec.config[REQUEST_TIMEOUT])
    return max(acted_ns, default=0) + timeout_ms * NS_PER_MS


@view
def late_commits(evidence: Evidence) -> list[Transaction]:
    """Return the transactions to be committed that began when no fault acted any longer, in their order."""
    since_ns = calm_ns(evidence)
    sends = evidence.operations
    return [
        each
        for each in transactions(evidence)
        if each.asked == COMMIT and each.first in sends and sends[each.first].invoke_ns > since_ns
    ]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the transactions."""
    failed: list[Transaction] = []
    for each in reversed(late_commits(evidence)):
        if each.outcome is Outcome.OK:
            break
        failed.append(each)
    if len(failed) < IN_A_ROW:
        return []
    sends = evidence.operations
    begin_ns, end_ns = sends[failed[-1].first].invoke_ns, sends[failed[0].first].invoke_ns
    if end_ns - begin_ns < LEAST_NS:
        return []
    found = NEVER.found(len(failed), (_sample(evidence, each) for each in reversed(failed)))
    doubt_if_stalled(evidence, found, begin_ns, end_ns)
    return [found]


def _sample(evidence: Evidence, each: Transaction) -> Sample:
    send = evidence.operations[each.first]
    return {
        "first": each.first,
        "outcome": each.outcome,
        "error": send.error,
        "invoke_ns": send.invoke_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(late_commits(evidence))


CHECK = Check(
    name="never-commits-again",
    summary="Clients that commit nothing more, although no fault acts any longer.",
    requirements=(Requirement("E2E-LIV-01", Level.MUST, arises=_arises),),
    guarantees=TRANSACTIONAL,
    requires=frozenset({"history", "frames", "faults"}),
    killed_mutant="initializes_as_somebody",
    run=run,
    workloads=frozenset({"transactions"}),
)
