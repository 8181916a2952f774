"""Produce: each partition's batch is appended or refused on its own; the answer waits for all of them.

A partition that a request names twice is answered once: of what it brings for it the last is appended. With acks=0
there is no answer, and an error closes the connection: the client has no other way to hear of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import NS_PER_MS, Answer, Closed, Request, milliseconds, timestamp
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.partition_log import Appended
from harness.brokers.scripted.refusals import Refused
from harness.brokers.scripted.state import ClusterState, InjectedError
from harness.brokers.scripted.topics import INTERNAL_TOPICS, Partition, Topic
from harness.brokers.scripted.validation import first_batch, only_batch
from harness.wire.apis import Api
from harness.wire.messages import encode_response
from harness.wire.records.model import MAGIC

_OK, _NOT_LEADER = ErrorCode.none, ErrorCode.not_leader_or_follower
_ALL, _NONE = -1, 0
_IDS_FROM_VERSION: Final = 13
_LEADERS_FROM_VERSION: Final = 10
_RECORD_ERRORS_FROM_VERSION: Final = 8
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22
_TRANSACTIONAL: Final = 0x10
#: Refusals that the broker reports without the log's start offset.
_WITHOUT_LOG_START: Final = frozenset(
    {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
        ErrorCode.message_too_large,
        ErrorCode.record_list_too_large,
        ErrorCode.corrupt_message,
    }
)


@dataclass(slots=True)
class _Brought:
    """What a request brings for one partition; ``refused`` is answered even where another batch was good."""

    index: int
    batch: bytes | None = None
    refused: Refused | None = None


@dataclass(slots=True)
class _Outcome:
    """What became of one partition of a request."""

    index: int
    code: ErrorCode = _OK
    base_offset: int = -1
    timestamp_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[tuple[int, str], ...] = ()
    message: str | None = None
    leader: tuple[int, int] | None = None
    ready_ns: int = 0


def handle(state: ClusterState, request: Request) -> Answer:
    """Raises Closed for an error under acks=0."""
    body, version = request.body, request.version
    error = state.take_error(Api.PRODUCE, _indexes(body)) if state.injected else None
    whole = _wrong_with_all(body)
    outcomes: list[tuple[Any, list[_Outcome]]] = []
    ready_ns = request.now_ns
    for asked, parts in _by_topic(body, version):
        topic, absent = _topic(state, asked, version)
        made = []
        for brought in parts:
            outcome = _outcome(state, request, topic, absent, brought, error, whole)
            ready_ns = max(ready_ns, outcome.ready_ns)
            made.append(outcome)
        outcomes.append((asked, made))
    if body.acks == _NONE:
        failed = [outcome.code.name for _, made in outcomes for outcome in made if outcome.code]
        if failed:
            raise Closed(f"acks=0 and {', '.join(failed)}")
        return Answer(None, ready_ns)
    return Answer(
        encode_response(_message(state, request, outcomes), request.header.correlation_id), ready_ns
    )


def _by_topic(body: Any, version: int) -> list[tuple[Any, list[_Brought]]]:
    """Each topic once, and for it each partition once. A batch of a form that no partition takes is refused already."""
    topics: dict[Any, tuple[Any, dict[int, _Brought]]] = {}
    for asked in body.topic_data:
        key = asked.topic_id if version >= _IDS_FROM_VERSION else asked.name
        _, parts = topics.setdefault(key, (asked, {}))
        for part in asked.partition_data:
            index = int(part.index)
            brought = parts.setdefault(index, _Brought(index))
            try:
                brought.batch = only_batch(part.records, version)
            except Refused as refused:
                brought.refused = refused
    return [(asked, list(parts.values())) for asked, parts in topics.values()]


def _indexes(body: Any) -> frozenset[int]:
    return frozenset(int(part.index) for topic in body.topic_data for part in topic.partition_data)


def _wrong_with_all(body: Any) -> ErrorCode:
    """The error of every partition at once: looking for transactional batches stops at a batch that is none."""
    for topic in body.topic_data:
        for part in topic.partition_data:
            try:
                data = first_batch(part.records)
            except Refused as refused:
                return refused.code
            if len(data) <= _ATTRIBUTES_AT or data[_MAGIC_AT] != MAGIC:
                continue  # too short for the bit, or of a format without it
            if data[_ATTRIBUTES_AT] & _TRANSACTIONAL:
                return (
                    _OK
                    if body.transactional_id is not None
                    else ErrorCode.transactional_id_authorization_failed
                )
    return _OK


def _topic(state: ClusterState, asked: Any, version: int) -> tuple[Topic | None, ErrorCode]:
    """The topic, or the error code of there being none."""
    denied = state.settings.denied_topics
    if version >= _IDS_FROM_VERSION:
        topic = state.topics_by_id.get(asked.topic_id) if asked.topic_id is not None else None
        name, absent = topic and topic.name, ErrorCode.unknown_topic_id
    else:
        name, absent = str(asked.name), ErrorCode.unknown_topic_or_partition
        topic = state.topics.get(name)
    if name in denied:
        return None, ErrorCode.topic_authorization_failed
    return topic, absent


def _outcome(
    state: ClusterState,
    request: Request,
    topic: Topic | None,
    absent: ErrorCode,
    brought: _Brought,
    error: InjectedError | None,
    whole: ErrorCode,
) -> _Outcome:
    outcome = _Outcome(brought.index)
    if error is not None and error.partition is not None and error.partition != outcome.index:
        error = None
    if error is not None and not error.after_append:
        outcome.code = error.code
    elif whole is not _OK:
        outcome.code = whole
    elif topic is None:
        outcome.code = absent
    elif not 0 <= outcome.index < len(topic.partitions):
        outcome.code = ErrorCode.unknown_topic_or_partition
    else:
        partition = topic.partitions[outcome.index]
        if brought.batch is not None:
            _append(request, topic, partition, brought.batch, outcome)
        if brought.refused is not None:
            outcome = _Outcome(brought.index, brought.refused.code)
        if error is not None and outcome.code is _OK:
            outcome.code = error.code
    if outcome.code is _NOT_LEADER and topic is not None:
        _hint(topic, outcome)
    return outcome


def _hint(topic: Topic, outcome: _Outcome) -> None:
    """Who leads instead (KIP-951, MET-09)."""
    if 0 <= outcome.index < len(topic.partitions):
        partition = topic.partitions[outcome.index]
        outcome.leader = (partition.leader, partition.leader_epoch)


def _append(request: Request, topic: Topic, partition: Partition, batch: bytes, outcome: _Outcome) -> None:
    is_at_log = False
    try:
        is_at_log = _may_append(request, topic, partition, batch)
        appended = partition.log.append(batch, topic.config, partition.leader_epoch, request.now_ms)
    except Refused as refused:
        outcome.code, outcome.message = refused.code, refused.message
        outcome.record_errors = refused.record_errors
        is_at_log = is_at_log or refused.code is ErrorCode.not_enough_replicas
        if is_at_log and refused.code not in _WITHOUT_LOG_START:
            outcome.log_start_offset = partition.log.log_start_offset
        return
    partition.advance(topic.config)
    outcome.base_offset, _, outcome.timestamp_ms = appended
    outcome.log_start_offset = partition.log.log_start_offset
    if request.body.acks == _ALL:
        _wait(request, partition, appended, outcome)


def _may_append(request: Request, topic: Topic, partition: Partition, data: bytes) -> bool:
    """True, or raises Refused: what is asked before the log is."""
    acks = request.body.acks
    if acks not in (_ALL, 0, 1):
        raise Refused(ErrorCode.invalid_required_acks)
    if topic.name in INTERNAL_TOPICS:
        raise Refused(ErrorCode.invalid_topic_exception)
    if data[_ATTRIBUTES_AT] & _TRANSACTIONAL:
        raise Refused(ErrorCode.invalid_txn_state)
    if partition.leader != request.node_id:
        raise Refused(ErrorCode.not_leader_or_follower)
    if acks == _ALL and len(partition.isr) < partition.effective_min_isr(topic.config):
        raise Refused(ErrorCode.not_enough_replicas)
    return True


def _wait(request: Request, partition: Partition, appended: Appended, outcome: _Outcome) -> None:
    """Until the ISR has it, or until the request's timeout: then it is in the log all the same."""
    if partition.log.high_watermark <= appended.last_offset:
        timeout_ms = max(0, request.body.timeout // milliseconds(1))
        outcome.code = ErrorCode.request_timed_out
        outcome.ready_ns = request.now_ns + timeout_ms * NS_PER_MS


def _message(state: ClusterState, request: Request, outcomes: list[tuple[Any, list[_Outcome]]]) -> Any:
    version = request.version
    make = maker(Api.PRODUCE, version, "TopicProduceResponse")
    topics = tuple(
        make(
            name=getattr(asked, "name", None),
            topic_id=getattr(asked, "topic_id", None) or UUID(int=0),
            partition_responses=tuple(_partition_response(version, outcome) for outcome in made),
        )
        for asked, made in outcomes
    )
    values: dict[str, Any] = {}
    if version >= _LEADERS_FROM_VERSION:
        values["node_endpoints"] = _endpoints(state, version, outcomes)
    return maker(Api.PRODUCE, version, "ProduceResponse")(
        responses=topics, throttle_time=milliseconds(request.throttle_ms), **values
    )


def _partition_response(version: int, outcome: _Outcome) -> Any:
    values: dict[str, Any] = {
        "index": outcome.index,
        "error_code": outcome.code,
        "base_offset": outcome.base_offset,
        "log_append_time": timestamp(outcome.timestamp_ms),
        "log_start_offset": outcome.log_start_offset,
        "record_errors": (),
    }
    if outcome.code is not _OK:
        _explain(version, outcome, values)
    return maker(Api.PRODUCE, version, "PartitionProduceResponse")(**values)


def _explain(version: int, outcome: _Outcome, values: dict[str, Any]) -> None:
    values["error_message"] = outcome.message
    if outcome.record_errors and version >= _RECORD_ERRORS_FROM_VERSION:
        entry = maker(Api.PRODUCE, version, "BatchIndexAndErrorMessage")
        values["record_errors"] = tuple(
            entry(batch_index=index, batch_index_error_message=text) for index, text in outcome.record_errors
        )
    if outcome.leader is not None and version >= _LEADERS_FROM_VERSION:
        leader_id, leader_epoch = outcome.leader
        leader = maker(Api.PRODUCE, version, "LeaderIdAndEpoch")
        values["current_leader"] = leader(leader_id=leader_id, leader_epoch=leader_epoch)


def _endpoints(state: ClusterState, version: int, outcomes: list[tuple[Any, list[_Outcome]]]) -> Any:
    """The addresses of the leaders that are named, each once, of those that are alive."""
    leaders = {outcome.leader[0] for _, made in outcomes for outcome in made if outcome.leader}
    if not leaders:
        return ()
    entry = maker(Api.PRODUCE, version, "NodeEndpoint")
    nodes = [state.nodes[node_id] for node_id in sorted(leaders) if node_id in state.nodes]
    return tuple(
        entry(node_id=node.node_id, host=node.address[0], port=node.address[1])
        for node in nodes
        if node.is_alive
    )
