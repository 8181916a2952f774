"""With every response, the client opens another connection and never uses it."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import Disconnection, Polled
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.wire.primitives import Data

_FIRST_SPARE = 1_000_000


class Leaky(NetworkClient):
    """Opens a spare connection for every response and hides it from the client."""

    spares = 0

    def _handle_received(self, node_id: int, payload: Data, now_ms: int) -> None:
        super()._handle_received(node_id, payload, now_ms)
        if node := self.node(node_id):
            for address in (self._selector.resolve(node.host, node.port) or ())[:1]:
                self._selector.connect(_FIRST_SPARE + self.spares, address)
                self.spares += 1

    def _note_use(self, polled: Polled, now_ms: int) -> None:
        polled.connected[:] = [node_id for node_id in polled.connected if node_id < _FIRST_SPARE]
        super()._note_use(polled, now_ms)

    def _handle_disconnection(self, node_id: int, disconnection: Disconnection, now_ms: int) -> None:
        if node_id < _FIRST_SPARE:
            super()._handle_disconnection(node_id, disconnection, now_ms)


MUTANT = Mutant(
    "opens connections that it never uses",
    Components(network_client=Leaky),
    caught_by=("connections-leaked",),
    breaks=("NET-CON-05",),
    scenarios=("produce/calm",),
)
