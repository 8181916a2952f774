"""Commits that follow another one within half a second are not sent, and nevertheless succeed."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import READS, Mutant

PAUSE_MS = 500


class Sparing(OffsetCommits):
    """Expects a later commit to store what an earlier one did not. The last one has none after it."""

    next_ms = 0

    def _send(self, offsets: Offsets) -> RequestFuture[None]:
        if self._clock.now_ms < self.next_ms:
            return RequestFuture.of_value(None)
        self.next_ms = self._clock.now_ms + PAUSE_MS
        return super()._send(offsets)


class Member(ConsumerCoordinator):
    """A member that commits less often than it says."""

    commit_component = Sparing


MUTANT = Mutant(
    "reports success for commits that it does not send, if another one was sent shortly before",
    Components(coordinator=Member),
    caught_by=("lost-commit",),
    breaks=("CSM-OFC-06",),
    scenarios=READS,
)
