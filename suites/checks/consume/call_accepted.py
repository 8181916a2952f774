"""# call-accepted

## What it does

Looks at the calls by which an application pauses, resumes or seeks a partition that its consumer does not own, as far
as its listener says so.

## Why it is bad

A call that does nothing and reports no error leaves the application with a wrong idea of what it reads. If the call
takes effect later, when the partition is assigned, the application does not expect it any more.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java refuses such a call with an IllegalStateException.

Not judged: calls within a second of a change of the partition's owner, and processes whose listener reports nothing.

## What it needs

The members' histories.

## References

CSM-API-06 (``SubscriptionState#assignedState``).
"""

from __future__ import annotations

from typing import Final

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.calls import PartitionCall, partition_calls
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

ACCEPTED: Final = Anomaly(
    "call-accepted",
    "{count:call} about partitions that the process did not own, and that its client accepted: {ops}",
    Level.SHOULD,
)


@view
def strangers(evidence: Evidence) -> list[PartitionCall]:
    """Return the calls about partitions that their process certainly did not own."""
    return [
        call
        for call in partition_calls(evidence)
        if is_tried(evidence, call.process)
        and call.process in declared(evidence)
        and not may_be_owned(evidence, call)
    ]


@grants("owner-changes-meanwhile")
def may_be_owned(evidence: Evidence, call: PartitionCall) -> bool:
    """Return whether the process owned the partition at some time around the call."""
    return any(
        span.begin_ns - SLACK_NS <= call.end_ns and call.begin_ns <= span.end_ns + SLACK_NS
        for span in declared(evidence)[call.process].get(call.partition, [])
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the calls."""
    cases = [call for call in strangers(evidence) if call.error is None]
    if not cases:
        return []
    samples: list[Sample] = [
        {"member": call.process, "op": call.op, "partition": call.partition, "at_ns": call.begin_ns}
        for call in cases
    ]
    return [ACCEPTED.found(len(cases), samples, ops=tuple(sorted({call.op for call in cases})))]


def _arises(evidence: Evidence) -> int:
    return len(strangers(evidence))


CHECK = Check(
    name="call-accepted",
    summary="Calls about partitions that a process does not own, and that are not refused.",
    requirements=(Requirement("CSM-API-06", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="adopts_partitions_it_was_asked_about",
    run=run,
    workloads=frozenset({"consume"}),
)
