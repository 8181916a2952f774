"""An exception of the rebalance listener is logged, and the application never learns of it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.rebalance_listener import RebalanceListenerInvoker
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Discreet(RebalanceListenerInvoker):
    """Passes no exception on."""

    def _invoke(
        self, call: Callable[[list[TopicPartition]], None], partitions: Collection[TopicPartition]
    ) -> Call[Exception | None]:
        yield from super()._invoke(call, partitions)
        return None


class Member(ConsumerCoordinator):
    """A member that keeps errors to itself."""

    listener_component = Discreet


MUTANT = Mutant(
    "does not raise an exception of the listener from poll()",
    Components(coordinator=Member),
    caught_by=("listener-error-hidden", "delivery/an_error_of_the_listener_comes_out_of_poll"),
    scenarios=("group/listener-throws-assigned", "group/listener-throws-revoked"),
    breaks=("CSM-GRP-13",),
)
