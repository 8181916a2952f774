"""# commit-identity

## What it does

Looks at the member that OffsetCommit requests name, of consumers that have assigned themselves their partitions.

## Why it is bad

Such a consumer is no member of its group. The coordinator accepts its commits only if they name no generation. With
another one each commit is refused, and after a restart everything is read again.

## How it is judged per guarantee

- **at-least-once, at-most-once**: the generation must be -1. A difference: to name a member as well, which the
  coordinator accepts as long as the group is empty.

Only processes count that have never subscribed.

## What it needs

The witness's frames and the members' histories.

## References

CSM-OFC-05 (``ConsumerCoordinator#sendOffsetCommitRequest``, ``ClassicGroup#validateOffsetCommit``).
"""

from __future__ import annotations

from typing import Final

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, unread_of_members
from suites.analysis.consuming.committing import alone, sent
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

GENERATION = Anomaly(
    "commit-of-a-generation",
    "{count:commit} with a generation, of a consumer that has assigned itself its partitions",
)
MEMBER = Anomaly(
    "commit-of-a-member",
    "{count:commit} with a member id, of a consumer that has assigned itself its partitions",
    Level.SHOULD,
)
NO_GENERATION: Final = -1


def of_consumers_alone(evidence: Evidence) -> list[Asked]:
    """Return their commits, as far as these can name a generation: since version 1."""
    return [
        each.asked
        for process in sorted(alone(evidence))
        for each in sent(evidence).get(process, ())
        if each.asked.member.epoch is not None
    ]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    made = of_consumers_alone(evidence)
    broken = {
        GENERATION: [each for each in made if each.member.epoch != NO_GENERATION],
        MEMBER: [each for each in made if each.member.member_id],
    }
    found = [anomaly.found(len(cases), map(_sample, cases)) for anomaly, cases in broken.items() if cases]
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(each: Asked) -> Sample:
    return {
        "member": each.process,
        "generation": each.member.epoch,
        "member_id": each.member.member_id,
        "at_ns": each.request.arrived_ns,
        "code": each.code,
    }


def _arises(evidence: Evidence) -> int:
    return len(of_consumers_alone(evidence))


CHECK = Check(
    name="commit-identity",
    summary="Commits of consumers with partitions of their own that name a generation or a member.",
    requirements=(Requirement("CSM-OFC-05", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="invents_a_generation",
    run=run,
    workloads=frozenset({"consume"}),
)
