"""A wakeup during a rebalance gives the join up, and the next poll begins another one."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.errors import WakeupError
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Startled(ConsumerNetworkClient):
    """Remembers that it was woken up."""

    was_woken = False

    def maybe_trigger_wakeup(self) -> None:
        try:
            super().maybe_trigger_wakeup()
        except WakeupError:
            self.was_woken = True
            raise


class Member(ConsumerCoordinator):
    """A member that forgets its join when it is woken up."""

    def _initiate_join_group(self) -> RequestFuture[bytes]:
        client = self._client
        if isinstance(client, Startled) and client.was_woken:
            client.was_woken = False
            if self._join_future is not None:
                self.reset_and_rejoin("woken up", reset_member_id=False)
                self._join_future = None
        return super()._initiate_join_group()


MUTANT = Mutant(
    "joins again after a wakeup during a rebalance",
    Components(consumer_network_client=Startled, coordinator=Member),
    caught_by=("wakeup-joins-again", "delivery/a_wakeup_leaves_the_join_for_the_next_poll"),
    scenarios=("group/wakeup-while-joining",),
    breaks=("CSM-WKP-02",),
)
