"""# orphaned

## What it does

Looks for partitions that had no owner after the network had healed, for longer than the largest timeout of the
members, although a member of the group lived throughout.

## Why it is bad

No member reads the partition. Everything that is written to it waits, while the group looks healthy.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. The bound is that of ``undelivered``.

Not judged: groups of which a living member's listener reports nothing, or that assign partitions themselves.

## What it needs

The members' histories and the faults. Stalls of a member's process, a broker or the harness make the trial
inconclusive, as do members of other clients in the group.

## References

CSM-GRP-14 (KIP-429): after a rebalance has settled, each partition has an owner.
"""

from __future__ import annotations

from harness.judging.availability import Span, last_fault_end_ns, merged
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import lives, outside
from suites.analysis.consuming.timing import idle_bound_ms
from suites.analysis.consuming.tried import doubt_if_shared
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

ORPHANED = Anomaly(
    "orphaned",
    "{count:partition} without an owner for {idle_ms} ms after the network had healed; the members' own largest "
    "timeout, with slack, is {bound_ms} ms",
)


@view
def healed(evidence: Evidence) -> Span | None:
    """Return the time after the faults, if all members that live in it report assignments and one lives throughout."""
    phases = evidence.record.phases
    if phases.heal_ns is None or phases.final_ns is None:
        return None
    span = Span(max(phases.heal_ns, last_fault_end_ns(evidence) or 0), phases.final_ns)
    living = [life for life in lives(evidence).values() if life.end_ns > span.begin_ns]
    told = all(life.process in declared(evidence) for life in living)
    return span if told and any(life.covers(span) for life in living) else None


@view
def ownerless(evidence: Evidence) -> dict[int, Span]:
    """Return partition -> the longest time without an owner, after the faults."""
    span = healed(evidence)
    if span is None:
        return {}
    found: dict[int, Span] = {}
    for partition in range(evidence.record.spec.workload.partitions):
        owned = [each for of in declared(evidence).values() for each in of.get(partition, [])]
        holes = list(outside(span, merged(owned)))
        if holes:
            found[partition] = max(holes, key=lambda hole: hole.length_ms)
    return found


@grants("largest-timeout-of-members")
def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the partitions. Inconclusive if something stalled meanwhile."""
    limit_ms = idle_bound_ms(evidence)
    orphans = {
        partition: hole for partition, hole in ownerless(evidence).items() if hole.length_ms > limit_ms
    }
    if not orphans:
        return []
    samples: list[Sample] = [
        {"partition": partition, "idle_ms": hole.length_ms} for partition, hole in sorted(orphans.items())
    ]
    idle_ms = max(hole.length_ms for hole in orphans.values())
    found = ORPHANED.found(len(orphans), samples, idle_ms=idle_ms, bound_ms=limit_ms)
    doubt_if_shared(evidence, found)
    for hole in orphans.values():
        doubt_if_stalled(evidence, found, *hole)
    return [found]


def _arises(evidence: Evidence) -> int:
    """Count the partitions if the time after the faults was long enough to judge it."""
    span = healed(evidence)
    is_judged = span is not None and span.length_ms > idle_bound_ms(evidence)
    return evidence.record.spec.workload.partitions if is_judged else 0


CHECK = Check(
    name="orphaned",
    summary="Partitions that had no owner although the network had healed.",
    requirements=(Requirement("CSM-GRP-14", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history", "faults"}),
    killed_mutant="leader_forgets_partition",
    run=run,
    workloads=frozenset({"consume"}),
)
