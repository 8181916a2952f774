"""The parts of the evidence of a trial with several producers or topics: one for each producer and topic. Pure.

Each part is evidence as that of a trial with one producer and one topic, so checks judge it without knowing of the
others. Requests belong to the producer whose name is the client id on their connection. A connection without such a
request belongs to no part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from harness.model.contract import WHOLE_OPS, AnyEvent, OpComplete, OpInvoke
from harness.model.evidence import PRODUCER, Evidence, view
from harness.model.harness_events import MemberStarted
from harness.model.load import topic_names
from harness.model.rows import Frame, LogRecord
from harness.model.spec import Workload

#: The end of the names of all topics but the first (:func:`harness.model.load.topic_names`).
_TOPIC = re.compile(r"-t(\d+)$")
#: The key of a row of a trace that names its producer; missing for the first one.
BY = "producer"


@view
def parts(evidence: Evidence) -> list[Evidence]:
    """Return the evidence of each producer in each topic; for a trial with one of each, the evidence itself."""
    load = evidence.record.spec.workload.shape
    if not load.is_split:
        return [evidence]
    if load.topics == 1:
        return producers(evidence)
    topics = topic_names(load, evidence.record.topic)
    return [_of_topic(part, topics, index) for part in producers(evidence) for index in range(load.topics)]


@view
def producers(evidence: Evidence) -> list[Evidence]:
    """Return the evidence of each producer, in all topics."""
    load = evidence.record.spec.workload.shape
    return [evidence] if load.producers == 1 else [_of_producer(evidence, name) for name in load.names]


@view
def processes(evidence: Evidence) -> list[Evidence]:
    """Return the evidence with the history of each client process: of each producer, or of each member of a group."""
    members = [event.member for event in evidence.history if isinstance(event, MemberStarted)]
    if not members:
        return producers(evidence)
    return [_of_member(evidence, name) for name in dict.fromkeys(members)]


def _of_member(evidence: Evidence, name: str) -> Evidence:
    left_out = evidence.record.left_outs.get(name, evidence.record.left_out)
    return replace(
        evidence,
        record=msgspec.structs.replace(evidence.record, left_out=left_out),
        history=tuple([event for event in evidence.history if event.producer == name]),
        producer=name,
    )


def place(part: Evidence) -> str:
    """Return the producer and the topic of a part in words, such as "of p2 in topic 1".

    The one is left out if there is only one producer, the other if there is only one topic.
    """
    load = part.record.spec.workload.shape
    numbered = _TOPIC.search(part.record.topic)
    of = f"of {part.producer}" if load.producers > 1 else ""
    topic = f"in topic {numbered[1] if numbered else 1}" if load.topics > 1 else ""
    return " ".join(filter(None, (of, topic)))


@view
def topics(evidence: Evidence) -> list[Evidence]:
    """Return the evidence about each topic, of all producers. Their histories are not divided."""
    load = evidence.record.spec.workload.shape
    if load.topics == 1:
        return [evidence]
    names = topic_names(load, evidence.record.topic)
    return [
        replace(
            evidence,
            record=msgspec.structs.replace(evidence.record, topic=name),
            frames=tuple(_about_topic(evidence.frames, names, name)),
            log=tuple([row for row in evidence.log if row.topic == name]),
        )
        for name in names
    ]


@view
def connections_of(evidence: Evidence) -> dict[int, str]:
    """Return connection -> the producer whose name it gave as its client id."""
    names = set(evidence.record.spec.workload.shape.names)
    rows = (*evidence.frames, *evidence.blocked_frames)
    return {row.conn: row.client_id for row in rows if row.client_id in names}


def strangers(evidence: Evidence, api: str) -> int:
    """Return the number of requests of ``api`` on connections that belong to no producer, if there are several."""
    if evidence.record.spec.workload.shape.producers == 1:
        return 0
    known = connections_of(evidence)
    return sum(row.api == api and row.conn not in known for row in evidence.frames)


def _of_producer(evidence: Evidence, name: str) -> Evidence:
    connections, record = connections_of(evidence), evidence.record
    workload = record.spec.workload
    mine = sum(workload.producer_of(n) == name for n in _firsts(workload))
    left_out = record.left_outs.get(name, 0)

    def own(rows: Iterable[Frame]) -> tuple[Frame, ...]:
        return tuple([row for row in rows if connections.get(row.conn) == name])

    return replace(
        evidence,
        record=msgspec.structs.replace(record, left_out=left_out, spec=_with_records(evidence, mine)),
        history=tuple([event for event in evidence.history if (event.producer or PRODUCER) == name]),
        frames=own(evidence.frames),
        blocked_frames=own(evidence.blocked_frames),
        log=tuple(_written_by(evidence, name)),
        trace=tuple([row for row in evidence.trace if _writer(row) == name]),
        tcp=tuple([row for row in evidence.tcp if connections.get(row.conn) == name]),
        producer=name,
    )


def _firsts(workload: Workload) -> Iterator[int]:
    return iter(range(workload.records))


def _with_records(evidence: Evidence, records: int) -> Any:
    spec = evidence.record.spec
    workload = msgspec.structs.replace(spec.workload, records=records)
    return msgspec.structs.replace(spec, workload=workload)


def _written_by(evidence: Evidence, name: str) -> Iterator[LogRecord]:
    """Yield the records whose values name this producer, and for the first producer those that name none."""
    known = set(evidence.record.spec.workload.shape.names)
    for row, identity in zip(evidence.log, evidence.identities, strict=True):
        writer = identity.producer if identity is not None and identity.producer in known else PRODUCER
        if writer == name:
            yield row


def _writer(row: Any) -> str:
    return str(row.get(BY, PRODUCER)) if isinstance(row, dict) else PRODUCER


def _of_topic(evidence: Evidence, names: tuple[str, ...], index: int) -> Evidence:
    """Return the part of a producer's evidence that is about one of the topics.

    It has no trace: a trace is about all topics of its producer.
    """
    workload, name = evidence.record.spec.workload, names[index]
    history = tuple([event for event in evidence.history if _is_about(event, workload, index)])
    invoked = sum(event.count for event in history if isinstance(event, OpInvoke))
    spec = _with_records(evidence, max(1, invoked))
    return replace(
        evidence,
        record=msgspec.structs.replace(evidence.record, topic=name, spec=spec),
        history=history,
        frames=_sent_to(evidence.frames, names, name),
        blocked_frames=_sent_to(evidence.blocked_frames, names, name),
        log=tuple([row for row in evidence.log if row.topic == name]),
        trace=(),
    )


def _is_about(event: AnyEvent, workload: Workload, index: int) -> bool:
    match event:
        case OpInvoke() if event.op not in WHOLE_OPS:
            return workload.topic_of(event.first) == index
        case OpComplete() if event.op not in WHOLE_OPS and event.records:
            return workload.topic_of(event.records[0]) == index
    return True


def _about_topic(rows: tuple[Frame, ...], names: tuple[str, ...], name: str) -> Iterator[Frame]:
    """Yield the rows without those that are about other topics of the trial only."""
    for before, after in zip(rows, _sent_to(rows, names, name), strict=True):
        if after.produce or not before.produce:
            yield after


def _sent_to(rows: Iterable[Frame], names: tuple[str, ...], name: str) -> tuple[Frame, ...]:
    """Return the rows without the batches for the trial's other topics. Batches for foreign topics stay."""
    others = set(names) - {name}
    kept = []
    for row in rows:
        if any(part.topic in others for part in row.produce):
            row = msgspec.structs.replace(
                row, produce=tuple([part for part in row.produce if part.topic not in others])
            )
        kept.append(row)
    return tuple(kept)
