"""Produce: each partition's batch is accepted or rejected separately. The response waits for all of them.

If a request lists a partition twice, the response contains it once, and only the last batch for it is appended. With
acks=0 there is no response, and an error closes the connection, which is the only way to signal it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import Waiting
from harness.brokers.scripted.answer import NS_PER_MS, Answer, Closed, Request, milliseconds, timestamp
from harness.brokers.scripted.apis.transactional_produce import (
    RETRY_BACKOFF_MAX_NS,
    RETRY_BACKOFF_NS,
    Offered,
    Refused,
    Transactional,
    is_transient,
    transactional,
    translated,
    verify,
)
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.state import ClusterState, InjectedError
from harness.brokers.scripted.topics import INTERNAL_TOPICS, Partition, Topic
from harness.brokers.scripted.validation import first_batch_bytes, only_batch
from harness.wire.apis import Api
from harness.wire.messages import encode_response
from harness.wire.records.model import MAGIC, TRANSACTIONAL

_NO_ID: Final = UUID(int=0)
_OK, _NOT_LEADER = ErrorCode.none, ErrorCode.not_leader_or_follower
_ALL, _NONE = -1, 0
_IDS_FROM_VERSION: Final = 13
_LEADERS_FROM_VERSION: Final = 10
_RECORD_ERRORS_FROM_VERSION: Final = 8
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22
#: Errors that the broker reports without the log's start offset.
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
    """A request's data for one partition. ``refused`` is the response even if another batch was valid."""

    index: int
    batch: bytes | None = None
    refused: RequestRefused | None = None


@dataclass(slots=True)
class _Outcome:
    """The result for one partition of a request."""

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
    """Handle the request. Raises Closed for an error with acks=0."""
    error = state.take_error(Api.PRODUCE, _indexes(request.body)) if state.injected else None
    topics, whole = _by_topic(state, request.body, request.version)
    produce = _Produce(state, error, topics, whole)
    found: Transactional | None = None
    if request.body.transactional_id is not None and not whole and not _is_refused_early(error):
        try:
            found = transactional(request, produce.offered(request.version))
        except RequestRefused as refused:
            produce.whole = refused.code
    if found is None:
        return produce.answer(request, {})
    verified = verify(state, request.node_id, found)
    if is_transient(found, verified) and request.body.acks != _NONE:
        return _try_again(request, produce, found)
    return produce.answer(request, translated(found, verified))


def _is_refused_early(error: InjectedError | None) -> bool:
    """Return whether an injected error is the answer for all partitions, and nothing else is done."""
    return error is not None and error.partition is None and not error.after_append


def _try_again(request: Request, produce: _Produce, found: Transactional) -> Answer:
    """Answer when the transaction before has ended, or when it has been waited for long enough."""
    agenda = produce.state.agenda
    waiting = Waiting(agenda, request.node_id)
    begun_ns = agenda.now_ns

    def attempt(now_ns: int) -> None:
        verified = verify(produce.state, request.node_id, found)
        if is_transient(found, verified) and now_ns - begun_ns < RETRY_BACKOFF_MAX_NS:
            agenda.at(now_ns + RETRY_BACKOFF_NS, attempt, request.node_id)
            return
        now_ms = produce.state.now_ms
        answer = produce.answer(replace(request, now_ns=now_ns, now_ms=now_ms), translated(found, verified))
        assert answer.frame is not None
        waiting.complete(answer.frame, answer.at_ns)

    agenda.at(begun_ns + RETRY_BACKOFF_NS, attempt, request.node_id)
    return Answer(None, request.now_ns, waiting=waiting)


@dataclass(slots=True)
class _Produce:
    """A request by topics and partitions. ``whole`` is the error of all partitions."""

    state: ClusterState
    error: InjectedError | None
    topics: list[tuple[Any, _Parts]]
    whole: ErrorCode

    def offered(self, version: int) -> Iterator[Offered]:
        """Yield the batches for partitions that exist."""
        for asked, parts in self.topics:
            topic, _ = _topic(self.state, asked, version)
            for brought in parts.values():
                if topic is None or brought.batch is None or brought.refused is not None:
                    continue
                if 0 <= brought.index < len(topic.partitions):
                    yield Offered(topic, topic.partitions[brought.index], brought.batch)

    def answer(self, request: Request, verified: Refused) -> Answer:
        """Append what may be appended, and answer. Raises Closed for an error with acks=0."""
        outcomes: list[tuple[Any, list[_Outcome]]] = []
        ready_ns = request.now_ns
        for asked, parts in self.topics:
            topic, absent = _topic(self.state, asked, request.version)
            made = []
            for brought in parts.values():
                whole = self.whole
                if topic is not None and whole is _OK:
                    whole = verified.get((topic.name, brought.index), _OK)
                outcome = _outcome(request, topic, absent, brought, self.error, whole)
                ready_ns = max(ready_ns, outcome.ready_ns)
                made.append(outcome)
            outcomes.append((asked, made))
        self.state.stir()
        if request.body.acks == _NONE:
            failed = [outcome.code.name for _, made in outcomes for outcome in made if outcome.code]
            if failed:
                raise Closed(f"acks=0 and {', '.join(failed)}")
            return Answer(None, ready_ns)
        message = _message(self.state, request, outcomes)
        return Answer(encode_response(message, request.header.correlation_id), ready_ns)


_Parts = dict[int, _Brought]


def _by_topic(state: ClusterState, body: Any, version: int) -> tuple[list[tuple[Any, _Parts]], ErrorCode]:
    """Return each topic once with each of its partitions once, and the error that applies to all partitions.

    A batch that no partition would accept is already rejected here. An error for all partitions arises because the
    broker's search for transactional batches ends at the first malformed batch.
    """
    topics: dict[Any, tuple[Any, _Parts]] = {}
    transactional_id, denied = body.transactional_id, state.settings.denied_transactional_ids
    is_denied = transactional_id is None or transactional_id in denied
    whole: ErrorCode | None = None
    for asked in body.topic_data:
        _, parts = topics.setdefault(
            asked.topic_id if version >= _IDS_FROM_VERSION else asked.name, (asked, {})
        )
        for part in asked.partition_data:
            brought = parts.get(part.index)
            if brought is None:
                brought = parts[part.index] = _Brought(part.index)
            found = _bring(brought, part.records, version, is_denied=is_denied)
            whole = found if whole is None else whole
    return list(topics.values()), _OK if whole is None else whole


def _bring(brought: _Brought, records: bytes | None, version: int, *, is_denied: bool) -> ErrorCode | None:
    """Add one batch for a partition. Return the error code that it implies for the whole request, or None."""
    try:
        size_bytes = first_batch_bytes(records)
    except RequestRefused as refused:
        brought.refused = refused
        return refused.code
    try:
        brought.batch = only_batch(records, size_bytes, version)
    except RequestRefused as refused:
        brought.refused = refused
    # A shorter batch does not have this bit, and neither does one of an older format.
    if not records or size_bytes <= _ATTRIBUTES_AT or records[_MAGIC_AT] != MAGIC:
        return None
    if not records[_ATTRIBUTES_AT] & TRANSACTIONAL:
        return None
    return ErrorCode.transactional_id_authorization_failed if is_denied else _OK


def _indexes(body: Any) -> frozenset[int]:
    return frozenset(int(part.index) for topic in body.topic_data for part in topic.partition_data)


def _topic(state: ClusterState, asked: Any, version: int) -> tuple[Topic | None, ErrorCode]:
    """Return the topic, or the error code for its absence."""
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
    """Set the current leader (KIP-951, MET-09)."""
    if 0 <= outcome.index < len(topic.partitions):
        partition = topic.partitions[outcome.index]
        outcome.leader = (partition.leader, partition.leader_epoch)


def _append(request: Request, topic: Topic, partition: Partition, batch: bytes, outcome: _Outcome) -> None:
    is_at_log = False
    try:
        is_at_log = may_append(request, topic, partition)
        appended = partition.log.append(batch, topic.config, partition.leader_epoch, request.now_ms)
    except RequestRefused as refused:
        outcome.code, outcome.message = refused.code, refused.message
        outcome.record_errors = refused.record_errors
        is_at_log = is_at_log or refused.code is ErrorCode.not_enough_replicas
        if is_at_log and refused.code not in _WITHOUT_LOG_START:
            outcome.log_start_offset = partition.log.log_start_offset
        return
    partition.advance(topic.config)
    outcome.base_offset, _, outcome.timestamp_ms = appended
    outcome.log_start_offset = partition.log.log_start_offset
    if request.body.acks == _ALL and partition.log.high_watermark <= appended.last_offset:
        _wait(request, outcome)


def may_append(request: Request, topic: Topic, partition: Partition) -> bool:
    """Return True, or raise Refused: the checks that precede those of the log."""
    acks = request.body.acks
    if acks not in (_ALL, 0, 1):
        raise RequestRefused(ErrorCode.invalid_required_acks)
    if topic.name in INTERNAL_TOPICS:
        raise RequestRefused(ErrorCode.invalid_topic_exception)
    if partition.leader != request.node_id:
        raise RequestRefused(ErrorCode.not_leader_or_follower)
    if acks == _ALL and len(partition.isr) < partition.effective_min_isr(topic.config):
        raise RequestRefused(ErrorCode.not_enough_replicas)
    return True


def _wait(request: Request, outcome: _Outcome) -> None:
    """Delay the response until the request's timeout. The batch is in the log nevertheless."""
    timeout_ms = max(0, request.body.timeout // milliseconds(1))
    outcome.code = ErrorCode.request_timed_out
    outcome.ready_ns = request.now_ns + timeout_ms * NS_PER_MS


def _message(state: ClusterState, request: Request, outcomes: list[tuple[Any, list[_Outcome]]]) -> Any:
    version = request.version
    make = maker(Api.PRODUCE, version, "TopicProduceResponse")
    topics = tuple(
        [
            make(
                name=getattr(asked, "name", None),
                topic_id=getattr(asked, "topic_id", None) or _NO_ID,
                partition_responses=tuple([_partition_response(version, outcome) for outcome in made]),
            )
            for asked, made in outcomes
        ]
    )
    values: dict[str, Any] = {}
    if version >= _LEADERS_FROM_VERSION:
        leaders = [outcome.leader[0] for _, made in outcomes for outcome in made if outcome.leader]
        values["node_endpoints"] = _endpoints(state, version, leaders) if leaders else ()
    return maker(Api.PRODUCE, version, "ProduceResponse")(
        responses=topics, throttle_time=milliseconds(request.throttle_ms), **values
    )


def _partition_response(version: int, outcome: _Outcome) -> Any:
    values: dict[str, Any] = {} if outcome.code is _OK else _explained(version, outcome)
    return maker(Api.PRODUCE, version, "PartitionProduceResponse")(
        index=outcome.index,
        error_code=outcome.code,
        base_offset=outcome.base_offset,
        log_append_time=timestamp(outcome.timestamp_ms),
        log_start_offset=outcome.log_start_offset,
        record_errors=values.pop("record_errors", ()),
        **values,
    )


def _explained(version: int, outcome: _Outcome) -> dict[str, Any]:
    values: dict[str, Any] = {"error_message": outcome.message}
    if outcome.record_errors and version >= _RECORD_ERRORS_FROM_VERSION:
        entry = maker(Api.PRODUCE, version, "BatchIndexAndErrorMessage")
        values["record_errors"] = tuple(
            entry(batch_index=index, batch_index_error_message=text) for index, text in outcome.record_errors
        )
    if outcome.leader is not None and version >= _LEADERS_FROM_VERSION:
        leader_id, leader_epoch = outcome.leader
        leader = maker(Api.PRODUCE, version, "LeaderIdAndEpoch")
        values["current_leader"] = leader(leader_id=leader_id, leader_epoch=leader_epoch)
    return values


def _endpoints(state: ClusterState, version: int, leaders: list[int]) -> tuple[Any, ...]:
    """Return the addresses of the live nodes among ``leaders``, without duplicates."""
    entry = maker(Api.PRODUCE, version, "NodeEndpoint")
    nodes = [state.nodes[node_id] for node_id in sorted(set(leaders)) if node_id in state.nodes]
    return tuple(
        entry(node_id=node.node_id, host=node.address[0], port=node.address[1])
        for node in nodes
        if node.is_alive
    )
