"""What a ConsumerGroupHeartbeat says: everything when joining and after a failure, else only changes (CSM-NGP-03).

``HeartbeatState`` in Java. The coordinator keeps what it was told, so a field that is left out stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from clients.reference.common.requests import Message, message_of
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_requests import Build
from clients.reference.consumer.membership.assignments import Assignment, grouped
from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested

#: The epochs of a member that joins, that leaves, and that leaves and will come back (a static one).
JOINS, LEAVES, LEAVES_FOR_NOW = 0, -1, -2
#: The first version with a regular expression, and with an id that the member has chosen itself.
REGEX_LOWEST = 1
UNCHANGED_MS = -1


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a member wants of its group. It subscribes either to ``topics`` or to ``regex``."""

    topics: frozenset[str]
    regex: str | None
    assignor: str | None
    rebalance_timeout_ms: int
    rack: str | None = None


class HeartbeatContents:
    """Builds the heartbeats of one member, and remembers what the coordinator was told."""

    def __init__(self, group_id: str, instance_id: str | None) -> None:
        self._group_id = group_id
        self._instance_id = instance_id
        self._said: Wishes | None = None
        self._said_assignment: Assignment | None = None
        self._has_said_regex = False

    def reset(self) -> None:
        """Say everything in the next heartbeat: the last one may not have arrived."""
        self._said = self._said_assignment = None

    def lowest_version(self, wishes: Wishes) -> int | None:
        """Return the first version that can say ``wishes``, or None if all can."""
        return REGEX_LOWEST if wishes.regex is not None or self._has_said_regex else None

    def next(self, generation: Generation, wishes: Wishes, assignment: Assignment) -> Build:
        """Return a builder of the next heartbeat. Its contents count as said from now on."""
        if generation.id == JOINS:
            self.reset()
        said, owned = self._said, assignment if assignment != self._said_assignment else None
        if self._said is None:
            owned = assignment
        regex = wishes.regex
        if regex is None and self._has_said_regex:
            regex = ""  # an empty expression ends the subscription to a pattern
        if said is not None and said.regex == wishes.regex:
            regex = None
        self._has_said_regex |= wishes.regex is not None
        self._said, self._said_assignment = wishes, assignment
        return self._build(generation, wishes, said, regex, owned)

    def leave(self, generation: Generation, epoch: int) -> Build:
        """Return a builder of the last heartbeat."""
        self.reset()
        self._has_said_regex = False
        return lambda version: message_of(
            Api.CONSUMER_GROUP_HEARTBEAT,
            version,
            group_id=self._group_id,
            member_id=generation.member_id,
            member_epoch=epoch,
            instance_id=self._instance_id,
            topic_partitions=None,
        )

    def _build(
        self,
        generation: Generation,
        wishes: Wishes,
        said: Wishes | None,
        regex: str | None,
        owned: Assignment | None,
    ) -> Build:
        is_new = said is None
        timeout_ms = wishes.rebalance_timeout_ms if is_new else UNCHANGED_MS
        names = tuple(sorted(wishes.topics)) if said is None or said.topics != wishes.topics else None

        def build(version: int) -> Message:
            partitions = nested(
                message_class(Api.CONSUMER_GROUP_HEARTBEAT, version, "request"), "TopicPartitions"
            )
            owns = None
            if owned is not None:
                by_id = grouped(owned.partitions)
                owns = tuple(make(partitions, topic_id=each, partitions=by_id[each]) for each in by_id)
            return message_of(
                Api.CONSUMER_GROUP_HEARTBEAT,
                version,
                group_id=self._group_id,
                member_id=generation.member_id,
                member_epoch=generation.id,
                instance_id=self._instance_id,
                rack_id=wishes.rack if is_new else None,
                rebalance_timeout=timedelta(milliseconds=timeout_ms),
                subscribed_topic_names=names,
                subscribed_topic_regex=regex,
                server_assignor=wishes.assignor if is_new else None,
                topic_partitions=owns,
            )

        return build
