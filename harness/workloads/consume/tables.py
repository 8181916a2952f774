"""The tables of packed evidence that only this workload fills: what the members reported and the harness did.

``event`` is the place of an event in the history, so that its order can be told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from harness.model.anomaly_row import AnomalyRow
from harness.model.consumer_contract import (
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsConsumed,
)
from harness.model.contract import OpComplete, ShutdownComplete
from harness.model.harness_events import (
    AsideWritten,
    GroupCommitted,
    MemberKilled,
    MemberStarted,
    RecordsWritten,
    TransactionEnded,
)
from harness.model.payload import Identity, decode
from harness.plugins.workload import ColumnData, Columns, PackedTrial, Table
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import MEANING
from harness.workloads.consume.fates import ISOLATION

#: The counts as columns, in their order.
CONSUMPTION: Columns = MappingProxyType(dict.fromkeys(MEANING, "long"))
#: The kinds of rows in ``group_anomalies`` that the harness finds itself. Finders add others.
OWN_ANOMALIES = ("missed", "redelivered", "foreign")
#: Kinds of anomalies that finders may add, which the second judgement computes too.
FOUND_ANOMALIES = ("skipped", "backwards", "gap", "committed-early", "commit-regress", "two-owners")
GROUP_ANOMALIES = OWN_ANOMALIES + FOUND_ANOMALIES
#: Calls that set positions. A new subscription is followed by assignments, and sets none itself.
SEEKS = ("seek", "assign", "unsubscribe")

_CHANGES = {PartitionsAssigned: "assigned", PartitionsRevoked: "revoked", PartitionsLost: "lost"}
_NO_IDENTITY = (None,) * len(Identity._fields)


def _consumption(trial: PackedTrial) -> ColumnData:
    return {name: [trial.verdict.counts.get(name, 0)] for name in CONSUMPTION}


def _anomalies(trial: PackedTrial) -> ColumnData:
    rows = [*_own(trial), *_found(trial)] if trial.counted else []
    return _columns(AnomalyRow._fields, rows)


def _found(trial: PackedTrial) -> Iterable[AnomalyRow]:
    return (row for row in chain.from_iterable(trial.found.values()) if row.kind in FOUND_ANOMALIES)


def _own(trial: PackedTrial) -> Iterable[AnomalyRow]:
    evidence = trial.evidence
    for partition, offset in accounting.missed(evidence):
        yield AnomalyRow("missed", partition=partition, offset=offset)
    seen = set[tuple[int, int]]()
    for each in accounting.deliveries(evidence):
        place = each.partition, each.offset
        if place in seen:
            yield AnomalyRow("redelivered", None, *place, each.member)
        seen.add(place)
    for each in accounting.foreign(evidence):
        yield AnomalyRow("foreign", None, each.partition, each.offset, each.member)


def _written(trial: PackedTrial) -> ColumnData:
    rows = [
        (n, partition, offset, event.invoke_ns)
        for event in trial.evidence.history
        if isinstance(event, RecordsWritten)
        for n, partition, offset in zip(event.numbers, event.partitions, event.offsets, strict=True)
    ]
    return _columns(("n", "partition", "offset", "invoke_ns"), rows)


def _transaction_records(trial: PackedTrial) -> ColumnData:
    rows = [
        (partition, offset, event.committed)
        for event in trial.evidence.history
        if isinstance(event, TransactionEnded)
        for partition, offset in zip(event.partitions, event.offsets, strict=True)
    ]
    return _columns(("partition", "offset", "committed"), rows)


def _aside_records(trial: PackedTrial) -> ColumnData:
    rows = [
        (*place, value)
        for event in trial.evidence.history
        if isinstance(event, AsideWritten)
        for place, value in event.records()
    ]
    return _columns(("partition", "offset"), rows) | _contents([row[-1] for row in rows])


def _readers(trial: PackedTrial) -> ColumnData:
    record = trial.evidence.record
    is_known = ISOLATION not in record.not_set
    return {"isolation": [str(record.spec.config.get(ISOLATION, "")) if is_known else None]}


def _members(trial: PackedTrial) -> ColumnData:
    rows = [
        (event.member, event.companion, event.mono_ns)
        for event in trial.evidence.history
        if isinstance(event, MemberStarted)
    ]
    return _columns(("member", "companion", "started_ns"), rows)


def _deliveries(trial: PackedTrial) -> ColumnData:
    topic = trial.evidence.record.topic
    rows = [
        (at, str(event.producer or ""), part.partition, offset, event.polled_ns, event.mono_ns, value)
        for at, event in enumerate(trial.evidence.history)
        if isinstance(event, RecordsConsumed)
        for part in event.partitions
        if part.topic == topic
        for offset, value in zip(part.offsets, part.values, strict=True)
    ]
    names = "event", "member", "partition", "offset", "polled_ns", "processed_ns"
    return _columns(names, rows) | _contents([row[-1] for row in rows])


def _contents(values: Sequence[str | None]) -> ColumnData:
    known = [decode(value) for value in values]
    identities = [identity or _NO_IDENTITY for identity in known]
    return {
        "intact": [identity is not None for identity in known],
        "value_bytes": [None if value is None else len(value.encode()) for value in values],
        **_columns([f"identity_{name}" for name in Identity._fields], identities),
    }


def _ownership_events(trial: PackedTrial) -> ColumnData:
    topic = trial.evidence.record.topic
    rows: list[tuple[int, int, str, str, int | None, int | None]] = []
    for at, event in enumerate(trial.evidence.history):
        who = at, event.mono_ns, str(event.producer or "")
        match event:
            case PartitionsAssigned() | PartitionsRevoked() | PartitionsLost():
                generation = event.generation if isinstance(event, PartitionsAssigned) else None
                what = _CHANGES[type(event)]
                rows += [
                    (*who, what, place.partition, generation)
                    for place in event.partitions
                    if place.topic == topic
                ]
            case MemberKilled() | ShutdownComplete():
                rows.append((*who, "ended", None, None))
            case OpComplete() if event.op in SEEKS:
                rows.append((*who, "sought", None, None))
            case _:
                pass
    return _columns(("event", "mono_ns", "member", "what", "partition", "generation"), rows)


def _commits(trial: PackedTrial) -> ColumnData:
    topic = trial.evidence.record.topic
    names = "event", "mono_ns", "member", "partition", "offset", "success", "how", "invoke_ns", "complete_ns"
    rows = [
        (
            *(at, event.mono_ns, str(event.producer or ""), place.partition, place.offset),
            *(event.success, event.how, event.invoke_ns, event.complete_ns),
        )
        for at, event in enumerate(trial.evidence.history)
        if isinstance(event, OffsetsCommitted)
        for place in event.offsets
        if place.topic == topic
    ]
    return _columns(names, rows)


def _stored_offsets(trial: PackedTrial) -> ColumnData:
    topic = trial.evidence.record.topic
    rows = [
        (place.partition, place.offset)
        for event in trial.evidence.history
        if isinstance(event, GroupCommitted)
        for place in event.offsets
        if place.topic == topic
    ]
    return _columns(("partition", "offset"), rows)


def _columns(names: Iterable[str], rows: Iterable[Iterable[object]]) -> ColumnData:
    """Return rows as columns. Their further values are left out."""
    names, found = list(names), list(zip(*rows, strict=True))
    return {name: list(found[place]) if found else [] for place, name in enumerate(names)}


_CONTENTS: Columns = {
    "intact": "bool",
    "value_bytes": "long?",
    "identity_run": "string?",
    "identity_trial": "string?",
    "identity_producer": "string?",
    "identity_n": "long?",
}
_TABLES: Mapping[str, Table] = {
    "consumption": Table({**CONSUMPTION}, _consumption),
    "group_anomalies": Table(
        {"kind": "string", "n": "long?", "partition": "long?", "offset": "long?", "detail": "string?"},
        _anomalies,
    ),
    "written_records": Table(
        {"n": "long", "partition": "long", "offset": "long", "invoke_ns": "long"}, _written
    ),
    "members": Table({"member": "string", "companion": "string", "started_ns": "long"}, _members),
    "deliveries": Table(
        {
            "event": "long",
            "member": "string",
            "partition": "long",
            "offset": "long",
            "polled_ns": "long",
            "processed_ns": "long",
            **_CONTENTS,
        },
        _deliveries,
    ),
    "transaction_records": Table(
        {"partition": "long", "offset": "long", "committed": "bool"}, _transaction_records
    ),
    "aside_records": Table({"partition": "long", "offset": "long", **_CONTENTS}, _aside_records),
    "readers": Table({"isolation": "string?"}, _readers),
    "ownership_events": Table(
        {
            "event": "long",
            "mono_ns": "long",
            "member": "string",
            "what": "string",
            "partition": "long?",
            "generation": "long?",
        },
        _ownership_events,
    ),
    "commits": Table(
        {
            "event": "long",
            "mono_ns": "long",
            "member": "string",
            "partition": "long",
            "offset": "long",
            "success": "bool",
            "how": "string",
            "invoke_ns": "long",
            "complete_ns": "long",
        },
        _commits,
    ),
    "stored_offsets": Table({"partition": "long", "offset": "long"}, _stored_offsets),
}
TABLES: Mapping[str, Table] = MappingProxyType(
    {name: Table({"trial": "string", **table.columns}, table.rows) for name, table in _TABLES.items()}
)
