"""The leader applies what it has computed, and not what SyncGroup brings it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.rebalance_responses import RebalanceResponses
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Confident(RebalanceResponses):
    """Remembers the assignment that it sends."""

    sent: Mapping[str, bytes] = {}

    def _sync(self, assignment: Mapping[str, bytes], future: RequestFuture[bytes]) -> None:
        self.sent = assignment
        super()._sync(assignment, future)

    def _synced(self, body: Message, future: RequestFuture[bytes]) -> None:
        own = self.sent.get(self._member.generation.member_id)
        super()._synced(body if own is None else replace(body, assignment=own), future)


class Member(ConsumerCoordinator):
    """A leader that needs no answer."""

    responses = Confident


MUTANT = Mutant(
    "applies its own assignment in place of the coordinator's when it leads",
    Components(coordinator=Member),
    caught_by=("state_transitions/a_member_applies_what_sync_brings_it",),
    breaks=("CSM-GRP-04",),
)
