"""Records that members were given wrongly: again, not at all, another one, or from a partition of another owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import RecordsConsumed
from harness.model.contract import AnyEvent
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.perturbation import Perturbation
from harness.wire.apis import Api
from harness.workloads.consume import accounting
from suites.analysis.consuming.declared import declared
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.promised import RESET, is_promised
from suites.analysis.consuming.resets import OUT_OF_RANGE, may_reset
from suites.analysis.consuming.timing import SLACK_NS
from suites.checks.consume.redelivered import begun
from suites.perturbations.consuming.edits import delivery, nap, with_added, with_changed, with_fault
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import with_spec
from suites.perturbations.perturbation import channels

HISTORY = channels("history")

MORE_NS, NAP_NS = 100 * NS_PER_MS, 500 * NS_PER_MS
Stray = tuple[str, int, int]


def _first_of(evidence: Evidence) -> Sequence[tuple[str, int, int, int]]:
    """Return process, partition, stored offset and first poll of each assignment that went on from a commit."""
    return [
        (owner.process, owner.partition, stored, first[0].polled_ns)
        for owner, stored, first in begun(evidence)
        if stored and first and first[0].polled_ns > owner.begin_ns
    ]


def _before_commit(evidence: Evidence, place: tuple[str, int, int, int]) -> Evidence:
    process, partition, stored, at_ns = place
    return with_added(evidence, delivery(evidence, process, partition, stored - 1, at_ns - 1, 0))


def _again(evidence: Evidence) -> Sequence[tuple[str, int, int, int]]:
    """Return process, partition, offset and moment of the last record of each ownership with several."""
    return [
        (each.process, each.partition, each.runs[-1][-2].offset, each.runs[-1][-1].processed_ns)
        for each in ownerships(evidence)
        if len(each.runs[-1]) > 1
        and (each.end_ns is None or each.end_ns > each.runs[-1][-1].processed_ns + 1)
    ]


def _delivered_again(evidence: Evidence, place: tuple[str, int, int, int]) -> Evidence:
    process, partition, offset, at_ns = place
    return with_added(evidence, delivery(evidence, process, partition, offset, at_ns + 1, 0))


def _began_again(evidence: Evidence) -> Sequence[tuple[int, str, int]]:
    """Return partition, process and moment of the last record of each ownership, beyond the log's first."""
    return [
        (partition, process, at_ns)
        for process, partition, offset, at_ns in _again(evidence)
        if offset > 0 and (partition, 0) in accounting.items(evidence) and not may_reset(evidence, at_ns + 1)
    ]


def _again_before_the_fault(evidence: Evidence, place: tuple[int, str, int]) -> Evidence:
    """The owner begins again with the log's first record, and only later a fault answers that it is out of range."""
    partition, process, at_ns = place
    params = {"api": int(Api.FETCH), "code": OUT_OF_RANGE, "count": 1}
    later = with_fault(evidence, "error_response", at_ns + MORE_NS, MORE_NS, params)
    return with_added(later, delivery(evidence, process, partition, 0, at_ns + 1, 0))


def once(evidence: Evidence) -> Sequence[tuple[int, int]]:
    """Return the records of the log that one member got once, and that are not the last of what a turn took."""
    count = Counter((got.partition, got.offset) for got in accounting.deliveries(evidence))
    inner = {
        (part.partition, offset)
        for event in evidence.history
        if isinstance(event, RecordsConsumed)
        for part in event.partitions
        for offset in part.offsets[1:-1]
    }
    return sorted(place for place in inner & accounting.items(evidence).keys() if count[place] == 1)


def without_value(evidence: Evidence, place: tuple[int, int], held: str | None) -> Evidence:
    """Leave out the record at a place wherever a member got it with this value."""
    return with_value(evidence, place, None, held)


def with_value(
    evidence: Evidence, place: tuple[int, int], value: str | None, held: str | None = None
) -> Evidence:
    """Give a record another value, or leave it out if there is none; with ``held``, only where it has that one."""
    partition, offset = place
    changes: dict[int, AnyEvent | None] = {}
    for at, event in enumerate(evidence.history):
        if not isinstance(event, RecordsConsumed):
            continue
        parts = []
        for part in event.partitions:
            if part.partition == partition and offset in part.offsets:
                index = part.offsets.index(offset)
                if held is not None and part.values[index] != held:
                    pass
                elif value is not None:
                    values = [*part.values[:index], value, *part.values[index + 1 :]]
                    part = changed(part, values=values)
                else:
                    columns = {
                        name: column[:index] + column[index + 1 :]
                        for name in ("offsets", "values", "keys", "leader_epochs")
                        if (column := getattr(part, name)) or name == "offsets"
                    }
                    part = changed(part, count=part.count - 1, **columns)
            parts.append(part)
        if parts != event.partitions:
            changes[at] = changed(event, partitions=parts, count=sum(part.count for part in parts))
    return with_changed(evidence, changes)


def _left_out(evidence: Evidence, place: tuple[int, int]) -> Evidence:
    return with_value(evidence, place, None)


def _behind_commit(evidence: Evidence) -> Sequence[tuple[int, int]]:
    """Return the records of :func:`once` at or after the first commit of their partition."""
    later = _begins_at_end(evidence)
    return [place for place in once(evidence) if is_promised(later, place)]


def _begins_at_end(evidence: Evidence) -> Evidence:
    return with_spec(evidence, config={**evidence.record.spec.config, RESET: "latest"})


def _left_out_after_commit(evidence: Evidence, place: tuple[int, int]) -> Evidence:
    return _left_out(_begins_at_end(evidence), place)


def neighbours_value(evidence: Evidence, place: tuple[int, int]) -> Evidence:
    """Give a record the value of the one before it."""
    value = accounting.items(evidence).get((place[0], place[1] - 1))
    return with_value(evidence, place, value or "x")


def strays(evidence: Evidence) -> Sequence[Stray]:
    """Return process, partition and end of ownerships after which the process lives on without the partition."""
    found = []
    for process, owned in declared(evidence).items():
        life = lives(evidence)[process]
        until_ns = life.end_ns if life.closing_ns is None else life.closing_ns
        for partition, spans in owned.items():
            for span in spans:
                begins = [each.begin_ns for each in spans if each.begin_ns >= span.end_ns]
                free_ns = min([until_ns, *begins]) - span.end_ns
                is_read = (partition, 0) in accounting.items(evidence)
                if free_ns > 2 * (SLACK_NS + MORE_NS) + NAP_NS and not life.frozen and is_read:
                    found.append((process, partition, span.end_ns))
    return found


def _stray(evidence: Evidence, place: Stray) -> Evidence:
    process, partition, end_ns = place
    return with_added(evidence, delivery(evidence, process, partition, 0, end_ns + SLACK_NS + MORE_NS))


def _stray_after_nap(evidence: Evidence, place: Stray) -> Evidence:
    process, partition, end_ns = place
    awake_ns = end_ns + 1 + NAP_NS
    taken = delivery(evidence, process, partition, 0, awake_ns + SLACK_NS + MORE_NS)
    return with_added(evidence, *nap(evidence, process, end_ns + 1, awake_ns), taken)


ALO, AMO = frozenset({Guarantee.AT_LEAST_ONCE}), frozenset({Guarantee.AT_MOST_ONCE})
PERTURBATIONS = (
    Perturbation(
        "redelivered-though-committed",
        HISTORY,
        "begins one record before the offset that its group had committed",
        ("redelivered",),
        _first_of,
        _before_commit,
        Verdict.DIFFERS,
        ALO,
        CONSUME,
    ),
    Perturbation(
        "processed-again-though-committed",
        HISTORY,
        "begins one record before the offset that its group had committed before processing",
        ("processed-again",),
        _first_of,
        _before_commit,
        Verdict.FAIL,
        AMO,
        CONSUME,
    ),
    Perturbation(
        "delivered-again-to-its-owner",
        HISTORY,
        "delivers a record a second time without a new assignment",
        ("delivered-again-or-backwards",),
        _again,
        _delivered_again,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "began-again-before-out-of-range",
        channels("history", "faults"),
        "begins again with the log's first record, before a fault makes its position out of range",
        ("delivered-again-or-backwards",),
        _began_again,
        _again_before_the_fault,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "record-passed-over",
        HISTORY,
        "leaves out a record between two others",
        ("skipped", "gap"),
        once,
        _left_out,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "record-passed-over-after-a-commit",
        channels("history", "record"),
        "leaves out a record after its group's first commit, although the group may begin at the log's end",
        ("skipped",),
        _behind_commit,
        _left_out_after_commit,
        Verdict.FAIL,
        ALO,
        CONSUME,
    ),
    Perturbation(
        "neighbours-record-delivered",
        HISTORY,
        "delivers the value of the record before at an offset",
        ("foreign-record",),
        once,
        neighbours_value,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "delivered-after-revocation",
        HISTORY,
        "delivers a record more than a second after its partition was revoked",
        ("not-owned",),
        strays,
        _stray,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "delivered-long-after-a-nap",
        HISTORY,
        "delivers a record more than a second after its partition was revoked, not counting a freeze",
        ("not-owned",),
        strays,
        _stray_after_nap,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
)
