"""ListOffsets: the earliest and latest offset, that of the greatest timestamp, or the first one from a timestamp on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.apis.topics_asked import find_partition, find_topic
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.partition_log import PartitionLog, StoredBatch
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replica_access import check_replica
from harness.brokers.scripted.state import ClusterState, InjectedError
from harness.brokers.scripted.topics import Partition
from harness.wire.apis import Api
from harness.wire.messages import encode_response
from harness.wire.records.model import LOG_APPEND_TIME

_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED, _PENDING_UPLOAD = range(-1, -7, -1)
#: The version from which on each special timestamp is known.
_KNOWN_FROM: Final = {
    _LATEST: 1,
    _EARLIEST: 1,
    _MAX_TIMESTAMP: 7,
    _EARLIEST_LOCAL: 8,
    _LATEST_TIERED: 9,
    _PENDING_UPLOAD: 11,
}
_CONSUMER, _DEBUGGER = -1, -2
_READ_COMMITTED: Final = 1
_NOT_AVAILABLE_FROM_VERSION: Final = 5


class Found(NamedTuple):
    """An offset with its timestamp and leader epoch. -1 means that there is none."""

    timestamp_ms: int = -1
    offset: int = -1
    leader_epoch: int = -1


_NOTHING: Final = Found()


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. Each partition has its own error."""
    body, version = request.body, request.version
    indexes = frozenset(int(part.partition_index) for topic in body.topics for part in topic.partitions)
    error = state.take_error(Api.LIST_OFFSETS, indexes) if state.injected else None
    counts = Counter((topic.name, part.partition_index) for topic in body.topics for part in topic.partitions)
    named = maker(Api.LIST_OFFSETS, version, "ListOffsetsTopicResponse")
    answered = [
        (
            topic.name,
            tuple(
                _answered(
                    state, request, topic.name, part, error, counts[topic.name, part.partition_index] > 1
                )
                for part in topic.partitions
            ),
        )
        for topic in body.topics
    ]
    if state.release.names_topics_once:
        answered = _merged(answered)
    topics = tuple(named(name=name, partitions=parts) for name, parts in answered)
    message = maker(Api.LIST_OFFSETS, version, "ListOffsetsResponse")(
        throttle_time=milliseconds(request.throttle_ms), topics=topics
    )
    return Answer(encode_response(message, request.header.correlation_id), request.now_ns)


def _merged(answered: Iterable[tuple[str, tuple[Any, ...]]]) -> list[tuple[str, tuple[Any, ...]]]:
    """Return each topic once, and of its partitions the last one of each index."""
    merged: dict[str, dict[int, Any]] = {}
    for name, parts in answered:
        merged.setdefault(name, {}).update((part.partition_index, part) for part in parts)
    return [(name, tuple(parts.values())) for name, parts in merged.items()]


def _answered(
    state: ClusterState, request: Request, topic: str, part: Any, error: InjectedError | None, is_double: bool
) -> Any:
    found, code = _NOTHING, ErrorCode.none
    try:
        if error is not None and error.partition in (None, part.partition_index):
            raise RequestRefused(error.code)
        if is_double:
            raise RequestRefused(ErrorCode.invalid_request)
        found = _look_up(state, request, topic, part)
    except RequestRefused as refused:
        code = refused.code
    return maker(Api.LIST_OFFSETS, request.version, "ListOffsetsPartitionResponse")(
        partition_index=part.partition_index,
        error_code=code,
        timestamp=found.timestamp_ms,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _look_up(state: ClusterState, request: Request, name: str, part: Any) -> Found:
    body, wanted_ms = request.body, part.timestamp
    topic = find_topic(state, name)
    if wanted_ms < 0 and request.version < _KNOWN_FROM.get(wanted_ms, 2**15):
        raise RequestRefused(ErrorCode.unsupported_version)
    partition = find_partition(topic, part.partition_index)
    check_replica(
        partition,
        request.node_id,
        getattr(part, "current_leader_epoch", -1),
        only_leader=body.replica_id != _DEBUGGER,
    )
    log = partition.log
    if body.replica_id != _CONSUMER:
        limit = log.log_end_offset
    elif getattr(body, "isolation_level", 0) == _READ_COMMITTED:
        limit = log.last_stable_offset
    else:
        limit = log.high_watermark
    if wanted_ms in (_EARLIEST, _EARLIEST_LOCAL):
        return Found(-1, log.log_start_offset, log.epochs.earliest(log.log_start_offset))
    found = _latest(partition, limit) if wanted_ms == _LATEST else _by_timestamp(log, wanted_ms)
    if wanted_ms == _LATEST or found is None or found.offset >= limit:
        _check_available(request, partition)
    if found is None or (wanted_ms != _LATEST and found.offset >= limit):
        return _NOTHING
    return found


def _latest(partition: Partition, limit: int) -> Found:
    return Found(-1, limit, partition.leader_epoch)


def _check_available(request: Request, partition: Partition) -> None:
    """Refuse as long as a new leader does not know what its predecessor had committed."""
    if request.body.replica_id != _CONSUMER or partition.epoch_start_offset <= partition.log.high_watermark:
        return
    is_known = request.version >= _NOT_AVAILABLE_FROM_VERSION
    raise RequestRefused(ErrorCode.offset_not_available if is_known else ErrorCode.leader_not_available)


def _by_timestamp(log: PartitionLog, wanted_ms: int) -> Found | None:
    if wanted_ms in (_LATEST_TIERED, _PENDING_UPLOAD):
        return _NOTHING  # no topic has tiered storage
    batches, start = log.batches, log.log_start_offset
    if wanted_ms == _MAX_TIMESTAMP:
        # Deleted records stay in their segment for a while, and Kafka finds them.
        batches, start = [*log.deleted, *log.batches], 0
        wanted_ms = max((batch.header.max_timestamp_ms for batch in batches), default=-1)
    for batch in batches:
        if batch.header.max_timestamp_ms >= wanted_ms:
            for offset, timestamp_ms in _timed(batch):
                if timestamp_ms >= wanted_ms and offset >= start:
                    epoch = int.from_bytes(batch.data[12:16], "big", signed=True)
                    return Found(timestamp_ms, offset, epoch)
    return None


def _timed(batch: StoredBatch) -> list[tuple[int, int]]:
    """Return the offset and the timestamp of each record."""
    header = batch.header
    is_stamped = header.attributes & LOG_APPEND_TIME
    return [
        (
            batch.base_offset + record[0],
            header.max_timestamp_ms if is_stamped else header.base_timestamp_ms + record[1],
        )
        for record in batch.records
    ]
