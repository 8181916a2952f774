"""The client may choose a node that is throttled or backing off as the least loaded one."""

from __future__ import annotations

from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class IndiscriminateClient(NetworkClient):
    """Chooses the node with the fewest requests in flight, whatever its state."""

    def least_loaded_node(self, now_ms: int) -> int | None:
        return min(self._metadata.nodes, key=self._in_flight.count, default=None)


MUTANT = Mutant(
    "sends to the node with the fewest requests, even if it is throttled or backing off",
    Components(network_client=IndiscriminateClient),
    caught_by=("state_transitions/ConnectionsWalkTheirStates", "delivery/a_throttled_node_is_asked_nothing"),
    breaks=("NET-CON-13",),
)
