"""OffsetFetch: the committed offsets of a group; of several groups from version 8 on (KIP-709)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request
from harness.brokers.scripted.apis.topics_asked import NO_ID, find_topic, topic_key
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.wire.apis import Api

_GROUPS_FROM_VERSION: Final = 8
_IDS_FROM_VERSION: Final = 10
_TOP_LEVEL_FROM_VERSION: Final = 2

_Part = tuple[int, ErrorCode, int, int, str]
"""A partition's index, error, offset, leader epoch and metadata."""
_Topics = list[tuple[UUID | str, list[_Part]]]


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. An error of a whole group comes without partitions, except in the oldest versions."""
    body, version, reply = request.body, request.version, Reply(state, request)
    if version >= _GROUPS_FROM_VERSION:
        entry = maker(Api.OFFSET_FETCH, version, "OffsetFetchResponseGroup")
        found = [(asked.group_id, *_fetch(state, request, asked)) for asked in body.groups]
        reply.send(
            groups=tuple(
                entry(group_id=group_id, error_code=code, topics=_made(state, version, topics, "s"))
                for group_id, code, topics in found
            )
        )
        return reply.answer()
    code, topics = _fetch(state, request, body)
    if code is not ErrorCode.none and version < _TOP_LEVEL_FROM_VERSION:
        topics = _all(body, code)
    reply.send(error_code=code, topics=_made(state, version, topics, ""))
    return reply.answer()


def _fetch(state: ClusterState, request: Request, asked: Any) -> tuple[ErrorCode, _Topics]:
    groups = state.groups
    try:
        groups.admit(request, asked.group_id, may_be_empty=True)
        group = groups.find(request.node_id, asked.group_id)
        _check_member(state, request, asked)
    except RequestRefused as refused:
        if refused.code is ErrorCode.unstable_offset_commit:
            return ErrorCode.none, _all(asked, refused.code)
        return refused.code, []
    groups.expire_offsets(asked.group_id, group, request.now_ms)
    require_stable = bool(getattr(request.body, "require_stable", False))
    if asked.topics is None:
        names: dict[UUID | str, list[int]] = {}
        for name, index in groups.offsets.of(asked.group_id):
            topic = state.topics.get(name)
            if name not in state.settings.denied_topics:
                is_by_id = request.version >= _IDS_FROM_VERSION and topic is not None
                names.setdefault(topic.topic_id if is_by_id and topic is not None else name, []).append(index)
        wanted: Iterable[tuple[UUID | str, Iterable[int]]] = names.items()
    else:
        wanted = [(topic_key(each), each.partition_indexes) for each in asked.topics]
    return ErrorCode.none, [
        (key, [_part(state, asked.group_id, key, index, require_stable) for index in indexes])
        for key, indexes in wanted
    ]


def _all(asked: Any, code: ErrorCode) -> _Topics:
    """Return an error for each partition that was asked for."""
    return [
        (topic_key(each), [(index, code, -1, -1, "") for index in each.partition_indexes])
        for each in asked.topics or ()
    ]


def _check_member(state: ClusterState, request: Request, asked: Any) -> None:
    """Raise RequestRefused for a member of KIP-848 that is unknown, or whose epoch is not the current one."""
    member_id, epoch = getattr(asked, "member_id", None), getattr(asked, "member_epoch", -1)
    if asked.group_id not in state.groups.consumer or (member_id is None and epoch < 0):
        return
    group = state.groups.find_consumer(request.node_id, asked.group_id, create=False)
    member = group.members.get(member_id or "")
    if member is None:
        raise RequestRefused(ErrorCode.unknown_member_id)
    if member.epoch != epoch:
        is_classic = member.classic is not None
        raise RequestRefused(ErrorCode.illegal_generation if is_classic else ErrorCode.stale_member_epoch)


def _part(state: ClusterState, group_id: str, key: UUID | str, index: int, require_stable: bool) -> _Part:
    offsets, name = state.groups.offsets, key if isinstance(key, str) else ""
    try:
        if isinstance(key, UUID):
            name = find_topic(state, key).name
        elif name in state.settings.denied_topics:
            raise RequestRefused(ErrorCode.topic_authorization_failed)
        if require_stable and offsets.is_unstable(group_id, (name, index)):
            raise RequestRefused(ErrorCode.unstable_offset_commit)
    except RequestRefused as refused:
        return index, refused.code, -1, -1, ""
    found = offsets.of(group_id).get((name, index))
    if found is None:
        return index, ErrorCode.none, -1, -1, ""
    return index, ErrorCode.none, found.offset, found.leader_epoch, found.metadata


def _made(state: ClusterState, version: int, topics: _Topics, plural: str) -> tuple[Any, ...]:
    named = maker(Api.OFFSET_FETCH, version, f"OffsetFetchResponseTopic{plural}")
    entry = maker(Api.OFFSET_FETCH, version, f"OffsetFetchResponsePartition{plural}")
    return tuple(
        named(
            name=key if isinstance(key, str) else "",
            topic_id=key if isinstance(key, UUID) else NO_ID,
            partitions=tuple(
                entry(
                    partition_index=index,
                    error_code=code,
                    committed_offset=offset,
                    committed_leader_epoch=epoch,
                    metadata=metadata,
                )
                for index, code, offset, epoch, metadata in parts
            ),
        )
        for key, parts in topics
    )
