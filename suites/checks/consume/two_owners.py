"""# two-owners

## What it does

Looks for partitions that two living processes owned at the same time: in one generation of the group
(``two-owners``), or in two generations, while the older owner went on taking records and nothing explains that it did
not know (``outdated-owner``).

## Why it is bad

A partition has one owner, so that one application at a time works on its records and their order means something. With
two, each record is processed twice, and commits overwrite each other.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden.

Kafka does not fence fetches, so an owner may go on while it cannot know better: while its process is frozen, while it
works on one poll for longer than its session or max.poll.interval.ms, while faults keep it from its coordinator, and
for one session and one request after each of these. Within a second, two processes may report in either order. The
successor of a static member gets its partitions in the same generation (KIP-345), so it is judged as a newer owner.

## What it needs

The members' histories and the faults. If a stall may explain what was found, the trial is inconclusive, as it is if the
group had members of other clients, one of which may have assigned the partition twice.

## References

CSM-GRP-14 (KIP-429). ``AbstractCoordinator#onJoinPrepare``: an owner stops before it joins the next generation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.planning.unavailable import ASSIGNOR
from harness.plugins.check import Check, Requirement
from harness.trial.group import place_of
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.ownership import Ownership, ownerships
from suites.analysis.consuming.timing import SLACK_NS, removal_ns
from suites.analysis.consuming.tried import doubt_if_shared, is_tried
from suites.analysis.consuming.unaware import excused
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.promises import BY_COMMITS

TWO_OWNERS = Anomaly(
    "two-owners", "{count:partition} owned by two processes at once in one generation of the group"
)
OUTDATED = Anomaly(
    "outdated-owner",
    "{count:record} taken by a process after the group had given the partition to another one, with nothing that kept "
    "the process from knowing",
)


@view
def pairs(evidence: Evidence) -> list[tuple[Ownership, Ownership]]:
    """Return the declared ownerships of one partition by two processes that overlap, the older one first."""
    of: defaultdict[int, list[Ownership]] = defaultdict(list)
    for each in ownerships(evidence):
        if each.is_declared:
            of[each.partition].append(each)
    return [
        (older, newer)
        for owned in of.values()
        for older, newer in combinations(sorted(owned, key=lambda each: each.begin_ns), 2)
        if older.process != newer.process and (older.end_ns is None or newer.begin_ns < older.end_ns)
    ]


def _is_shared(evidence: Evidence, older: Ownership, newer: Ownership) -> bool:
    """Return True if both own the partition in one generation, which a static member and its successor may."""
    is_static = bool(evidence.record.spec.workload.params.get("static"))
    is_succession = is_static and place_of(older.process) == place_of(newer.process)
    return older.generation == newer.generation >= 0 and not is_succession


@grants("reported-late")
def late(evidence: Evidence) -> Iterator[tuple[Ownership, Delivery]]:
    """Yield the newer ownership and each record that the older owner took although it could know of it."""
    for older, newer in pairs(evidence):
        if _is_shared(evidence, older, newer) or not is_tried(evidence, older.process):
            continue
        for got in (got for run_ in older.runs for got in run_):
            is_late = newer.begin_ns + SLACK_NS < got.polled_ns
            if is_late and not excused(evidence, older.process, newer.begin_ns, got.polled_ns):
                yield newer, got


def run(evidence: Evidence) -> list[Finding]:
    """Return at most two findings. Inconclusive if a stall lies before a record that was taken too late."""
    found = []
    if shared := [each for each in pairs(evidence) if _is_shared(evidence, *each)]:
        samples: list[Sample] = [
            {
                "partition": one.partition,
                "member": one.process,
                "other": two.process,
                "generation": one.generation,
            }
            for one, two in shared
        ]
        found.append(TWO_OWNERS.found(len({one.partition for one, _ in shared}), samples))
        doubt_if_shared(evidence, found[0])  # the leader assigns, and it may be a companion
    if taken := list(late(evidence)):
        outdated = OUTDATED.found(
            len(taken),
            ({"member": got.member, "partition": got.partition, "offset": got.offset} for _, got in taken),
        )
        if not found:
            if any("cooperative" in str(each.get(ASSIGNOR)) for each in evidence.record.spec.configs):
                doubt_if_shared(evidence, outdated)  # its leader may have left the partition to it
            for newer, got in taken:
                doubt_if_stalled(evidence, outdated, newer.begin_ns - removal_ns(evidence), got.polled_ns)
        found.append(outdated)
    return found


def _arises(evidence: Evidence) -> int:
    """Count how often a partition went from one process to another."""
    before: dict[int, str] = {}
    count = 0
    for each in ownerships(evidence):
        if each.is_declared:
            count += before.get(each.partition, each.process) != each.process
            before[each.partition] = each.process
    return count


CHECK = Check(
    name="two-owners",
    summary="Partitions that two processes owned and read at the same time.",
    requirements=(Requirement("CSM-GRP-14", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"history", "faults"}),
    killed_mutant="leader_assigns_twice",
    run=run,
    workloads=frozenset({"consume"}),
)
