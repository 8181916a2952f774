"""A connection that is lost with a request in flight stops the sender: nothing is sent, expired or ended any more."""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.sender import Batches, Sender


class StalledSender(Sender):
    """Stops at the first lost request."""

    _is_stalled = False

    def step(self, now_ms: int) -> int | None:
        return None if self._is_stalled else super().step(now_ms)

    def _handle_produce_response(self, batches: Batches, response: ClientResponse, now_ms: int) -> None:
        if response.disconnected:
            self._is_stalled = True
        else:
            super()._handle_produce_response(batches, response, now_ms)


COMPONENTS = Components(sender=StalledSender)
