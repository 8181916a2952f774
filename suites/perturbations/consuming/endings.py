"""Groups that do not recover: waiting records, partitions without owners. And members that close too late."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import (
    OffsetsCommitted,
    PartitionsLost,
    PartitionsRevoked,
    Place,
    RecordsConsumed,
)
from harness.model.contract import AnyEvent, OpComplete
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.perturbation import Perturbation
from harness.trial.patience import CLOSE_TIMEOUT_MS
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.ownership import Ownership, ownerships
from suites.analysis.consuming.timing import SLACK_NS, idle_bound_ms
from suites.analysis.disturbance import client_stalls
from suites.checks.consume.orphaned import healed
from suites.perturbations.consuming.deliveries import HISTORY, neighbours_value, once
from suites.perturbations.consuming.edits import (
    SECOND_NS,
    commit,
    is_quiet,
    waited,
    wall_ns,
    with_added,
    with_changed,
    with_fault,
    with_stored,
    without_place,
)
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.perturbation import channels

BEYOND_NS, STALL_NS, WORK_NS = 2 * SECOND_NS, 4 * SECOND_NS, 2 * SECOND_NS


def _last_owner(evidence: Evidence, partition: int) -> Ownership | None:
    """Return the last owner of a partition, if it still is one when the members are told to close."""
    final_ns = evidence.record.phases.final_ns or 0
    owned = [each for each in ownerships(evidence) if each.partition == partition and each.is_declared]
    is_kept = owned and (owned[-1].end_ns is None or owned[-1].end_ns > final_ns)
    return owned[-1] if is_kept else None


def _read_by_one(evidence: Evidence) -> Sequence[int]:
    """Return the partitions whose last owner keeps them to the end, and took at least two records."""
    is_fit = is_quiet(evidence, evidence.record.phases.final_ns or 0)
    if healed(evidence) is None or client_stalls(evidence) or not is_fit:
        return []
    owners = {partition: _last_owner(evidence, partition) for partition in range(_partitions(evidence))}
    return [
        partition
        for partition, owner in owners.items()
        if owner is not None and sum(map(len, owner.runs)) > 1
    ]


def _seekers(evidence: Evidence) -> Sequence[int]:
    """Return the same, of a client that can seek."""
    features = evidence.record.client.get("features")
    return _read_by_one(evidence) if not isinstance(features, list) or "seek" in features else []


def _owned_by_one(evidence: Evidence) -> Sequence[int]:
    """Return those of them that no other process owns at the end: a frozen one may not know that it was removed."""
    final_ns = evidence.record.phases.final_ns or 0
    found = []
    for partition in _read_by_one(evidence):
        ends_ns = (each.end_ns for each in ownerships(evidence) if each.partition == partition)
        if sum(end_ns is None or end_ns > final_ns for end_ns in ends_ns) == 1:
            found.append(partition)
    return found


def _partitions(evidence: Evidence) -> int:
    return evidence.record.spec.workload.partitions


def _never_delivered(evidence: Evidence, partition: int) -> Evidence:
    """No member is given the last record of a partition."""
    stored = max(row.offset for row in evidence.log if row.partition == partition)
    changes: dict[int, AnyEvent | None] = {}
    for at, event in enumerate(evidence.history):
        if isinstance(event, RecordsConsumed):
            parts = []
            for part in event.partitions:
                if part.partition == partition and stored in part.offsets:
                    left = len(part.offsets) - 1
                    if not left:
                        continue
                    part = changed(
                        part,
                        count=left,
                        max_offset=part.offsets[left - 1],
                        **{
                            name: getattr(part, name)[:left]
                            for name in ("offsets", "values", "keys", "leader_epochs")
                        },
                    )
                parts.append(part)
            if parts != event.partitions:
                changes[at] = (
                    changed(event, partitions=parts, count=sum(p.count for p in parts)) if parts else None
                )
        elif isinstance(event, OffsetsCommitted):
            offsets = [
                changed(each, offset=min(each.offset, stored)) if each.partition == partition else each
                for each in event.offsets
            ]
            changes[at] = changed(event, offsets=offsets)
    return with_stored(with_changed(evidence, changes), partition, stored)


def _bound_ns(evidence: Evidence) -> int:
    return idle_bound_ms(evidence) * NS_PER_MS


def _undelivered(evidence: Evidence, partition: int) -> Evidence:
    at_ns = evidence.record.phases.final_ns or 0
    return waited(_never_delivered(evidence, partition), at_ns, _bound_ns(evidence) + BEYOND_NS)


def _undelivered_after_failure(evidence: Evidence, partition: int) -> Evidence:
    """The last owner could not commit the record before it would have processed it, and its client can seek."""
    at_ns, owner = evidence.record.phases.final_ns or 0, _last_owner(evidence, partition)
    assert owner is not None
    end = 1 + max(row.offset for row in evidence.log if row.partition == partition)
    failed = commit(evidence, owner.process, partition, end, at_ns - 2 * NS_PER_MS, success=False)
    return with_added(_undelivered(evidence, partition), failed)


def _undelivered_beside_stall(evidence: Evidence, partition: int) -> Evidence:
    at_ns = evidence.record.phases.final_ns or 0
    for_ns = _bound_ns(evidence) + BEYOND_NS + STALL_NS + SECOND_NS
    return waited(_never_delivered(evidence, partition), at_ns, for_ns, STALL_NS)


def _orphaned(evidence: Evidence, partition: int) -> Evidence:
    """The last owner gives the partition up, and no member takes it."""
    at_ns, owner = evidence.record.phases.final_ns or 0, _last_owner(evidence, partition)
    assert owner is not None
    changes: dict[int, AnyEvent | None] = {
        at: changed(event, partitions=without_place(event.partitions, partition))
        for at, event in enumerate(evidence.history)
        if isinstance(event, PartitionsRevoked | PartitionsLost)
        and (event.producer, event.mono_ns) == (owner.process, owner.end_ns)
    }
    given_up = PartitionsRevoked(
        seq=0,
        mono_ns=at_ns - 1,
        wall_ns=wall_ns(evidence, at_ns - 1),
        producer=owner.process,
        partitions=[Place(evidence.record.topic, partition)],
    )
    left = with_added(with_changed(evidence, changes), given_up)
    return waited(left, at_ns, _bound_ns(evidence) + BEYOND_NS)


def _closes(evidence: Evidence) -> dict[str, int]:
    """Return when the close of each member that stayed to the end returned, by its name."""
    final_ns = evidence.record.phases.final_ns or 0
    if client_stalls(evidence):
        return {}
    return {
        str(event.producer): event.mono_ns
        for event in evidence.history
        if isinstance(event, OpComplete)
        and event.op == "close"
        and event.mono_ns > final_ns
        and str(event.producer) in lives(evidence)
    }


def _closers(evidence: Evidence) -> Sequence[str]:
    return list(_closes(evidence))


def _closed_late(evidence: Evidence, process: str) -> Evidence:
    at_ns = _closes(evidence)[process]
    return waited(evidence, at_ns, CLOSE_TIMEOUT_MS * NS_PER_MS + SLACK_NS + BEYOND_NS)


def _closed_late_after_work(evidence: Evidence, process: str) -> Evidence:
    """The member is told to close in a turn without records, which then lasts two more seconds."""
    at_ns = _closes(evidence)[process]
    asked_ns = lives(evidence)[process].closing_ns or at_ns
    late = waited(evidence, at_ns, WORK_NS + CLOSE_TIMEOUT_MS * NS_PER_MS + SLACK_NS + BEYOND_NS)
    worked_ns = at_ns + WORK_NS
    turn = RecordsConsumed(
        seq=0,
        mono_ns=worked_ns,
        wall_ns=wall_ns(evidence, worked_ns),
        producer=process,
        count=0,
        partitions=[],
        polled_ns=asked_ns - 1,
    )
    return with_added(late, turn)


def _beside_trim(evidence: Evidence, place: tuple[int, int]) -> Evidence:
    """A fault has trimmed the log, but not up to the record."""
    return neighbours_value(with_fault(evidence, "log_trim", evidence.record.phases.heal_ns or 0, 1), place)


PERTURBATIONS = (
    Perturbation(
        "undelivered-beyond-the-largest-timeout",
        HISTORY,
        "does not deliver a record for two seconds longer than its largest timeout allows",
        ("undelivered",),
        _read_by_one,
        _undelivered,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "undelivered-after-a-failure",
        HISTORY,
        "does not deliver a record that it could not commit first, although it can seek",
        ("undelivered",),
        _seekers,
        _undelivered_after_failure,
        Verdict.FAIL,
        frozenset({Guarantee.AT_MOST_ONCE}),
        CONSUME,
    ),
    Perturbation(
        "undelivered-beside-a-stall",
        HISTORY,
        "does not deliver a record for two seconds longer than allowed, not counting a stall of its process",
        ("undelivered",),
        _read_by_one,
        _undelivered_beside_stall,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "partition-left-without-owner",
        HISTORY,
        "gives up a partition that no member of its group takes",
        ("orphaned",),
        _owned_by_one,
        _orphaned,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "closes-late",
        HISTORY,
        "closes three seconds later than its limit",
        ("close-late",),
        _closers,
        _closed_late,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "closes-late-after-its-work",
        HISTORY,
        "closes three seconds later than its limit, not counting a turn in which it was told to close",
        ("close-late",),
        _closers,
        _closed_late_after_work,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "foreign-record-beside-a-trim",
        channels("history", "faults"),
        "delivers the value of another record, after a fault has trimmed the log before it",
        ("foreign-record",),
        once,
        _beside_trim,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
)
