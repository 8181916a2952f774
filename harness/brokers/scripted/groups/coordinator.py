"""GroupCoordinator: which broker has which group in memory, and what a new coordinator finds in the log.

The log stands for the topic ``__consumer_offsets``: it survives every broker. A coordinator has its groups in memory.
When a group gets another coordinator, requests that wait are refused, and the new one begins with what was stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import AT_ONCE
from harness.brokers.scripted.apis.coordinators import group_coordinator
from harness.brokers.scripted.groups.classic_group import (
    CONSUMER_PROTOCOL,
    ClassicGroup,
    ClassicState,
    Protocols,
    StoredGroup,
    loaded,
)
from harness.brokers.scripted.groups.classic_members import names_of
from harness.brokers.scripted.groups.consumer_group import ConsumerGroup, ConsumerMember
from harness.brokers.scripted.groups.consumer_requests import ConsumerGroups
from harness.brokers.scripted.groups.migration import dissolve, downgraded, may_downgrade, upgraded
from harness.brokers.scripted.groups.offsets import Committed, OffsetStore
from harness.brokers.scripted.groups.rebalancing import Rebalancing
from harness.brokers.scripted.refusals import RequestRefused
from harness.wire.embedded_protocol import read_subscription
from harness.wire.errors import WireError

if TYPE_CHECKING:
    from harness.brokers.scripted.answer import Request
    from harness.brokers.scripted.state import ClusterState


class GroupCoordinator:
    """The groups of all brokers. ``log`` has what is stored of each classic group."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.offsets = OffsetStore(state.settings.producer_id_expiration_ms)
        self.log: dict[str, StoredGroup] = {}
        #: Each group that is in a coordinator's memory, with that node.
        self.classic: dict[str, tuple[int, ClassicGroup]] = {}
        self.consumer: dict[str, tuple[int, ConsumerGroup]] = {}
        self._is_checked_later = False

    def admit(self, request: Request, group_id: str, *, may_be_empty: bool = False) -> None:
        """Raise RequestRefused if this node may not answer about the group now."""
        self.authorize(request, group_id)
        if not group_id and not may_be_empty:
            raise RequestRefused(ErrorCode.invalid_group_id)
        self.check_coordinator(request.node_id, group_id)

    def authorize(self, request: Request, group_id: str) -> None:
        """Raise RequestRefused if the client may not use the group, or an injected error is due."""
        state = self._state
        error = state.take_error(request.header.api_key) if state.injected else None
        if error is not None:
            raise RequestRefused(error.code)
        if group_id in state.settings.denied_groups:
            raise RequestRefused(ErrorCode.group_authorization_failed)

    def check_coordinator(self, node_id: int, group_id: str) -> None:
        """Raise RequestRefused unless the node coordinates the group, and has loaded it."""
        if group_coordinator(self._state, group_id) != node_id:
            raise RequestRefused(ErrorCode.not_coordinator)
        if self._state.settings.coordinator_load_in_progress:
            raise RequestRefused(ErrorCode.coordinator_load_in_progress)

    def rebalancing(self, node_id: int) -> Rebalancing:
        """Return what moves the groups of a node on."""
        return Rebalancing(self._state, node_id, self._store)

    def find(self, node_id: int, group_id: str) -> ClassicGroup | None:
        """Return a classic group for its coordinator: from memory, or from the log."""
        self.move_groups()
        if group_id in self.classic:
            return self.classic[group_id][1]
        stored = self.log.get(group_id)
        if stored is None:
            return None
        group = loaded(group_id, stored)
        self.classic[group_id] = node_id, group
        rebalancing = self.rebalancing(node_id)
        for member in group.members.values():
            rebalancing.expect_heartbeat(group, member)
        return group

    def create(self, node_id: int, group_id: str) -> ClassicGroup:
        """Return a new empty group. Raises RequestRefused if members of KIP-848 have it."""
        if self.has_consumers(group_id):
            raise RequestRefused(ErrorCode.inconsistent_group_protocol)
        self.consumer.pop(group_id, None)
        group = ClassicGroup(group_id, state_at_ms=self.rebalancing(node_id).now_ms)
        self.classic[group_id] = node_id, group
        self._store(group)
        return group

    def has_consumers(self, group_id: str) -> bool:
        """Return whether members of KIP-848 have the group."""
        return group_id in self.consumer and bool(self.consumer[group_id][1].members)

    def find_consumer(self, node_id: int, group_id: str, *, create: bool) -> ConsumerGroup:
        """Return a group of KIP-848 for its coordinator. Raises RequestRefused if there is none.

        With ``create``, a classic group becomes one. A new coordinator finds all of it in the log, and gives every
        member a whole session.
        """
        classic = self.find(node_id, group_id)
        if classic is not None and create:
            self._upgrade(node_id, classic)
        elif classic is not None or (group_id not in self.consumer and not create):
            raise RequestRefused(ErrorCode.group_id_not_found)
        host, group = self.consumer.get(group_id, (node_id, ConsumerGroup(group_id)))
        self.consumer[group_id] = node_id, group
        if host != node_id:
            self._load(node_id, group)
        return group

    def _load(self, node_id: int, group: ConsumerGroup) -> None:
        moves = ConsumerGroups(self._state, node_id)
        for member in group.members.values():
            member.expect_nothing()
            moves.expect(group, member)

    def find_mixed(self, node_id: int, group_id: str) -> ConsumerGroup | None:
        """Return the group of KIP-848 that a request of the classic protocol is about, or None."""
        return self.find_consumer(node_id, group_id, create=False) if self.has_consumers(group_id) else None

    def _upgrade(self, node_id: int, classic: ClassicGroup) -> None:
        """Let a group of KIP-848 continue a classic one; an empty one just ends. Raises RequestRefused."""
        group_id = classic.group_id
        if not classic.is_in(ClassicState.EMPTY):
            moves, most = ConsumerGroups(self._state, node_id), self._state.settings.consumer_group_max_size
            if len(classic.members) == most:
                raise RequestRefused(ErrorCode.group_max_size_reached)
            group = upgraded(classic, most, moves.topics())
            self.consumer[group_id] = node_id, group
            self._load(node_id, group)
        del self.classic[group_id], self.log[group_id]

    def downgrade(
        self,
        node_id: int,
        group: ConsumerGroup,
        leaving: Collection[ConsumerMember],
        *,
        is_changed: bool = True,
    ) -> bool:
        """Let a classic group continue one of KIP-848 without some members, if only classic ones are left.

        It rebalances if that changes anything. Return whether it was done.
        """
        if not may_downgrade(group, leaving, self._state.settings.group_max_size):
            return False
        rebalancing = self.rebalancing(node_id)
        classic = downgraded(group, leaving, names_of(self._state), rebalancing.now_ms)
        del self.consumer[group.group_id]
        self.classic[group.group_id] = node_id, classic
        self._store(classic)
        for member in classic.members.values():
            rebalancing.expect_heartbeat(classic, member)
        if is_changed:
            rebalancing.prepare(classic)
        return True

    def _store(self, group: ClassicGroup) -> None:
        self.log[group.group_id] = group.stored()

    def expire_offsets(self, group_id: str, group: ClassicGroup | None, now_ms: int) -> None:
        """Delete the offsets of a group whose retention is over: it begins when the group has become empty.

        A real broker looks for them every ten minutes. Here they expire exactly in time.
        """
        if not self.offsets.of(group_id):
            return
        subscribed: frozenset[str] = frozenset()
        empty_since_ms = -1
        if group_id in self.consumer:
            consumer = self.consumer[group_id][1]
            subscribed, empty_since_ms = frozenset(consumer.topics), consumer.empty_since_ms
            if not consumer.members:
                subscribed = frozenset()
        if group is not None and group.protocol_type is not None:
            if group.is_in(ClassicState.EMPTY):
                empty_since_ms = group.state_at_ms
            elif group.protocol_type == CONSUMER_PROTOCOL and group.is_in(ClassicState.STABLE):
                try:
                    subscribed = frozenset(_topics_of(group))
                except WireError:
                    return
            else:
                return

        def since_ms(committed: Committed) -> int:
            return max(committed.committed_at_ms, empty_since_ms)

        retention_ms = self._state.settings.offsets_retention_ms
        self.offsets.expire(group_id, now_ms, retention_ms, since_ms, subscribed)

    def known(self) -> list[str]:
        """Return every group, in memory or in the log."""
        return sorted({*self.log, *self.consumer})

    def listed(self, node_id: int, group_id: str) -> tuple[str, str, str] | None:
        """Return the type, state and protocol type of a group, or None."""
        if group_id in self.consumer:
            return (
                "Consumer",
                self.find_consumer(node_id, group_id, create=False).state.value,
                CONSUMER_PROTOCOL,
            )
        group = self.find(node_id, group_id)
        return None if group is None else ("Classic", group.state.value, group.protocol_type or "")

    # Moves.

    def cluster_changed(self) -> None:
        """Look for groups with another coordinator as soon as the change of the cluster is complete."""
        if self.classic and not self._is_checked_later:
            self._is_checked_later = True
            self._state.agenda.at(AT_ONCE, self._check_later)

    def _check_later(self, _: int) -> None:
        self._is_checked_later = False
        self.move_groups()

    def move_groups(self) -> None:
        """Take every group out of the memory of a broker that no longer coordinates it."""
        for group_id, (node_id, group) in tuple(self.classic.items()):
            if group_coordinator(self._state, group_id) != node_id:
                del self.classic[group_id]
                dissolve(group, ErrorCode.not_coordinator)


def _topics_of(group: ClassicGroup) -> Iterator[str]:
    """Yield the topics of all members. Raises WireError for metadata that is not a subscription."""
    for member in group.members.values():
        yield from read_subscription(member.metadata(group.protocol_name)).topics


def protocols_of(body_protocols: object) -> Protocols:
    """Return the protocols of a JoinGroup request."""
    return tuple((str(each.name), bytes(each.metadata)) for each in body_protocols)  # type: ignore[attr-defined]
