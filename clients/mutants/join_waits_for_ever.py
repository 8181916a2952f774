"""A JoinGroup that is never answered is never given up."""

from __future__ import annotations

from typing import Any

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant
from harness.wire.apis import Api


class Member(ConsumerCoordinator):
    """A member that always waits for the answer."""

    def ask(self, api: Api, build: Any, handle: Any, **limits: Any) -> RequestFuture[Any]:
        if api is Api.JOIN_GROUP:
            limits["timeout_ms"] = 2**31 - 1
        return super().ask(api, build, handle, **limits)


MUTANT = Mutant(
    "waits without limit for the answer to a join",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/a_join_without_an_answer_has_an_end",),
    breaks=("CSM-GRP-03",),
)
