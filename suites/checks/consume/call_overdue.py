"""# call-overdue

## What it does

Looks for synchronous commits that last longer than default.api.timeout.ms.

## Why it is bad

The application waits in the call. It reads nothing, and after max.poll.interval.ms its member is removed.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. A call has a second beyond its limit.

If the process was frozen meanwhile, the commit is not judged. A client without that limit is not judged.

## What it needs

The members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-API-04 (KIP-266, ``ConsumerCoordinator#commitOffsetsSync``).
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import OffsetsCommitted
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import API, SLACK_NS, limit_ms
from suites.analysis.consuming.tried import is_tried
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import require_settable
from suites.analysis.promises import BY_COMMITS

OVERDUE = Anomaly(
    "call-overdue", "{count:synchronous commit} that lasted longer than default.api.timeout.ms", Level.SHOULD
)
SYNC = "sync"


def calls(evidence: Evidence) -> list[OffsetsCommitted]:
    """Return the synchronous commits that were still in progress when their limit was over, or nearly."""
    limit = limit_ms(evidence, API)
    if limit is None:
        return []
    return [
        event
        for event in evidence.history
        if isinstance(event, OffsetsCommitted)
        and event.how == SYNC
        and is_tried(evidence, str(event.producer))
        and event.complete_ns - event.invoke_ns + SLACK_NS > limit * NS_PER_MS
        and not was_frozen(evidence, event)
    ]


@grants("caller-was-frozen")
def was_frozen(evidence: Evidence, event: OffsetsCommitted) -> bool:
    """Return whether the harness had stopped the process for a part of the call."""
    life = lives(evidence).get(str(event.producer))
    return life is not None and any(nap.overlap_ns(event.invoke_ns, event.complete_ns) for nap in life.frozen)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding. Inconclusive if something stalled meanwhile."""
    require_settable(evidence, API)
    limit_ns = (limit_ms(evidence, API) or 0) * NS_PER_MS
    late = [each for each in calls(evidence) if each.complete_ns - each.invoke_ns > limit_ns + SLACK_NS]
    if not late:
        return []
    finding = OVERDUE.found(len(late), map(_sample, late))
    for each in late:
        doubt_if_stalled(evidence, finding, each.invoke_ns, each.complete_ns)
    return [finding]


def _sample(event: OffsetsCommitted) -> Sample:
    return {
        "member": str(event.producer),
        "lasted_ms": (event.complete_ns - event.invoke_ns) // NS_PER_MS,
        "error": event.error,
        "invoke_ns": event.invoke_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(calls(evidence))


CHECK = Check(
    name="call-overdue",
    summary="Synchronous commits that last longer than their limit.",
    requirements=(Requirement("CSM-API-04", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history"}),
    killed_mutant="commit_sync_has_no_limit",
    run=run,
    workloads=frozenset({"consume"}),
)
