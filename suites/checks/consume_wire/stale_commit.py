"""# stale-commit

## What it does

Looks at commits of members of KIP-848 that the coordinator refused with STALE_MEMBER_EPOCH: synchronous ones that the
client sends again within the same call (``stale-commit-repeated``) or reports as done
(``stale-commit-reported-done``), and automatic ones that it does not send again before it gives the partition up
(``stale-commit-not-repeated``).

## Why it is bad

The application commits for partitions that it may have lost with the old epoch: if the client sends the commit again
with a new epoch, it may set back what another member has stored. Before a revocation the member certainly owns the
partition. If it does not send the commit again, the next owner reads the same records.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference from Java's consumer.

A synchronous commit is a call of the application and the requests with its offsets that arrived meanwhile. A request
counts as repeated if the refusal had reached the client before it. With ``enable.auto.commit``, a partition counts if
its last commit before the acknowledgement was refused, a record of it was processed that no other commit had covered,
and the member had time left in the rebalance.

## What it needs

The witness's frames, and the members' histories with the commits and the events of listeners.

## References

CSM-OFC-04 (``CommitRequestManager``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import OffsetsCommitted, PartitionsRevoked
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.committing import during, is_automatic
from suites.analysis.consuming.reconciliations import Change, changes, processed
from suites.analysis.consuming.timing import MAX_POLL, setting_ms
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

REPEATED = Anomaly(
    "stale-commit-repeated",
    "{count:commit} of the application sent again after a stale epoch",
    Level.SHOULD,
)
DONE = Anomaly(
    "stale-commit-reported-done",
    "{count:commit} of the application reported as done, although the epoch was stale",
    Level.SHOULD,
)
NOT_REPEATED = Anomaly(
    "stale-commit-not-repeated",
    "{count:partition} given up after a commit with a stale epoch that was not repeated",
    Level.SHOULD,
)
COMMIT: Final = "OffsetCommit"
STALE: Final = BY_NAME["STALE_MEMBER_EPOCH"].code


class Call(NamedTuple):
    """A synchronous commit, the first request of it that was refused, and those that its client sent afterwards."""

    event: OffsetsCommitted
    refused: Asked
    later: list[Asked]


def calls(evidence: Evidence) -> Iterator[Call]:
    """Yield the synchronous commits with a stale epoch."""
    for event in evidence.history:
        if isinstance(event, OffsetsCommitted) and event.how == "sync":
            of_call = [
                each.asked for each in during(evidence, event) if event.invoke_ns <= each.asked.sent_ns
            ]
            refused = next((each for each in of_call if is_stale(each)), None)
            if refused is not None and refused.reached_ns is not None:
                reached_ns = refused.reached_ns
                yield Call(event, refused, [each for each in of_call if each.sent_ns > reached_ns])


def is_stale(asked: Asked) -> bool:
    """Return whether a commit was refused because of its epoch alone."""
    return asked.answer is not None and set(asked.answer.error_codes) == {STALE}


class LastCommit(NamedTuple):
    """A partition that was given up after a commit of it was refused, and the last commit of it.

    ``missing`` is how many offsets were processed beyond all commits that succeeded.
    """

    change: Change
    commit: Asked
    missing: int


def last_commits(evidence: Evidence) -> Iterator[LastCommit]:
    """Yield each partition that a member had to give up when an automatic commit of it had a stale epoch."""
    if not is_automatic(evidence):
        return
    for change in changes(evidence):
        if change.is_taken_over or not isinstance(change.before, PartitionsRevoked):
            continue
        since_ns, until_ns = _told_ns(evidence, change), change.beat.now.request.arrived_ns
        commits = [
            each
            for each in of_group(evidence, COMMIT)[change.beat.now.process]
            if each.request.arrived_ns < until_ns and _offset(each, change) is not None
        ]
        stored = max((_offset(each, change) or 0 for each in commits if each.code == 0), default=0)
        if any(is_stale(each) and each.request.arrived_ns > since_ns for each in commits):
            yield LastCommit(change, commits[-1], processed(evidence, change) - stored)


def _offset(asked: Asked, change: Change) -> int | None:
    return next((part.offset for part in asked.request.offsets if part.partition == change.partition), None)


@grants("no-time-to-repeat")
def is_not_repeated(evidence: Evidence, case: LastCommit) -> bool:
    """Return whether the client knew of the refusal, and had time for another commit."""
    reached_ns, acknowledged_ns = case.commit.reached_ns, case.change.beat.now.sent_ns
    limit_ns = setting_ms(evidence, MAX_POLL, min) * NS_PER_MS // 2
    return (
        case.missing > 0
        and is_stale(case.commit)
        and reached_ns is not None
        and reached_ns < acknowledged_ns
        and acknowledged_ns - _told_ns(evidence, case.change) < limit_ns
    )


def _told_ns(evidence: Evidence, change: Change) -> int:
    """Return when the coordinator first wanted the member to give the partition up."""
    answers = [
        asked.answer
        for asked in of_group(evidence, "ConsumerGroupHeartbeat")[change.beat.now.process]
        if asked.answer is not None and asked.request.arrived_ns < change.beat.now.request.arrived_ns
    ]
    first_ns = change.beat.now.request.arrived_ns
    for answer in reversed(answers):
        if answer.members and answer.members[0].said:
            if any(part.partition == change.partition for part in answer.offsets):
                break
            first_ns = answer.t_ns
    return first_ns


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    cases: dict[Anomaly, list[Sample]] = {}
    for call in calls(evidence):
        if call.later:
            cases.setdefault(REPEATED, []).append(_sample(call))
        elif call.event.success:
            cases.setdefault(DONE, []).append(_sample(call))
    for each in last_commits(evidence):
        if is_not_repeated(evidence, each):
            sample: Sample = {
                "member": each.change.beat.now.process,
                "partition": each.change.partition,
                "committed_ns": each.commit.request.arrived_ns,
                "acknowledged_ns": each.change.beat.now.request.arrived_ns,
            }
            cases.setdefault(NOT_REPEATED, []).append(sample)
    found = [anomaly.found(len(samples), samples) for anomaly, samples in cases.items()]
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(call: Call) -> Sample:
    return {
        "member": str(call.event.producer),
        "epoch": call.refused.member.epoch,
        "called_ns": call.event.invoke_ns,
        "refused_ns": call.refused.answer.t_ns if call.refused.answer is not None else None,
        "success": call.event.success,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in calls(evidence)) + sum(1 for _ in last_commits(evidence))


CHECK = Check(
    name="stale-commit",
    summary="Commits with a stale epoch that are repeated where they must not be, or not where they should.",
    requirements=(Requirement("CSM-OFC-04", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="stale_commit_is_repeated",
    run=run,
    workloads=frozenset({"consume"}),
)
