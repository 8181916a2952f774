"""TxnOffsetCommit: a producer commits the offsets that a group has consumed, together with its transaction.

The coordinator of the group stores them as pending. Since KIP-447 it also checks the group's member on whose behalf
they are committed, so that a member that was replaced cannot commit any more.
"""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.apis.coordinators import OFFSETS_TOPIC, offsets_partition
from harness.brokers.scripted.apis.offset_commit import (
    Committer,
    find_group,
    is_too_long,
    validate_classic,
    validate_consumer,
)
from harness.brokers.scripted.apis.topics_asked import find_partition, find_topic
from harness.brokers.scripted.groups.offsets import Committed
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.transactions.admission import First, Support, Writer, admit
from harness.wire.apis import Api
from harness.wire.records import NO_SEQUENCE

_LOADING_FROM_VERSION: Final = 2
_GENERIC_FROM_VERSION: Final = 4
_ADDS_FROM_VERSION: Final = 5
#: Errors that a client of this API learns as others.
_TRANSLATED: Final = {
    ErrorCode.network_exception: ErrorCode.coordinator_load_in_progress,
    ErrorCode.stale_member_epoch: ErrorCode.illegal_generation,
    ErrorCode.group_id_not_found: ErrorCode.illegal_generation,
}
_Place = tuple[str, int]


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. Unknown partitions have errors of their own; an error of the group is that of all others."""
    body, version, reply = request.body, request.version, Reply(state, request)
    codes: dict[_Place, ErrorCode] = {}
    valid: list[tuple[_Place, UUID, Any]] = []
    refused_all = _refused_before(state, request)
    for asked in body.topics:
        for part in asked.partitions:
            place = str(asked.name), int(part.partition_index)
            try:
                if refused_all is not None:
                    raise RequestRefused(refused_all)
                topic = find_topic(state, place[0])
                find_partition(topic, place[1])
                valid.append((place, topic.topic_id, part))
            except RequestRefused as refused:
                codes[place] = refused.code
    if valid:
        codes |= _commit(state, request, valid)
    named = maker(Api.TXN_OFFSET_COMMIT, version, "TxnOffsetCommitResponseTopic")
    entry = maker(Api.TXN_OFFSET_COMMIT, version, "TxnOffsetCommitResponsePartition")
    reply.send(
        topics=tuple(
            named(
                name=asked.name,
                partitions=tuple(
                    entry(
                        partition_index=part.partition_index,
                        error_code=codes[str(asked.name), int(part.partition_index)],
                    )
                    for part in asked.partitions
                ),
            )
            for asked in body.topics
        )
    )
    return reply.answer()


def _refused_before(state: ClusterState, request: Request) -> ErrorCode | None:
    error = state.take_error(Api.TXN_OFFSET_COMMIT) if state.injected else None
    if error is not None:
        return error.code
    if request.body.transactional_id in state.settings.denied_transactional_ids:
        return ErrorCode.transactional_id_authorization_failed
    denied = request.body.group_id in state.settings.denied_groups
    return ErrorCode.group_authorization_failed if denied else None


def _commit(
    state: ClusterState, request: Request, valid: list[tuple[_Place, UUID, Any]]
) -> dict[_Place, ErrorCode]:
    """Store what is valid, and return the code of each partition."""
    body = request.body
    offsets = {
        place: Committed(
            part.committed_offset,
            getattr(part, "committed_leader_epoch", -1),
            part.committed_metadata or "",
            request.now_ms,
        )
        for place, _, part in valid
        if not is_too_long(state, part)
    }
    producer = body.producer_id, body.producer_epoch
    index = offsets_partition(state, body.group_id)
    try:
        _check(state, request, valid)
        state.groups.offsets.commit_pending(index, body.group_id, producer, offsets, request.now_ms)
    except RequestRefused as refused:
        code = _TRANSLATED.get(refused.code, refused.code)
        if code is ErrorCode.coordinator_load_in_progress and request.version < _LOADING_FROM_VERSION:
            code = ErrorCode.coordinator_not_available
        return {place: code for place, _, _ in valid}
    return {
        place: ErrorCode.none if place in offsets else ErrorCode.offset_metadata_too_large
        for place, _, _ in valid
    }


def _check(state: ClusterState, request: Request, valid: list[tuple[_Place, UUID, Any]]) -> None:
    """Raise RequestRefused unless the producer and the member may commit."""
    body, groups = request.body, state.groups
    if not body.group_id:
        raise RequestRefused(ErrorCode.invalid_group_id)
    groups.check_coordinator(request.node_id, body.group_id)
    index = offsets_partition(state, body.group_id)
    place = OFFSETS_TOPIC, index
    first = First(groups.offsets.log(index).producer_state, NO_SEQUENCE)
    writer = Writer(body.transactional_id, body.producer_id, body.producer_epoch)
    refused = admit(state, request.node_id, writer, {place: first}, _support(request.version))
    if refused:
        raise RequestRefused(refused[place])
    who = Committer(
        body.group_id,
        getattr(body, "member_id", ""),
        getattr(body, "group_instance_id", None),
        getattr(body, "generation_id", -1),
        is_transactional=True,
    )
    if body.group_id in groups.consumer:
        validate_consumer(state, request, who, [(topic_id, part) for _, topic_id, part in valid])
        return
    validate_classic(find_group(state, request, who), who)


def _support(version: int) -> Support:
    if version >= _ADDS_FROM_VERSION:
        return Support.ADD_PARTITION
    return Support.GENERIC_ERROR if version >= _GENERIC_FROM_VERSION else Support.DEFAULT_ERROR
