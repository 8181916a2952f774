"""OffsetCommit: a member, or a client outside of every group, stores the offsets to continue from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.apis.topics_asked import NO_ID, find_topic, topic_key
from harness.brokers.scripted.groups.classic_group import ClassicGroup, ClassicState
from harness.brokers.scripted.groups.offsets import Committed
from harness.brokers.scripted.messages import maker
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.replies import Reply
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.topics import Topic
from harness.wire.apis import Api

_NOT_FOUND_FROM_VERSION: Final = 9
_BROKERS_RETENTION_MS: Final = -1
_NO_GENERATION: Final = -1


def handle(state: ClusterState, request: Request) -> Answer:
    """Handle the request. Unknown partitions have errors of their own; an error of the group is that of all others."""
    body, version, reply = request.body, request.version, Reply(state, request)
    codes: dict[tuple[int, int], ErrorCode] = {}
    valid: list[tuple[int, int, Topic, Any]] = []
    refused_all = _refused_before(state, request)
    for at, asked in enumerate(body.topics):
        for position, part in enumerate(asked.partitions):
            try:
                if refused_all is not None:
                    raise RequestRefused(refused_all)
                topic = find_topic(state, topic_key(asked))
                if not 0 <= part.partition_index < len(topic.partitions):
                    raise RequestRefused(ErrorCode.unknown_topic_or_partition)
                valid.append((at, position, topic, part))
            except RequestRefused as refused:
                codes[at, position] = refused.code
    if valid:
        _commit(state, request, valid, codes)
    named = maker(Api.OFFSET_COMMIT, version, "OffsetCommitResponseTopic")
    entry = maker(Api.OFFSET_COMMIT, version, "OffsetCommitResponsePartition")
    reply.send(
        topics=tuple(
            named(
                name=getattr(asked, "name", ""),
                topic_id=getattr(asked, "topic_id", None) or NO_ID,
                partitions=tuple(
                    entry(partition_index=part.partition_index, error_code=codes[at, position])
                    for position, part in enumerate(asked.partitions)
                ),
            )
            for at, asked in enumerate(body.topics)
        )
    )
    return reply.answer()


def _refused_before(state: ClusterState, request: Request) -> ErrorCode | None:
    error = state.take_error(Api.OFFSET_COMMIT) if state.injected else None
    if error is not None:
        return error.code
    denied = request.body.group_id in state.settings.denied_groups
    return ErrorCode.group_authorization_failed if denied else None


def _commit(
    state: ClusterState,
    request: Request,
    valid: list[tuple[int, int, Topic, Any]],
    codes: dict[tuple[int, int], ErrorCode],
) -> None:
    """Store what is valid, and note the error of each partition in ``codes``."""
    body, groups = request.body, state.groups
    code: ErrorCode | None = None
    try:
        groups.check_coordinator(request.node_id, body.group_id)
        _validate(state, request, [(topic.topic_id, part) for _, _, topic, part in valid])
    except RequestRefused as refused:
        code = refused.code
    retention_ms = getattr(body, "retention_time", milliseconds(-1)) // milliseconds(1)
    expires_at_ms = None if retention_ms == _BROKERS_RETENTION_MS else request.now_ms + retention_ms
    for at, position, topic, part in valid:
        metadata = part.committed_metadata or ""
        own = ErrorCode.offset_metadata_too_large if is_too_long(state, part) else ErrorCode.none
        codes[at, position] = code or own
        if codes[at, position] is ErrorCode.none:
            epoch = getattr(part, "committed_leader_epoch", -1)
            committed = Committed(part.committed_offset, epoch, metadata, request.now_ms, expires_at_ms)
            groups.offsets.commit(body.group_id, (topic.name, part.partition_index), committed)


def is_too_long(state: ClusterState, part: Any) -> bool:
    """Return whether the metadata of an offset is too long."""
    return len(part.committed_metadata or "") > state.settings.offset_metadata_max_bytes


@dataclass(frozen=True, slots=True)
class Committer:
    """Who commits offsets: a member of a group in a generation or epoch, or a client outside of it (-1)."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation_id: int
    is_transactional: bool = False

    @property
    def names_no_member(self) -> bool:
        """True for a producer that commits without a member of the group."""
        is_alone = self.generation_id == _NO_GENERATION and not self.member_id and self.instance_id is None
        return self.is_transactional and is_alone


def _validate(state: ClusterState, request: Request, parts: list[tuple[UUID, Any]]) -> None:
    """Check the member and its generation (``ClassicGroup#validateOffsetCommit``). Raises RequestRefused."""
    body, groups = request.body, state.groups
    instance_id = getattr(body, "group_instance_id", None)
    who = Committer(body.group_id, body.member_id, instance_id, body.generation_id_or_member_epoch)
    if who.group_id in groups.consumer:
        validate_consumer(state, request, who, parts)
        return
    group = find_group(state, request, who)
    validate_classic(group, who)
    member = group.members.get(body.member_id)
    if member is not None and group.is_in(ClassicState.STABLE, ClassicState.PREPARING):
        groups.rebalancing(request.node_id).expect_heartbeat(group, member)


def find_group(state: ClusterState, request: Request, who: Committer) -> ClassicGroup:
    """Return a classic group, or a new one for a client that is no member. Raises RequestRefused."""
    group = state.groups.find(request.node_id, who.group_id)
    if group is None:
        if who.generation_id >= 0:
            is_new = request.version >= _NOT_FOUND_FROM_VERSION
            raise RequestRefused(ErrorCode.group_id_not_found if is_new else ErrorCode.illegal_generation)
        group = state.groups.create(request.node_id, who.group_id)
    return group


def validate_consumer(
    state: ClusterState, request: Request, who: Committer, parts: list[tuple[UUID, Any]]
) -> None:
    """Raise RequestRefused unless a member of such a group may commit (``ConsumerGroup#validateOffsetCommit``).

    With KIP-848 an older epoch is accepted for partitions that the member had in that epoch, and still has.
    """
    epoch = who.generation_id
    group = state.groups.find_consumer(request.node_id, who.group_id, create=False)
    if (epoch < 0 and not group.members) or who.names_no_member:
        return
    member = group.members.get(who.member_id or "")
    if member is None:
        raise RequestRefused(ErrorCode.unknown_member_id)
    if member.classic is not None:
        if epoch != member.epoch:
            raise RequestRefused(ErrorCode.illegal_generation)
        return
    if request.version < _NOT_FOUND_FROM_VERSION and not who.is_transactional:
        raise RequestRefused(ErrorCode.unsupported_version)
    if epoch > member.epoch:
        raise RequestRefused(ErrorCode.stale_member_epoch)
    if epoch == member.epoch:
        return
    for topic_id, part in parts:
        assigned_in = member.assigned_in.get((topic_id, part.partition_index))
        is_stale = assigned_in is None or epoch < assigned_in
        if is_stale and not is_too_long(state, part):
            raise RequestRefused(ErrorCode.stale_member_epoch)


def validate_classic(group: ClassicGroup, who: Committer) -> None:
    """Raise RequestRefused if this member may not commit in this generation.

    Transactions need no member, and may commit while the group rebalances.
    """
    if who.generation_id < 0 and group.is_in(ClassicState.EMPTY):
        return
    if who.generation_id >= 0 or who.member_id or who.instance_id is not None:
        group.validate_member(who.member_id, who.instance_id)
        if who.generation_id != group.generation_id:
            raise RequestRefused(ErrorCode.illegal_generation)
    elif not who.is_transactional and not group.is_in(ClassicState.EMPTY):
        raise RequestRefused(ErrorCode.unknown_member_id)
    if not who.is_transactional and group.is_in(ClassicState.COMPLETING):
        raise RequestRefused(ErrorCode.rebalance_in_progress)
