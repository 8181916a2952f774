"""What the leader of a group does: it assigns the partitions to all members, and notices when that is out of date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from clients.reference.common.requests import Message
from clients.reference.consumer.assignors.assignor import (
    Assignment,
    Assignor,
    PartitionInfo,
    RebalanceProtocol,
    Subscription,
)
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_protocol import decode_subscription, encode_assignment
from clients.reference.consumer.errors import ConsumerError, InconsistentGroupProtocolError
from clients.reference.consumer.subscription.subscription_state import SubscriptionState

#: Assignors that assign only topics that some member subscribed to (the others may widen the group's metadata).
_OWN_COOPERATIVE = "cooperative-sticky"

Partitions = Mapping[str, tuple[PartitionInfo, ...]]


def common_protocol(assignors: Sequence[Assignor]) -> RebalanceProtocol:
    """Return the highest rebalance protocol that all assignors support. Raise ConsumerError if there is none."""
    common = set(RebalanceProtocol)
    for assignor in assignors:
        common &= set(assignor.supported_protocols)
    if not common:
        raise ConsumerError(
            "assignors-incompatible",
            "the assignors {names} have no rebalance protocol in common",
            names=tuple(assignor.name for assignor in assignors),
        )
    return max(common)


class GroupLeader:
    """The leader's view of the group. A member that does not lead uses only ``note_metadata``."""

    def __init__(
        self,
        assignors: Sequence[Assignor],
        protocol: RebalanceProtocol,
        metadata: ConsumerMetadata,
        subscriptions: SubscriptionState,
    ) -> None:
        self._assignors = {assignor.name: assignor for assignor in assignors}
        self._protocol = protocol
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._known: Partitions = {}
        self._assigned_for: Partitions | None = None
        self._awaited_version: int | None = None

    def assignor(self, name: str | None) -> Assignor:
        """Return the assignor that the group chose. Raise InconsistentGroupProtocolError for an unknown one."""
        found = self._assignors.get(name or "")
        if found is None:
            raise InconsistentGroupProtocolError(
                "group-assignor-unknown",
                "the group chose assignor {name!r}, which this member lacks",
                name=name,
            )
        return found

    # Changes of metadata

    def note_metadata(self) -> None:
        """Take the partitions of the group's topics as metadata have them now."""
        self._known = self._partitions_of(self._subscriptions.metadata_topics)

    @property
    def is_out_of_date(self) -> bool:
        """Whether this member leads, and the partitions have changed since it assigned them."""
        return self._assigned_for is not None and self._assigned_for != self._known

    def resign(self) -> None:
        """Lead no longer."""
        self._assigned_for = None

    def begin(self) -> None:
        """Another rebalance begins."""
        self._awaited_version = None

    def _partitions_of(self, topics: Iterable[str]) -> Partitions:
        known = self._metadata.topics
        racks = {node.id: node.rack for node in self._metadata.nodes.values() if node.rack}
        return {
            topic: tuple(
                PartitionInfo(index, frozenset(racks[each] for each in partition.replicas if each in racks))
                for index, partition in sorted(known[topic].partitions.items())
            )
            for topic in sorted(topics)
            if topic in known
        }

    # Assigning

    def assign(self, answer: Message, now_ms: int) -> dict[str, bytes] | None:
        """Return the assignment of each member, in bytes, or None until metadata have the topics of all members."""
        assignor = self.assignor(answer.protocol_name)
        subscriptions = {member.member_id: _subscription(member) for member in answer.members}
        topics = {topic for each in subscriptions.values() for topic in each.topics}
        if not self._has_metadata(topics, now_ms):
            return None
        self.note_metadata()
        self._assigned_for = self._known
        if getattr(answer, "skip_assignment", False):
            return {}
        assignment = assignor.assign(self._partitions_of(topics), subscriptions)
        if self._protocol is RebalanceProtocol.COOPERATIVE and assignor.name != _OWN_COOPERATIVE:
            _must_revoke_first(subscriptions, assignment, assignor.name)
        self._widen(topics, assignment)
        return {member: encode_assignment(partitions) for member, partitions in assignment.items()}

    def _has_metadata(self, topics: set[str], now_ms: int) -> bool:
        """Return whether metadata are fresh. If not, request them once."""
        metadata = self._metadata
        if self._awaited_version is None:
            if self._subscriptions.group_subscribe(topics):
                metadata.request_update_for_new_topics()
            if not metadata.is_update_requested and metadata.next_update_ms() > now_ms:
                return True
            metadata.request_update()
            self._awaited_version = metadata.update_version
        return metadata.update_version > self._awaited_version and metadata.has_all_topics

    def _widen(self, topics: set[str], assignment: Assignment) -> None:
        """Follow the metadata also of topics that a member's assignor added."""
        added = {topic for each in assignment.values() for topic, _ in each} - topics
        if added and self._subscriptions.group_subscribe(topics | added):
            self._metadata.request_update_for_new_topics()
            self.note_metadata()
            self._assigned_for = self._known


def _subscription(member: Message) -> Subscription:
    instance_id = getattr(member, "group_instance_id", None)
    return replace(decode_subscription(bytes(member.metadata)), group_instance_id=instance_id)


def _must_revoke_first(
    subscriptions: Mapping[str, Subscription], assignment: Assignment, assignor: str
) -> None:
    """Raise ConsumerError if a partition moves in one step. Its owner must give it up before (KIP-429)."""
    added, revoked = set(), set()
    for member, partitions in assignment.items():
        owned = set(subscriptions[member].owned_partitions)
        added |= set(partitions) - owned
        revoked |= owned - set(partitions)
    if added & revoked:
        raise ConsumerError(
            "assignor-not-cooperative",
            "assignor {assignor} moves {partitions} before the owners gave them up",
            assignor=assignor,
            partitions=tuple(f"{topic}-{index}" for topic, index in sorted(added & revoked)),
        )
