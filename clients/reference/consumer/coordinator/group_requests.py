"""The requests to a group's coordinator as builders for any version, and the versions that they need.

Fields that a version lacks are left out. A request that cannot do without a field names the lowest version that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

from clients.reference.common.requests import Message, message_of
from clients.reference.consumer.assignors.assignor import by_topic
from clients.reference.consumer.consumer_protocol import PROTOCOL_TYPE
from clients.reference.consumer.coordinator.generation import NO_GENERATION, Generation
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested

Build = Callable[[int], Message]

#: The first versions with group.instance.id (KIP-345).
STATIC_LOWEST: Mapping[Api, int] = {
    Api.JOIN_GROUP: 5,
    Api.SYNC_GROUP: 3,
    Api.HEARTBEAT: 3,
    Api.OFFSET_COMMIT: 7,
}
#: From the next version on, topics are identified by id.
BY_NAME_HIGHEST: Mapping[Api, int] = {Api.OFFSET_COMMIT: 9, Api.OFFSET_FETCH: 9}
GROUP_KEY = 0
LONGEST_REASON = 255
_FIRST_WITH_KEYS = 4
_FIRST_WITH_MEMBERS = 3
_FIRST_WITH_GROUPS = 8


def find_coordinator_request(group_id: str) -> Build:
    """Return a builder of FindCoordinator for a group."""
    return lambda version: message_of(
        Api.FIND_COORDINATOR, version, key=group_id, key_type=GROUP_KEY, coordinator_keys=(group_id,)
    )


def join_group_request(
    group_id: str,
    member_id: str,
    instance_id: str | None,
    protocols: Sequence[tuple[str, bytes]],
    *,
    session_timeout_ms: int,
    rebalance_timeout_ms: int,
    reason: str,
) -> Build:
    """Return a builder of JoinGroup. ``protocols`` are the assignors by name, with the subscription for each."""

    def build(version: int) -> Message:
        protocol = nested(message_class(Api.JOIN_GROUP, version, "request"), "JoinGroupRequestProtocol")
        return message_of(
            Api.JOIN_GROUP,
            version,
            group_id=group_id,
            session_timeout=timedelta(milliseconds=session_timeout_ms),
            rebalance_timeout=timedelta(milliseconds=rebalance_timeout_ms),
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=tuple(protocol(name=name, metadata=metadata) for name, metadata in protocols),
            reason=reason[:LONGEST_REASON],
        )

    return build


def sync_group_request(
    group_id: str, generation: Generation, instance_id: str | None, assignments: Mapping[str, bytes]
) -> Build:
    """Return a builder of SyncGroup. ``assignments`` are by member id, and empty except for the leader."""

    def build(version: int) -> Message:
        assignment = nested(message_class(Api.SYNC_GROUP, version, "request"), "SyncGroupRequestAssignment")
        return message_of(
            Api.SYNC_GROUP,
            version,
            group_id=group_id,
            generation_id=generation.id,
            member_id=generation.member_id,
            group_instance_id=instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=generation.protocol_name,
            assignments=tuple(
                assignment(member_id=member_id, assignment=data) for member_id, data in assignments.items()
            ),
        )

    return build


def heartbeat_request(group_id: str, generation: Generation, instance_id: str | None) -> Build:
    """Return a builder of Heartbeat."""
    return lambda version: message_of(
        Api.HEARTBEAT,
        version,
        group_id=group_id,
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=instance_id,
    )


def leave_group_request(group_id: str, member_id: str, reason: str) -> Build:
    """Return a builder of LeaveGroup for one member."""

    def build(version: int) -> Message:
        message_type = message_class(Api.LEAVE_GROUP, version, "request")
        if version < _FIRST_WITH_MEMBERS:
            return make(message_type, group_id=group_id, member_id=member_id)
        member = make(
            nested(message_type, "MemberIdentity"),
            member_id=member_id,
            group_instance_id=None,
            reason=reason[:LONGEST_REASON],
        )
        return make(message_type, group_id=group_id, members=(member,))

    return build


def offset_commit_request(
    group_id: str,
    generation: Generation,
    instance_id: str | None,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> Build:
    """Return a builder of OffsetCommit. Without a group membership, ``generation`` is NO_GENERATION (CSM-OFC-05)."""

    def build(version: int) -> Message:
        message_type = message_class(Api.OFFSET_COMMIT, version, "request")
        topic_type = nested(message_type, "OffsetCommitRequestTopic")
        partition_type = nested(message_type, "OffsetCommitRequestPartition")

        def partition(topic: str, index: int) -> Message:
            stored = offsets[topic, index]
            return make(
                partition_type,
                partition_index=index,
                committed_offset=stored.offset,
                committed_leader_epoch=-1 if stored.leader_epoch is None else stored.leader_epoch,
                committed_metadata=stored.metadata,
            )

        return make(
            message_type,
            group_id=group_id,
            generation_id_or_member_epoch=generation.id,
            member_id=generation.member_id,
            group_instance_id=instance_id,
            retention_time=timedelta(milliseconds=-1),
            topics=tuple(
                make(topic_type, name=topic, partitions=tuple(partition(topic, index) for index in indexes))
                for topic, indexes in by_topic(offsets).items()
            ),
        )

    return build


def offset_fetch_request(
    group_id: str, partitions: Iterable[TopicPartition], generation: Generation = NO_GENERATION
) -> Build:
    """Return a builder of OffsetFetch that asks for stable offsets (CSM-OFC-07).

    A member of a group of KIP-848 names itself by ``generation``.
    """
    grouped = by_topic(sorted(partitions))

    def build(version: int) -> Message:
        message_type = message_class(Api.OFFSET_FETCH, version, "request")
        if version < _FIRST_WITH_GROUPS:
            topic = nested(message_type, "OffsetFetchRequestTopic")
            topics = tuple(topic(name=name, partition_indexes=tuple(each)) for name, each in grouped.items())
            return make(message_type, group_id=group_id, topics=topics, require_stable=True)
        topic = nested(message_type, "OffsetFetchRequestTopics")
        group = make(
            nested(message_type, "OffsetFetchRequestGroup"),
            group_id=group_id,
            member_id=generation.member_id or None,
            member_epoch=generation.id,
            topics=tuple(topic(name=name, partition_indexes=tuple(each)) for name, each in grouped.items()),
        )
        return make(message_type, groups=(group,), require_stable=True)

    return build


def coordinator_of(body: Message) -> Message:
    """Return the part of a FindCoordinator response that names the coordinator, or has the error."""
    return body.coordinators[0] if body.__version__ >= _FIRST_WITH_KEYS else body


def group_of(body: Message) -> Message:
    """Return the part of an OffsetFetch response that has the group's topics and its error."""
    return body.groups[0] if body.__version__ >= _FIRST_WITH_GROUPS else body
