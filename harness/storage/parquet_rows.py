"""The rows of every table of packed evidence, from one trial. Tables of workloads have their own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from harness.model.anomaly_row import UNEXPLAINED
from harness.model.consumer_rows import CoordinatorPart, FetchPart, MemberPart, OffsetPart
from harness.model.payload import Identity
from harness.model.rows import SCHEMA_VERSION, Frame, FrameKind, LogRecord, ProducePart
from harness.model.tcp_facts import TcpFact
from harness.plugins import registry
from harness.plugins.workload import ColumnData, PackedTrial
from harness.storage.parquet_schema import TABLES

_NO_IDENTITY = (None,) * len(Identity._fields)


def _trials(trial: PackedTrial) -> ColumnData:
    record, verdict = trial.evidence.record, trial.verdict
    spec, phases = record.spec, record.phases
    return _one_row(
        schema_version=SCHEMA_VERSION,
        run=trial.run,
        client=str(spec.client),
        client_name=spec.client.name,
        client_version=spec.client.version,
        reported_version=_text(record.client.get("client_version")),
        library_version=_text(record.client.get("library_version")),
        language=_text(record.client.get("language")),
        broker=spec.broker,
        scenario=spec.scenario,
        workload=spec.workload.kind,
        guarantee=spec.guarantee.value,
        variant=spec.variant,
        seed=spec.seed,
        verdict=verdict.verdict,
        reason=verdict.reason,
        ending=record.ending.value,
        topic=record.topic,
        lane=record.lane,
        counted=trial.counted and registry.workload(spec.workload.kind).recounted,
        explains=UNEXPLAINED in trial.found and not spec.workload.shape.is_split,
        records=spec.workload.records,
        partitions=spec.workload.partitions,
        keys=spec.workload.keys,
        producers=spec.workload.shape.producers,
        topics=spec.workload.shape.topics,
        codec=_text(spec.config.get("compression.type")),
        acks=_text(spec.config.get("acks")),
        idempotent=spec.config.get("enable.idempotence"),
        max_in_flight=spec.config.get("max.in.flight.requests.per.connection"),
        delivery_timeout_ms=spec.config.get("delivery.timeout.ms"),
        request_timeout_ms=spec.config.get("request.timeout.ms"),
        linger_ms=spec.config.get("linger.ms"),
        load_api=registry.workload(spec.workload.kind).api,
        **msgspec.structs.asdict(phases),
    )


def _counts(trial: PackedTrial) -> ColumnData:
    counts = trial.verdict.counts
    return {"name": list(counts), "value": list(counts.values())}


def _outcomes(trial: PackedTrial) -> ColumnData:
    return _one_row(**msgspec.structs.asdict(trial.verdict.availability))


def _blocked_requests(trial: PackedTrial) -> ColumnData:
    blocked = [frame for frame in trial.evidence.blocked_frames if frame.kind is FrameKind.REQUEST]
    return _fields(blocked, ("t_ns", "api", "size_bytes"))


def _events(trial: PackedTrial) -> ColumnData:
    rows = trial.evidence.history
    return _fields(rows, ("seq", "mono_ns", "wall_ns")) | {
        "event": [row.__struct_config__.tag for row in rows]
    }


def _requirements(trial: PackedTrial) -> ColumnData:
    rows = trial.verdict.requirements
    return _fields(rows, ("id", "level", "verdict")) | {
        "findings": [sum(finding.count for finding in row.findings) for row in rows],
        "first_message": [row.findings[0].message if row.findings else None for row in rows],
    }


def _findings(trial: PackedTrial) -> ColumnData:
    rows = [(row.id, finding) for row in trial.verdict.requirements for finding in row.findings]
    return {
        "requirement": [requirement for requirement, _ in rows],
        **_fields([finding for _, finding in rows], ("anomaly", "message", "count", "level")),
        "params_json": [_json(finding.params) for _, finding in rows],
        "samples_json": [_json(finding.samples) for _, finding in rows],
    }


def _log_records(trial: PackedTrial) -> ColumnData:
    log, identities = trial.evidence.log, trial.evidence.identities
    known = [identity or _NO_IDENTITY for identity in identities]
    return _fields(log, _shared(LogRecord, "log_records")) | {
        "value_bytes": [
            len(row.value.encode()) if row.value_bytes is None and row.value is not None else row.value_bytes
            for row in log
        ],
        "intact": [identity is not None for identity in identities],
        **{f"identity_{name}": list(map(itemgetter(at), known)) for at, name in enumerate(Identity._fields)},
    }


def _frames(trial: PackedTrial) -> ColumnData:
    frames = trial.evidence.frames
    return _fields(frames, _shared(Frame, "frames")) | {
        "frame": list(range(len(frames))),
        "kind": [frame.kind.value for frame in frames],
    }


def _tcp(trial: PackedTrial) -> ColumnData:
    rows = trial.evidence.tcp
    return _fields(rows, _shared(TcpFact, "tcp")) | {
        "what": [row.what.value for row in rows],
        "by": [row.by.value for row in rows],
    }


def _parts(trial: PackedTrial, table: str, struct: type[msgspec.Struct], field: str) -> ColumnData:
    """Return the parts of all requests and responses, each with its frame."""
    rows = [
        (number, frame, part)
        for number, frame in enumerate(trial.evidence.frames)
        if frame.kind in (FrameKind.REQUEST, FrameKind.RESPONSE)
        for part in _several(getattr(frame, field))
    ]
    of_frame = ("t_ns", "broker", "conn", "correlation_id", "received_ns")
    return {
        **_fields([frame for _, frame, _ in rows], of_frame),
        **_fields([part for _, _, part in rows], _shared(struct, table)),
        "frame": [number for number, _, _ in rows],
        "kind": [frame.kind.value for _, frame, _ in rows],
    }


def _several(parts: Any) -> tuple[Any, ...]:
    """Return the parts of a field that has several, or at most one."""
    if isinstance(parts, tuple):
        return parts
    return () if parts is None else (parts,)


def _produce_parts(trial: PackedTrial) -> ColumnData:
    return _parts(trial, "produce_parts", ProducePart, "produce")


def _member_parts(trial: PackedTrial) -> ColumnData:
    members = [part for frame in trial.evidence.frames for part in frame.members]
    return _parts(trial, "member_parts", MemberPart, "members") | {
        "protocols_json": [_json(part.protocols) for part in members],
        "said_json": [_json(part.said) for part in members],
    }


def _coordinator_parts(trial: PackedTrial) -> ColumnData:
    return _parts(trial, "coordinator_parts", CoordinatorPart, "coordinators")


def _fetch_parts(trial: PackedTrial) -> ColumnData:
    return _parts(trial, "fetch_parts", FetchPart, "fetch")


def _offset_parts(trial: PackedTrial) -> ColumnData:
    damaged = [part.damaged or (None, None) for frame in trial.evidence.frames for part in frame.offsets]
    return _parts(trial, "offset_parts", OffsetPart, "offsets") | {
        "damaged_begin": [begin for begin, _ in damaged],
        "damaged_end": [end for _, end in damaged],
    }


def _faults(trial: PackedTrial) -> ColumnData:
    rows = trial.evidence.faults
    windows = {
        f"{window}_{end}_ns": [
            span and span[place] for span in (getattr(row, f"{window}_ns") for row in rows)
        ]
        for window in ("requested", "effective")
        for place, end in enumerate(("start", "end"))
    }
    return _fields(rows, ("index", "hits")) | {
        "kind": [row.spec.kind for row in rows],
        "start_json": [_json(row.spec.start) for row in rows],
        "params_json": [_json(row.spec.params) for row in rows],
        "duration_ms": [row.spec.duration_ms for row in rows],
        **windows,
    }


COLUMNS: Mapping[str, Callable[[PackedTrial], ColumnData]] = {
    "trials": _trials,
    "counts": _counts,
    "outcomes": _outcomes,
    "events": _events,
    "requirements": _requirements,
    "findings": _findings,
    "log_records": _log_records,
    "frames": _frames,
    "blocked_requests": _blocked_requests,
    "tcp": _tcp,
    "produce_parts": _produce_parts,
    "member_parts": _member_parts,
    "coordinator_parts": _coordinator_parts,
    "fetch_parts": _fetch_parts,
    "offset_parts": _offset_parts,
    "faults": _faults,
}


def _shared(struct: type[msgspec.Struct], table: str) -> list[str]:
    """Return the fields that are columns of the same name."""
    return [name for name in struct.__struct_fields__ if name in TABLES[table]]


def _fields(rows: Iterable[Any], names: Iterable[str]) -> ColumnData:
    rows = list(rows)
    return {name: list(map(attrgetter(name), rows)) for name in names}


def _one_row(**values: Any) -> ColumnData:
    return {name: [value] for name, value in values.items()}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()
