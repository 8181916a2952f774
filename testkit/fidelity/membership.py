"""The requests of group members and of clients that commit offsets, as a peer sends them.

What a member was told is kept by (group, member), and what the steps say is sent relative to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from harness.wire.apis import Api
from harness.wire.messages import make
from testkit.fidelity import group_steps as g
from testkit.fidelity.observed import Plain
from testkit.fidelity.peer import Peer
from testkit.fidelity.targets import COORDINATOR

_NONE, _MEMBER_ID_REQUIRED = 0, 79
_BROKERS_RETENTION: Final = timedelta(milliseconds=-1)
_UNKNOWN_ID: Final = "no-such-member"
#: What a step is if another member would have to be elected among several: Kafka takes any of them.
NOT_SENT: Final = "not sent"


@dataclass(slots=True)
class _Member:
    """What a member was told last. ``others`` are the members that it leads, itself included."""

    label: str
    member_id: str = ""
    generation: int = -1
    protocol: str | None = None
    others: tuple[str, ...] = ()
    assigned: tuple[tuple[UUID, tuple[int, ...]], ...] = ()
    ids: int = 0


@dataclass(slots=True)
class _Group:
    """The members of a classic group as its clients know them, and which one leads.

    ``unnamed`` counts the members that wait for an answer with their ids.
    """

    leader: str = ""
    unnamed: int = 0
    members: list[str] = field(default_factory=list)


class Membership:
    """What a peer knows of its members."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._members: dict[tuple[str, str], _Member] = {}
        self._groups: dict[str, _Group] = {}

    async def step(self, step: g.GroupStep) -> Plain:
        """Play one step."""
        match step:
            case g.JoinGroup():
                return await self._join(step)
            case g.SyncGroup():
                return await self._sync(step)
            case g.Heartbeat():
                return await self._heartbeat(step)
            case g.LeaveGroup():
                return await self._leave(step)
            case g.OffsetCommit():
                return await self._commit(step)
            case g.OffsetFetch():
                return await self._offsets(step)
            case g.DescribeGroups():
                return await self._describe(step)
            case g.ConsumerGroupHeartbeat():
                return await self._beat(step)
            case g.ConsumerGroupDescribe():
                return await self._describe_consumers(step)
            case g.Wait():
                await self._peer.side.wait(step.duration_ms)
                return None

    def _member(self, group: str, label: str) -> _Member:
        return self._members.setdefault((group, label), _Member(label))

    def _id(self, group: str, label: str, member_id: str) -> str:
        match member_id:
            case g.OWN:
                return self._member(group, label).member_id
            case g.NO_ID:
                return ""
            case g.UNKNOWN:
                return _UNKNOWN_ID
            case _:
                return self._member(group, member_id).member_id

    def identity(self, group: str, label: str, member_id: str) -> tuple[str, int]:
        """Return the member id and the generation that a member sends."""
        return self._id(group, label, member_id), self._member(group, label).generation

    def name(self, group: str) -> str:
        """Return the brokers' name of a group."""
        name = self._peer.name(group)
        self._peer.labels.names[name] = group
        return name

    async def node(self, group: str, node: int) -> int:
        """Return the node of a target: the coordinator of a group, or another one."""
        found = await self._peer.side.coordinator(self._peer.name(group) or "none", 0)
        return found if node == COORDINATOR else found % self._peer.plan.nodes + 1

    async def _begin(
        self, api: Api, step: Any, take: Callable[[Any], Plain] | None = None, **values: Any
    ) -> Plain:
        group = step.group if hasattr(step, "group") else step.groups[0]
        node = await self.node(group, step.node)
        return await self._peer.begin(api, step.version, node, take or self._peer.plainly, **values)

    # Classic groups

    async def _join(self, step: g.JoinGroup) -> Plain:
        kind = partial(self._peer.request_class, Api.JOIN_GROUP, step.version)
        self._groups.setdefault(step.group, _Group()).unnamed += step.member_id == g.NO_ID
        return await self._begin(
            Api.JOIN_GROUP,
            step,
            partial(self._joined, step),
            group_id=self.name(step.group),
            session_timeout=timedelta(milliseconds=step.session_timeout_ms),
            rebalance_timeout=timedelta(milliseconds=step.rebalance_timeout_ms),
            member_id=self._id(step.group, step.member, step.member_id),
            group_instance_id=step.instance,
            protocol_type=step.protocol_type,
            protocols=tuple(
                make(kind("JoinGroupRequestProtocol"), name=name, metadata=metadata.encode())
                for name, metadata in step.protocols
            ),
            reason=None,
        )

    def _joined(self, step: g.JoinGroup, answer: Any) -> Plain:
        known, group = self._member(step.group, step.member), self._groups.setdefault(step.group, _Group())
        group.unnamed -= step.member_id == g.NO_ID
        if answer.error_code in (_NONE, _MEMBER_ID_REQUIRED) and answer.member_id != known.member_id:
            if known.member_id in group.members:
                group.members.remove(known.member_id)
            known.member_id, known.ids = answer.member_id, known.ids + 1
            self._peer.labels.names[answer.member_id] = f"{known.label}#{known.ids}"
        if answer.error_code == _NONE:
            known.generation, known.protocol = answer.generation_id, answer.protocol_name
            known.others = tuple(each.member_id for each in answer.members)
            group.members += [each for each in (*known.others, known.member_id) if each not in group.members]
            group.leader = answer.leader if answer.leader in group.members else known.member_id
        return self._peer.plainly(answer)

    async def _sync(self, step: g.SyncGroup) -> Plain:
        known = self._member(step.group, step.member)
        kind = self._peer.request_class(Api.SYNC_GROUP, step.version, "SyncGroupRequestAssignment")
        names = self._peer.labels.names
        return await self._begin(
            Api.SYNC_GROUP,
            step,
            group_id=self.name(step.group),
            generation_id=known.generation + step.ahead,
            member_id=self._id(step.group, step.member, step.member_id),
            group_instance_id=step.instance,
            protocol_type=step.protocol_type,
            protocol_name=known.protocol if step.protocol_name == g.OWN else step.protocol_name,
            assignments=tuple(
                make(kind, member_id=each, assignment=f"{names.get(each)} {known.generation}".encode())
                for each in known.others
                if step.assigns
            ),
        )

    async def _heartbeat(self, step: g.Heartbeat) -> Plain:
        return await self._begin(
            Api.HEARTBEAT,
            step,
            group_id=self.name(step.group),
            generation_id=self._member(step.group, step.member).generation + step.ahead,
            member_id=self._id(step.group, step.member, step.member_id),
            group_instance_id=step.instance,
        )

    async def _leave(self, step: g.LeaveGroup) -> Plain:
        kind = partial(self._peer.request_class, Api.LEAVE_GROUP, step.version)
        leaving = step.leaving if step.version >= 3 else step.leaving[:1]
        ids = [self._id(step.group, label, member_id) for label, member_id, _ in leaving]
        owners = [
            each or self._member(step.group, label).member_id
            for each, (label, _, _) in zip(ids, leaving, strict=True)
        ]
        group = self._groups.setdefault(step.group, _Group())
        rest = len(set(group.members) - set(owners)) + group.unnamed
        if group.leader in ("", *owners) and rest > 1:
            return NOT_SENT

        def left(answer: Any) -> Plain:
            found = getattr(answer, "members", None) or [answer]
            for each, owner in zip(found, owners, strict=False):
                if each.error_code == _NONE and answer.error_code == _NONE and owner in group.members:
                    group.members.remove(owner)
            if group.leader not in group.members:
                group.leader = next(iter(group.members), "")
            return self._peer.plainly(answer)

        return await self._begin(
            Api.LEAVE_GROUP,
            step,
            left,
            group_id=self.name(step.group),
            member_id=ids[0],
            members=tuple(
                make(kind("MemberIdentity"), member_id=each, group_instance_id=instance, reason=None)
                for each, (_, _, instance) in zip(ids, leaving, strict=True)
            )
            if step.version >= 3
            else (),
        )

    async def _describe(self, step: g.DescribeGroups) -> Plain:
        return await self._begin(
            Api.DESCRIBE_GROUPS,
            step,
            groups=tuple(self.name(group) for group in step.groups),
            include_authorized_operations=False,
        )

    # Offsets

    async def _commit(self, step: g.OffsetCommit) -> Plain:
        kind = partial(self._peer.request_class, Api.OFFSET_COMMIT, step.version)
        known = self._member(step.group, step.member)
        return await self._begin(
            Api.OFFSET_COMMIT,
            step,
            group_id=self.name(step.group),
            generation_id_or_member_epoch=-1 if step.ahead is None else known.generation + step.ahead,
            member_id=self._id(step.group, step.member, step.member_id),
            group_instance_id=step.instance,
            retention_time=_BROKERS_RETENTION,
            topics=tuple(
                make(
                    kind("OffsetCommitRequestTopic"),
                    name=self._peer.name(label),
                    topic_id=self._peer.topic_id(label),
                    partitions=tuple(
                        make(
                            kind("OffsetCommitRequestPartition"),
                            partition_index=each.partition,
                            committed_offset=each.offset,
                            committed_leader_epoch=each.leader_epoch,
                            committed_metadata=each.metadata,
                        )
                        for each in step.parts
                        if each.topic == label
                    ),
                )
                for label in dict.fromkeys(each.topic for each in step.parts)
            ),
        )

    async def _offsets(self, step: g.OffsetFetch) -> Plain:
        kind = partial(self._peer.request_class, Api.OFFSET_FETCH, step.version)
        plural = "s" if step.version >= 8 else ""
        topics: tuple[Any, ...] | None = None
        if step.parts is not None:
            topics = tuple(
                make(
                    kind(f"OffsetFetchRequestTopic{plural}"),
                    name=self._peer.name(label),
                    topic_id=self._peer.topic_id(label),
                    partition_indexes=tuple(index for each, index in step.parts if each == label),
                )
                for label in dict.fromkeys(label for label, _ in step.parts)
            )
        values: dict[str, Any] = {"group_id": self.name(step.groups[0]), "topics": topics}
        if step.version >= 8:
            values = {"groups": tuple(self._group_asked(step, group, topics) for group in step.groups)}
        return await self._begin(Api.OFFSET_FETCH, step, require_stable=step.require_stable, **values)

    def _group_asked(self, step: g.OffsetFetch, group: str, topics: tuple[Any, ...] | None) -> Any:
        who: dict[str, Any] = {"member_id": None, "member_epoch": -1}
        if step.member is not None:
            known = self._member(group, step.member)
            who = {
                "member_id": self._id(group, step.member, step.member_id),
                "member_epoch": known.generation + step.ahead,
            }
        kind = self._peer.request_class(Api.OFFSET_FETCH, step.version, "OffsetFetchRequestGroup")
        return make(kind, group_id=self.name(group), topics=topics, **who)

    # Groups of KIP-848

    async def _beat(self, step: g.ConsumerGroupHeartbeat) -> Plain:
        peer, known = self._peer, self._member(step.group, step.member)
        if step.version >= 1 and not known.member_id:
            # From this version on the client chooses its id. Short ones have the same order in every hash map.
            known.member_id = step.member[-1]
        kind = peer.request_class(Api.CONSUMER_GROUP_HEARTBEAT, step.version, "TopicPartitions")
        owned: Iterable[tuple[UUID, tuple[int, ...]]] | None = None
        if step.owned is not None:
            owned = known.assigned if step.owned == "assigned" else ()
        return await self._begin(
            Api.CONSUMER_GROUP_HEARTBEAT,
            step,
            partial(self._beaten, step),
            group_id=self.name(step.group),
            member_id=self._id(step.group, step.member, step.member_id),
            member_epoch=known.generation + step.ahead if step.epoch is None else step.epoch,
            instance_id=step.instance,
            rack_id=step.rack,
            rebalance_timeout=timedelta(milliseconds=step.rebalance_timeout_ms),
            subscribed_topic_names=None if step.topics is None else tuple(map(peer.name, step.topics)),
            subscribed_topic_regex=None
            if step.regex is None
            else step.regex and f"{peer.plan.name}\\.{step.regex}",
            server_assignor=step.assignor,
            topic_partitions=None
            if owned is None
            else tuple(make(kind, topic_id=topic, partitions=indexes) for topic, indexes in owned),
        )

    def _beaten(self, step: g.ConsumerGroupHeartbeat, answer: Any) -> Plain:
        known = self._member(step.group, step.member)
        if answer.error_code == _NONE:
            if answer.member_id is not None and answer.member_id != known.member_id:
                known.member_id, known.ids = answer.member_id, known.ids + 1
                self._peer.labels.names[answer.member_id] = f"{known.label}#{known.ids}"
            known.generation = answer.member_epoch
            if answer.assignment is not None:
                known.assigned = tuple(
                    (each.topic_id, tuple(each.partitions)) for each in answer.assignment.topic_partitions
                )
        return self._peer.plainly(answer)

    async def _describe_consumers(self, step: g.ConsumerGroupDescribe) -> Plain:
        return await self._begin(
            Api.CONSUMER_GROUP_DESCRIBE,
            step,
            group_ids=tuple(self.name(group) for group in step.groups),
            include_authorized_operations=False,
        )
