"""Records of transactions that members were given although they were aborted, or too early."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import Consumed, RecordsConsumed
from harness.model.contract import AnyEvent
from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from harness.workloads.consume import accounting
from harness.workloads.consume.fates import fates, reads_committed
from suites.perturbations.consuming.edits import with_changed
from suites.perturbations.perturbation import channels

HISTORY, CONSUME = channels("history"), frozenset({"consume"})


def _around(evidence: Evidence) -> Sequence[tuple[int, int, int]]:
    """Return each aborted record and the event, by its index, of a turn with records before and after it."""
    aborted = [place for place, end in fates(evidence).items() if not end.committed]
    return [
        (at, *place)
        for at, event in enumerate(evidence.history)
        if reads_committed(evidence) and isinstance(event, RecordsConsumed)
        for part in event.partitions
        for place in aborted
        if part.partition == place[0] and part.min_offset < place[1] < part.max_offset
    ]


def _with_aborted(evidence: Evidence, place: tuple[int, int, int]) -> Evidence:
    at, partition, offset = place
    event = evidence.history[at]
    assert isinstance(event, RecordsConsumed)
    value = accounting.contents(evidence)[partition, offset]
    parts = [_with(part, offset, value) if part.partition == partition else part for part in event.partitions]
    changes: dict[int, AnyEvent | None] = {at: changed(event, partitions=parts, count=event.count + 1)}
    return with_changed(evidence, changes)


def _with(part: Consumed, offset: int, value: str | None) -> Consumed:
    index = bisect_left(part.offsets, offset)
    columns = {
        name: [*column[:index], new, *column[index:]]
        for name, new in (("offsets", offset), ("values", value), ("keys", None), ("leader_epochs", None))
        if (column := getattr(part, name))
    }
    return changed(part, count=part.count + 1, **columns)


def _committed(evidence: Evidence) -> Sequence[tuple[int, int]]:
    """Return each event with a committed record that was taken after its commit, and when that was asked for."""
    known = fates(evidence)
    return [
        (at, end.invoke_ns)
        for at, event in enumerate(evidence.history)
        if reads_committed(evidence) and isinstance(event, RecordsConsumed)
        for part in event.partitions
        for offset in part.offsets
        if (end := known.get((part.partition, offset))) is not None and end.committed
    ]


def _before_commit(evidence: Evidence, place: tuple[int, int]) -> Evidence:
    at, asked_ns = place
    event = evidence.history[at]
    return with_changed(evidence, {at: changed(event, polled_ns=asked_ns - 1)})


PERTURBATIONS = (
    Perturbation(
        "aborted-record-delivered",
        HISTORY,
        "delivers a record of an aborted transaction with read_committed",
        ("aborted-record",),
        _around,
        _with_aborted,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    Perturbation(
        "delivered-before-its-commit",
        HISTORY,
        "delivers a record before anybody asked to commit its transaction, with read_committed",
        ("uncommitted-record",),
        _committed,
        _before_commit,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
)
