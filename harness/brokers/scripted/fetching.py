"""Reading partitions for a Fetch: limits, isolation, and what every partition says (``ReplicaManager#readFromLog``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.fetch_sessions import CachedPartition, PartitionKey
from harness.brokers.scripted.leader_epochs import UNDEFINED, EpochEnd
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replica_access import check_replica, preferred_replica
from harness.brokers.scripted.state import ClusterState, InjectedError
from harness.brokers.scripted.topics import Partition
from harness.brokers.scripted.transaction_index import AbortedTransaction

_NO_EPOCH: Final = -1
#: ``fetch.max.bytes`` of the brokers.
BROKER_MAX_BYTES: Final = 55 * 1024 * 1024


@dataclass(slots=True)
class FetchParams:
    """What a request says about all of its partitions."""

    node_id: int
    min_bytes: int
    max_bytes: int
    read_committed: bool
    rack: str
    only_leader: bool


@dataclass(slots=True)
class Target:
    """A partition to read. ``cached`` is that of the session, or one for this request only.

    ``was_found`` is whether it existed when the request arrived, and ``waits_at`` the offset at which it then waits.
    """

    key: PartitionKey
    cached: CachedPartition
    was_found: bool = False
    waits_at: int | None = None


@dataclass(slots=True)
class Result:
    """What one partition answers. ``urgent`` results end the wait of the request."""

    key: PartitionKey
    code: ErrorCode = ErrorCode.none
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: Sequence[AbortedTransaction] | None = None
    records: bytes = b""
    preferred_replica: int = -1
    diverging: EpochEnd | None = None

    @property
    def is_urgent(self) -> bool:
        """True if it is part of every response: an error, another replica, or a log that diverges."""
        return self.code is not ErrorCode.none or self.preferred_replica >= 0 or self.diverging is not None


def resolve(state: ClusterState, target: Target) -> Partition:
    """Return the partition of a target. Raises RequestRefused if there is none."""
    (topic_key, index), cached = target.key, target.cached
    if cached.name is None:
        cached.name = _name(state, topic_key)
    if cached.name is None:
        raise RequestRefused(ErrorCode.unknown_topic_id)
    if cached.name in state.settings.denied_topics:
        raise RequestRefused(ErrorCode.topic_authorization_failed)
    topic = state.topics.get(cached.name)
    if topic is None or not 0 <= index < len(topic.partitions):
        raise RequestRefused(ErrorCode.unknown_topic_or_partition)
    return topic.partitions[index]


def _check_topic_id(state: ClusterState, target: Target) -> None:
    """Raise RequestRefused if a session knows the topic's name by an id that another topic of that name has now."""
    topic_key, name = target.key[0], target.cached.name
    if isinstance(topic_key, UUID) and name is not None and state.topics[name].topic_id != topic_key:
        raise RequestRefused(ErrorCode.inconsistent_topic_id)


def _name(state: ClusterState, topic_key: UUID | str) -> str | None:
    if isinstance(topic_key, str):
        return topic_key
    topic = state.topics_by_id.get(topic_key)
    return None if topic is None else topic.name


def read_all(
    state: ClusterState, params: FetchParams, targets: Iterable[Target], error: InjectedError | None
) -> list[Result]:
    """Read every target within the limits of the request. The first batch that is found is never cut off."""
    limit_bytes, at_least_one = params.max_bytes, True
    results, absent = [], []
    for target in targets:
        try:
            if error is not None and error.partition in (None, target.key[1]):
                raise RequestRefused(error.code)
            partition = resolve(state, target)
        except RequestRefused as refused:
            if target.was_found:
                results.append(Result(target.key, refused.code))
            else:
                absent.append(Result(target.key, refused.code, aborted=()))
            continue
        target.was_found = True
        try:
            _check_topic_id(state, target)
            result = _read(state, params, target, partition, limit_bytes, at_least_one)
        except RequestRefused as refused:
            result = Result(target.key, refused.code)
        if result.records:
            at_least_one = False
            limit_bytes = max(0, limit_bytes - len(result.records))
        results.append(result)
    return results + absent


def _read(
    state: ClusterState,
    params: FetchParams,
    target: Target,
    partition: Partition,
    limit_bytes: int,
    at_least_one: bool,
) -> Result:
    wanted, log = target.cached.wanted, partition.log
    offset, epoch = wanted.fetch_offset, wanted.current_leader_epoch
    result = Result(target.key)
    preferred = preferred_replica(state, partition, params.node_id, params.rack, offset)
    check_replica(partition, params.node_id, epoch, only_leader=preferred is None and params.only_leader)
    result.high_watermark, result.log_start_offset = log.high_watermark, log.log_start_offset
    result.last_stable_offset = log.last_stable_offset
    if preferred is not None:
        result.preferred_replica = preferred
        return result
    if wanted.last_fetched_epoch != _NO_EPOCH:
        result.diverging = _divergence(partition, wanted.last_fetched_epoch, offset)
        if result.diverging is not None:
            return result
    if not log.log_start_offset <= offset <= log.log_end_offset:
        raise RequestRefused(ErrorCode.offset_out_of_range)
    if target.waits_at is None:
        target.waits_at = log.batch_start(offset) if state.release.waits_at_batch else offset
    end = result.last_stable_offset if params.read_committed else log.high_watermark
    if params.read_committed:
        result.aborted = ()
    if offset < end:
        most_bytes = min(wanted.max_bytes, limit_bytes)
        piece = log.read(offset, end, most_bytes, at_least_one=at_least_one)
        result.records = b"" if piece.is_cut else piece.data
        if piece.is_cut:
            result.aborted = None
        elif params.read_committed:
            result.aborted = log.transactions.between(offset, piece.upper_offset)
    return result


def _divergence(partition: Partition, last_fetched_epoch: int, offset: int) -> EpochEnd | None:
    log = partition.log
    end = log.epochs.end_of(last_fetched_epoch, log.log_end_offset)
    if end == UNDEFINED or offset < log.log_start_offset:
        raise RequestRefused(ErrorCode.offset_out_of_range)
    return end if end.epoch < last_fetched_epoch or end.end_offset < offset else None


def is_satisfied(state: ClusterState, params: FetchParams, targets: Iterable[Target]) -> bool:
    """Return whether a waiting request has to be answered: enough bytes, or a partition that it cannot read."""
    readable_bytes = 0
    for target in targets:
        wanted = target.cached.wanted
        waits_at = wanted.fetch_offset if target.waits_at is None else target.waits_at
        try:
            partition = resolve(state, target)
            _check_topic_id(state, target)
            check_replica(
                partition, params.node_id, wanted.current_leader_epoch, only_leader=params.only_leader
            )
        except RequestRefused:
            return True
        log = partition.log
        end = log.last_stable_offset if params.read_committed else log.high_watermark
        if waits_at > end:
            return True
        if waits_at < end:
            readable_bytes += min(log.bytes_between(waits_at, end), wanted.max_bytes)
    return readable_bytes >= params.min_bytes
