"""A wakeup during a rebalance gives the join up, and the next poll begins another one."""

from __future__ import annotations

from typing import Any

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.errors import WakeupError
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Startled(ConsumerCoordinator):
    """A member that forgets its join when the application is woken up."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._was_woken = False
        self._trigger_wakeup = self._client.maybe_trigger_wakeup
        self._client.maybe_trigger_wakeup = self._notice_wakeup  # type: ignore[method-assign]

    def _notice_wakeup(self) -> None:
        try:
            self._trigger_wakeup()
        except WakeupError:
            self._was_woken = True
            raise

    def _initiate_join_group(self) -> RequestFuture[bytes]:
        if self._was_woken:
            self._was_woken = False
            if self._join_future is not None:
                self.reset_and_rejoin("woken up", reset_member_id=False)
                self._join_future = None
        return super()._initiate_join_group()


MUTANT = Mutant(
    "joins again after a wakeup during a rebalance",
    Components(coordinator=Startled),
    caught_by=("wakeup-joins-again", "delivery/a_wakeup_leaves_the_join_for_the_next_poll"),
    scenarios=("group/wakeup-while-joining",),
    breaks=("CSM-WKP-02",),
)
