"""A JoinGroup is given up after request.timeout.ms, although the group waits for its other members."""

from __future__ import annotations

from typing import Any

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api


class Member(ConsumerCoordinator):
    """A member that has no patience with others."""

    def ask(self, api: Api, build: Any, handle: Any, **limits: Any) -> RequestFuture[Any]:
        if api is Api.JOIN_GROUP:
            limits["timeout_ms"] = None
        return super().ask(api, build, handle, **limits)


MUTANT = Mutant(
    "gives up a join after request.timeout.ms while the group rebalances",
    Components(coordinator=Member),
    caught_by=("join-given-up", "timeout_expiry/a_join_may_take_as_long_as_a_rebalance"),
    scenarios=("group/slow-rebalance",),
    breaks=("CSM-GRP-03",),
)
