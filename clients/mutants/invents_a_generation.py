"""A commit of a consumer with assigned partitions has generation 0 in place of -1."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_requests import offset_commit_request
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api


class Numbered(OffsetCommits):
    """Sends generation 0 for none."""

    def _send(self, offsets: Offsets) -> RequestFuture[None]:
        if self._subscriptions.has_auto_assigned_partitions:
            return super()._send(offsets)
        sent = Generation(0, "")
        build = offset_commit_request(self._member.group_id, sent, None, offsets)
        return self._member.ask(
            Api.OFFSET_COMMIT, build, lambda body, future, _: self._handle(body, future, sent), highest=9
        )


class Member(ConsumerCoordinator):
    """A member that never was."""

    commit_component = Numbered


MUTANT = Mutant(
    "commits as a member of generation 0 if it has no subscription",
    Components(coordinator=Member),
    caught_by=("commit-identity", "delivery/a_commit_without_subscription_names_no_member"),
    breaks=("CSM-OFC-05",),
    scenarios=("consume/disconnect-assigned",),
)
