"""Requests to a coordinator share the data connection to its broker, and wait for the requests before them."""

from __future__ import annotations

from msgspec.structs import replace

from clients.reference.common.requests import ClientRequest
from clients.reference.network.network_client import NetworkClient
from clients.reference.ports import INT32_MAX, Node
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Sharing(NetworkClient):
    """Replaces a coordinator's node id by the broker's id."""

    def add_node(self, node: Node) -> None:
        pass

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        return super().is_ready(_broker(node_id), now_ms)

    def can_send_request(self, node_id: int, now_ms: int) -> bool:
        return super().can_send_request(_broker(node_id), now_ms)

    def send(self, request: ClientRequest, now_ms: int) -> bool:
        return super().send(replace(request, node_id=_broker(request.node_id)), now_ms)


def _broker(node_id: int) -> int:
    return INT32_MAX - node_id if node_id > INT32_MAX // 2 else node_id


MUTANT = Mutant(
    "sends a broker's coordinator requests over its data connection",
    Components(network_client=Sharing),
    caught_by=("delivery/a_coordinator_has_a_connection_of_its_own",),
    breaks=("NET-CON-16",),
)
