"""AddPartitionsToTxn: a producer adds partitions to its transaction; the first ones begin it.

From version 4 on it is a request of brokers, with many transactions, which it may also only verify.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.producer_state import BUMPS_FROM_VERSION
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.topics import INTERNAL_TOPICS
from harness.brokers.scripted.transactions.metadata import TopicPartition
from harness.wire.apis import Api

_FENCED_FROM_VERSION: Final = 2
_BATCHED_FROM_VERSION: Final = 4
_Codes = dict[TopicPartition, ErrorCode]


class _Asked(NamedTuple):
    """One transaction in a request."""

    transactional_id: str
    producer: tuple[int, int]
    partitions: list[TopicPartition]
    verify_only: bool


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. If one partition of a transaction cannot be added, none is."""
    body, version, reply = request.body, request.version, Reply(state, request)
    error = state.take_error(Api.ADD_PARTITIONS_TO_TXN) if state.injected else None
    if version < _BATCHED_FROM_VERSION:
        asked = _Asked(
            body.v3_and_below_transactional_id,
            (body.v3_and_below_producer_id, body.v3_and_below_producer_epoch),
            _partitions(body.v3_and_below_topics),
            verify_only=False,
        )
        codes = _add(state, request, asked, error.code if error else None)
        reply.send(results_by_topic_v3_and_below=_results(version, codes))
        return reply.answer()
    entry = maker(Api.ADD_PARTITIONS_TO_TXN, version, "AddPartitionsToTxnResult")
    found = []
    for each in body.transactions:
        asked = _Asked(
            each.transactional_id,
            (each.producer_id, each.producer_epoch),
            _partitions(each.topics),
            each.verify_only,
        )
        codes = _add(state, request, asked, error.code if error else None)
        found.append(entry(transactional_id=asked.transactional_id, topic_results=_results(version, codes)))
    reply.send(error_code=ErrorCode.none, results_by_transaction=tuple(found))
    return reply.answer()


def _partitions(topics: Any) -> list[TopicPartition]:
    return list(
        dict.fromkeys((str(topic.name), int(index)) for topic in topics for index in topic.partitions)
    )


def _add(state: ClusterState, request: Request, asked: _Asked, error: ErrorCode | None) -> _Codes:
    version = request.version
    if error is not None:
        return dict.fromkeys(asked.partitions, error)
    is_denied = asked.transactional_id in state.settings.denied_transactional_ids
    if version < _BATCHED_FROM_VERSION and is_denied:
        return dict.fromkeys(asked.partitions, ErrorCode.transactional_id_authorization_failed)
    refused = _refused(state, version, asked.partitions)
    if refused:
        return {each: refused.get(each, ErrorCode.operation_not_attempted) for each in asked.partitions}
    transactions, identity = state.transactions, (request.node_id, asked.transactional_id, asked.producer)
    try:
        if asked.verify_only:
            return transactions.verify_partitions(*identity, asked.partitions)
        client = BUMPS_FROM_VERSION if version >= _BATCHED_FROM_VERSION else 0
        transactions.add_partitions(*identity, asked.partitions, client)
    except RequestRefused as late:
        is_old = version < _FENCED_FROM_VERSION and late.code is ErrorCode.producer_fenced
        code = ErrorCode.invalid_producer_epoch if is_old else late.code
        return dict.fromkeys(asked.partitions, code)
    return dict.fromkeys(asked.partitions, ErrorCode.none)


def _refused(state: ClusterState, version: int, partitions: list[TopicPartition]) -> _Codes:
    """Return the errors of the partitions that the client may not write to, or that do not exist."""
    codes: _Codes = {}
    for name, index in partitions:
        topic = state.topics.get(name)
        is_denied = name in state.settings.denied_topics or name in INTERNAL_TOPICS
        if version < _BATCHED_FROM_VERSION and is_denied:
            codes[name, index] = ErrorCode.topic_authorization_failed
        elif topic is None or not 0 <= index < len(topic.partitions):
            codes[name, index] = ErrorCode.unknown_topic_or_partition
    return codes


def _results(version: int, codes: _Codes) -> tuple[Any, ...]:
    named = maker(Api.ADD_PARTITIONS_TO_TXN, version, "AddPartitionsToTxnTopicResult")
    entry = maker(Api.ADD_PARTITIONS_TO_TXN, version, "AddPartitionsToTxnPartitionResult")
    return tuple(
        named(
            name=topic,
            results_by_partition=tuple(
                entry(partition_index=index, partition_error_code=code)
                for (name, index), code in codes.items()
                if name == topic
            ),
        )
        for topic in dict.fromkeys(name for name, _ in codes)
    )
