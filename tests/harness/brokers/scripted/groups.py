"""Members of classic groups for tests: they send one request each and keep what they were told."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any

from harness.wire.apis import Api
from harness.wire.messages import decode_response, message_class, nested

MS = 1_000_000


def build(kind: Any, **values: Any) -> Any:
    known = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in known})


class Call:
    """A request that was sent. ``body`` is the response, or None while it waits."""

    def __init__(self, response: Any, api: Api, version: int) -> None:
        self._response, self._api, self._version = response, api, version

    @property
    def body(self) -> Any:
        waiting = self._response.answer.waiting
        if waiting is None:
            return self._response.body
        if waiting.answer is None:
            return None
        return decode_response(waiting.answer.frame[4:], self._api, self._version)[1]


class Member:
    """A member of group "g"."""

    def __init__(self, it: Any, instance: str | None = None, *, node_id: int = 1, version: int = 9) -> None:
        self.it, self.instance, self.node_id, self.version = it, instance, node_id, version
        self.member_id, self.generation = "", -1
        self.protocol: str | None = None

    def ask(self, api: Api, version: int, **values: Any) -> Call:
        given = {"group_id": "g", "member_id": self.member_id, "group_instance_id": self.instance}
        kind = message_class(api, version, "request")
        return Call(self.it.send(self.node_id, build(kind, **(given | values))), api, version)

    def join(
        self, *protocols: str, session_ms: int = 10_000, rebalance_ms: int = 30_000, **values: Any
    ) -> Call:
        version = min(self.version, 9)
        named = nested(message_class(Api.JOIN_GROUP, version, "request"), "JoinGroupRequestProtocol")
        given = {
            "session_timeout": timedelta(milliseconds=session_ms),
            "rebalance_timeout": timedelta(milliseconds=rebalance_ms),
            "protocol_type": "consumer",
            "protocols": tuple(
                named(name=name, metadata=b"m" + name.encode()) for name in protocols or ("range",)
            ),
        }
        return self.ask(Api.JOIN_GROUP, version, **(given | values))

    def enter(self, *protocols: str, **values: Any) -> Call:
        """Join, with a second request if the first one only gives the member id."""
        call = self.join(*protocols, **values)
        if call.body is not None and call.body.error_code == 79:
            self.member_id = call.body.member_id
            call = self.join(*protocols, **values)
        return call

    def took(self, call: Call) -> Any:
        """Remember the member id and the generation of a response."""
        self.member_id, self.generation = call.body.member_id, call.body.generation_id
        self.protocol = call.body.protocol_name
        return call.body

    def sync(self, assignments: dict[str, bytes] | None = None, **values: Any) -> Call:
        named = nested(message_class(Api.SYNC_GROUP, 5, "request"), "SyncGroupRequestAssignment")
        made = tuple(named(member_id=each, assignment=data) for each, data in (assignments or {}).items())
        given = {
            "generation_id": self.generation,
            "assignments": made,
            "protocol_type": "consumer",
            "protocol_name": self.protocol or "range",
        }
        return self.ask(Api.SYNC_GROUP, 5, **(given | values))

    def beat(self, **values: Any) -> int:
        return int(
            self.ask(Api.HEARTBEAT, 4, **({"generation_id": self.generation} | values)).body.error_code
        )

    def leave(self, version: int = 5) -> Any:
        if version < 3:
            return self.ask(Api.LEAVE_GROUP, version).body
        named = nested(message_class(Api.LEAVE_GROUP, version, "request"), "MemberIdentity")
        who = build(named, member_id=self.member_id, group_instance_id=self.instance, reason=None)
        return self.ask(Api.LEAVE_GROUP, version, members=(who,)).body

    def commit(
        self, offset: int, *, version: int = 9, partition: int = 0, metadata: str = "", **values: Any
    ) -> int:
        kind = message_class(Api.OFFSET_COMMIT, version, "request")
        part = build(
            nested(kind, "OffsetCommitRequestPartition"),
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=3,
            committed_metadata=metadata,
        )
        topic_id = self.it.cluster.state.topics["t"].topic_id
        topic = build(
            nested(kind, "OffsetCommitRequestTopic"), name="t", topic_id=topic_id, partitions=(part,)
        )
        given = {
            "generation_id_or_member_epoch": self.generation,
            "topics": (topic,),
            "retention_time": timedelta(milliseconds=-1),
        }
        body = self.ask(Api.OFFSET_COMMIT, version, **(given | values)).body
        return int(body.topics[0].partitions[0].error_code)

    def fetch(self, *, version: int = 9, stable: bool = False, every: bool = False) -> Any:
        """Return the first partition's offset, or the error of the group."""
        kind = message_class(Api.OFFSET_FETCH, version, "request")
        plural = "s" if version >= 8 else ""
        topic_id = self.it.cluster.state.topics["t"].topic_id
        named = nested(kind, f"OffsetFetchRequestTopic{plural}")
        topics = None if every else (build(named, name="t", topic_id=topic_id, partition_indexes=(0,)),)
        given: dict[str, Any] = {"require_stable": stable, "topics": topics}
        if version >= 8:
            group = nested(kind, "OffsetFetchRequestGroup")
            given = {
                "require_stable": stable,
                "groups": (build(group, group_id="g", member_id=None, member_epoch=-1, topics=topics),),
            }
        body = self.ask(Api.OFFSET_FETCH, version, **given).body
        found = body.groups[0] if version >= 8 else body
        return found.topics[0].partitions[0] if found.topics else found


def settle(members: list[Member], calls: list[Call]) -> None:
    """Complete a rebalance: every member takes its JoinGroup response, and the leader assigns."""
    bodies = [member.took(call) for member, call in zip(members, calls, strict=True)]
    syncs = []
    for member, body in zip(members, bodies, strict=True):
        given = {each.member_id: each.member_id.encode() for each in body.members}
        syncs.append(member.sync(given))
    for member, call in zip(members, syncs, strict=True):
        assert (call.body.error_code, call.body.assignment) == (0, member.member_id.encode())


def stable(it: Any, count: int, **given: Any) -> list[Member]:
    """Return the members of a stable group, which all joined before the first rebalance ended."""
    it.cluster.settings.group_initial_rebalance_delay_ms = 1
    members = [Member(it, **given) for _ in range(count)]
    calls = [member.enter() for member in members]
    it.now_ns += (count + 1) * MS
    it.cluster.wake(it.now_ns)
    settle(members, calls)
    return members
