"""If a connection is lost with a request in flight, the sender stops: it no longer sends or expires any batch."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Batches, Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee


class StalledSender(Sender):
    """Stops at the first request that is lost with its connection."""

    _is_stalled = False

    def step(self, now_ms: int) -> int | None:
        return None if self._is_stalled else super().step(now_ms)

    def _handle_produce_response(self, batches: Batches, response: ClientResponse, now_ms: int) -> None:
        if response.disconnected:
            self._is_stalled = True
        else:
            super()._handle_produce_response(batches, response, now_ms)


MUTANT = Mutant(
    "stops sending and expiring once a connection is lost with a request in flight",
    Components(sender=StalledSender),
    caught_by=("stuck",),
    breaks=("E2E-LIV-01",),
    scenario="network/reset",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
