"""A JoinGroup is given up after request.timeout.ms, although the group waits for its other members."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that has no patience with others."""

    def _send_join_group(self) -> RequestFuture[bytes]:
        config, short = self._config, replace(self._config, max_poll_interval_ms=0)
        self._config = short
        try:
            return super()._send_join_group()
        finally:
            self._config = config


MUTANT = Mutant(
    "gives up a join after request.timeout.ms while the group rebalances",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/a_join_may_take_as_long_as_a_rebalance",),
    breaks=("CSM-GRP-03",),
)
