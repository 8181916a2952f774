"""# truncation-unnoticed

## What it does

Looks at the first Fetch of a partition that each process sends to another leader: at the leader epoch that it names,
and, if the log has lost records that the process had read, at its offset.

## Why it is bad

After an unclean election other records may take the offsets of lost ones. A member that reads on from its old position
passes over them, and its application has records that exist no more.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a process that has read lost records goes back to where the logs part before it
  reads on from the new leader. It is judged with auto.offset.reset=earliest, and unless the application has sought or
  the partition was assigned again in between.
- A difference: a Fetch from a new leader that names no leader epoch, without an OffsetForLeaderEpoch before it. The
  broker cannot notice then what the client does not know. Clients from before KIP-320 do so.

## What it needs

The witness's frames, the members' histories, and every partition read to its end.

## References

CSM-FET-07 (KIP-320, ``SubscriptionState#maybeValidatePositionForCurrentLeader``). librdkafka issue 3080 is a report.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_rows import OffsetPart
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.places import may_be_set
from suites.analysis.consuming.promised import is_earliest
from suites.analysis.consuming.resets import parted
from suites.analysis.consuming.tried import is_tried
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

FETCH, EPOCHS = "Fetch", "OffsetForLeaderEpoch"
ELECTION: Final = "unclean_election"
READ_ON = Anomaly(
    "truncation-unnoticed",
    "{count:partition} read on behind the place from which on the log had lost what the process had read",
)
NO_EPOCH = Anomaly(
    "leader-epoch-not-named",
    "{count:Fetch} from a new leader, without its epoch and without asking for the end of an epoch",
    Level.SHOULD,
)


class Move(NamedTuple):
    """The first Fetch of a partition from another leader. ``is_asked``: an epoch's end was asked for before it."""

    fetch: Asked
    asked: OffsetPart
    is_asked: bool


class Continued(NamedTuple):
    """The first Fetch that brought records of a log which had lost some that its process had been given."""

    fetch: Asked
    partition: int
    offset: int
    parted: int


@view
def moves(evidence: Evidence) -> list[Move]:
    """Return each first Fetch of a partition from another broker than the one before."""
    topic, found = evidence.record.topic, []
    for process, requests in of_group(evidence, FETCH, EPOCHS).items():
        if not is_tried(evidence, process):
            continue
        leaders: dict[int, int] = {}
        checked: dict[int, int] = {}
        for each in requests:
            broker = each.request.broker
            for part in each.request.offsets:
                if part.topic != topic or part.forgotten:
                    continue
                if each.api == EPOCHS:
                    checked[part.partition] = broker
                    continue
                if leaders.setdefault(part.partition, broker) != broker:
                    found.append(Move(each, part, checked.get(part.partition) == broker))
                    leaders[part.partition] = broker
                    checked.pop(part.partition, None)
    return found


@view
def continued(evidence: Evidence) -> list[Continued]:
    """Return how each process went on in each partition that had lost records which it had been given."""
    elections = [row for row in evidence.faults if row.spec.kind == ELECTION and row.effective_ns is not None]
    if not elections or not is_earliest(evidence):
        return []
    end_ns = max(row.effective_ns[1] for row in elections if row.effective_ns is not None)
    found = (_first(evidence, *place, began_ns, end_ns) for place, began_ns in _given(evidence).items())
    return [each for each in found if each is not None]


def _given(evidence: Evidence) -> dict[tuple[str, int], int]:
    """Return process and partition -> when the process was first given a record that the log has lost."""
    kept = {id(each) for each in accounting.of_this_log(evidence)}
    found: dict[tuple[str, int], int] = {}
    for each in accounting.deliveries(evidence):
        if id(each) not in kept and is_tried(evidence, each.member):
            found.setdefault((each.member, each.partition), each.polled_ns)
    return found


def _first(evidence: Evidence, process: str, partition: int, began_ns: int, end_ns: int) -> Continued | None:
    """Return the first Fetch behind the election that brought records. None if one went back before it."""
    start = parted(evidence)[partition]
    for fetch, asked in _of(evidence, process, partition):
        sent_ns = fetch.request.arrived_ns
        if sent_ns < began_ns or asked.offset is None:
            continue
        is_new = sent_ns >= end_ns and _has_records(fetch, partition)
        if asked.offset <= start or is_new:
            is_set = may_be_set(evidence, process, partition, began_ns, sent_ns)
            return None if is_set else Continued(fetch, partition, asked.offset, start)
    return None


def _of(evidence: Evidence, process: str, partition: int) -> Iterator[tuple[Asked, OffsetPart]]:
    for fetch in of_group(evidence, FETCH)[process]:
        for part in fetch.request.offsets:
            if (part.topic, part.partition) == (evidence.record.topic, partition):
                yield fetch, part


def _has_records(fetch: Asked, partition: int) -> bool:
    answer = fetch.answer
    return answer is not None and any(
        part.partition == partition and part.data_bytes and not part.error_code for part in answer.offsets
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    found = []
    beyond = [each for each in continued(evidence) if each.offset > each.parted]
    if beyond:
        found.append(READ_ON.found(len(beyond), map(_sample, beyond)))
    unnamed = [move for move in moves(evidence) if not move.is_asked and not _names_epoch(move.asked)]
    if unnamed:
        found.append(NO_EPOCH.found(len(unnamed), map(_move_sample, unnamed)))
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _names_epoch(asked: OffsetPart) -> bool:
    return asked.current_leader_epoch is not None and asked.current_leader_epoch >= 0


def _sample(each: Continued) -> Sample:
    return {
        "member": each.fetch.process,
        "partition": each.partition,
        "offset": each.offset,
        "parted": each.parted,
        "at_ns": each.fetch.request.arrived_ns,
    }


def _move_sample(each: Move) -> Sample:
    return {
        "member": each.fetch.process,
        "partition": each.asked.partition,
        "broker": each.fetch.request.broker,
        "version": each.fetch.request.api_version,
        "at_ns": each.fetch.request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(moves(evidence)) + len(continued(evidence))


CHECK = Check(
    name="truncation-unnoticed",
    summary="Positions that are not compared with the log of a new leader.",
    requirements=(Requirement("CSM-FET-07", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history", "log"}),
    killed_mutant="reads_on_after_truncation",
    run=run,
    workloads=frozenset({"consume"}),
)
