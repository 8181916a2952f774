"""# stored-offset-overlooked

## What it does

Looks at members that ask for stored offsets (OffsetFetch): whether they begin to read although they were refused
(``stored-offset-overlooked``), and whether readers of committed data ask for stable offsets
(``unstable-offset-asked-for``).

## Why it is bad

A member that takes a refusal for a group without offsets begins where auto.offset.reset says. It reads everything
again, or passes over what the group has not read. An unstable offset is about to be replaced by a transaction that is
still open, so that its records are read twice.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden to fetch a partition after a refusal for the moment, without an offset from
  the coordinator. A difference: not to ask for stable offsets with ``isolation.level=read_committed``, if the version
  of the request can.

The refusals are COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR, of the whole request or of
partitions, and UNSTABLE_OFFSET_COMMIT. A partition counts only if the process had never fetched it before, had no other
answer about it, and had not sought.

## What it needs

The witness's frames and the members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-OFC-07 (``ConsumerCoordinator.OffsetFetchResponseHandler``, KIP-447).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.contract import OpComplete
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from harness.workloads.consume.fates import reads_committed
from suites.analysis.consuming.asked import Asked, asked, unread_of_members
from suites.analysis.consuming.committing import ELSEWHERE
from suites.analysis.consuming.tried import is_tried
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

OVERLOOKED = Anomaly(
    "stored-offset-overlooked",
    "{count:partition} fetched although the request for its stored offset had been refused for the moment",
)
UNSTABLE = Anomaly(
    "unstable-offset-asked-for",
    "{count:OffsetFetch} of readers of committed data that did not ask for stable offsets",
    Level.SHOULD,
)
ASKS, FETCH = "OffsetFetch", "Fetch"
#: The flag of a request, and the first version that has it (KIP-447).
STABLE, STABLE_FROM_VERSION = "require_stable", 7
REFUSALS: Final = (*ELSEWHERE, BY_NAME["UNSTABLE_OFFSET_COMMIT"].code)


class Overlooked(NamedTuple):
    """A refused request for stored offsets, and the first fetch of one of its partitions."""

    refused: Asked
    partition: int
    fetch: Asked


def refused_partitions(evidence: Evidence, each: Asked) -> frozenset[int]:
    """Return the partitions whose offsets an answer refuses for the moment: all if it refuses as a whole."""
    topic = evidence.record.topic
    if each.answer is None:
        return frozenset()
    of_all = any(part.error_code in REFUSALS for part in each.answer.members)
    answered = {at.partition for at in each.answer.offsets if at.topic == topic and at.error_code in REFUSALS}
    wanted = {at.partition for at in each.request.offsets if at.topic == topic}
    return frozenset(wanted if of_all else answered)


def _given(evidence: Evidence, each: Asked, partition: int) -> bool:
    """Return whether an answer tells the stored offset of a partition, or that there is none."""
    answer = each.answer
    if each.api != ASKS or answer is None or any(part.error_code for part in answer.members):
        return False
    told = [at for at in answer.offsets if at.topic == evidence.record.topic and at.partition == partition]
    wants_all = not each.request.offsets
    return any(not at.error_code for at in told) or (wants_all and not told)


def refusals(evidence: Evidence) -> list[tuple[Asked, int]]:
    """Return each refused request with each partition that it was for, if the answer has reached the client."""
    return [
        (each, partition)
        for process, requests in asked(evidence).items()
        if is_tried(evidence, process)
        for each in requests
        if each.api == ASKS and each.reached_ns is not None
        for partition in sorted(refused_partitions(evidence, each))
    ]


def overlooked(evidence: Evidence) -> Iterator[Overlooked]:
    """Yield each partition that a process fetched first after it had been refused its stored offset."""
    seen: set[tuple[str, int]] = set()
    for refused, partition in refusals(evidence):
        fetch = _first_fetch(evidence, refused.process, partition)
        if fetch is None or (refused.process, partition) in seen or not _follows(refused, fetch):
            continue
        if not knows_better(evidence, refused, partition, fetch):
            seen.add((refused.process, partition))
            yield Overlooked(refused, partition, fetch)


def _follows(refused: Asked, fetch: Asked) -> bool:
    return refused.reached_ns is not None and refused.reached_ns < fetch.sent_ns


def _first_fetch(evidence: Evidence, process: str, partition: int) -> Asked | None:
    return _first_fetches(evidence).get((process, partition))


@view
def _first_fetches(evidence: Evidence) -> dict[tuple[str, int], Asked]:
    """Return (process, partition) -> the first Fetch that names the partition."""
    found: dict[tuple[str, int], Asked] = {}
    for process, requests in asked(evidence).items():
        for each in requests:
            if each.api == FETCH:
                for at in each.request.offsets:
                    if at.topic == evidence.record.topic and not at.forgotten:
                        found.setdefault((process, at.partition), each)
    return found


@grants("position-from-elsewhere")
def knows_better(evidence: Evidence, refused: Asked, partition: int, fetch: Asked) -> bool:
    """Return whether a process had a position without this answer: from another answer, or its application."""
    is_told = any(
        each.answer is not None
        and each.answer.t_ns < fetch.request.arrived_ns
        and _given(evidence, each, partition)
        for each in asked(evidence)[refused.process]
    )
    return is_told or any(
        isinstance(event, OpComplete)
        and event.op == "seek"
        and event.producer == refused.process
        and event.mono_ns < fetch.request.arrived_ns
        for event in evidence.history
    )


def of_committed_data(evidence: Evidence) -> list[Asked]:
    """Return the requests for stored offsets of readers of committed data that can ask for stable ones."""
    if not reads_committed(evidence):
        return []
    return [
        each
        for process, requests in asked(evidence).items()
        if is_tried(evidence, process)
        for each in requests
        if each.api == ASKS and (each.request.api_version or 0) >= STABLE_FROM_VERSION
    ]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    found = []
    if cases := list(overlooked(evidence)):
        finding = OVERLOOKED.found(len(cases), map(_sample, cases))
        for each in cases:
            doubt_if_stalled(
                evidence, finding, each.refused.request.arrived_ns, each.fetch.request.arrived_ns
            )
        found.append(finding)
    if loose := [each for each in of_committed_data(evidence) if STABLE not in each.member.said]:
        samples: list[Sample] = [
            {"member": each.process, "version": each.request.api_version, "at_ns": each.request.arrived_ns}
            for each in loose
        ]
        found.append(UNSTABLE.found(len(loose), samples))
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(each: Overlooked) -> Sample:
    return {
        "member": each.refused.process,
        "partition": each.partition,
        "code": each.refused.code,
        "refused_ns": each.refused.answer.t_ns if each.refused.answer is not None else None,
        "fetched_ns": each.fetch.request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(refusals(evidence)) + len(of_committed_data(evidence))


CHECK = Check(
    name="stored-offset-overlooked",
    summary="Members that read on without the stored offset that they were refused, or take an unstable one.",
    requirements=(Requirement("CSM-OFC-07", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="overlooks_errors_of_the_whole_answer",
    run=run,
    workloads=frozenset({"consume"}),
)
