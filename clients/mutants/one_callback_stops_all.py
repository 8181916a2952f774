"""A completion callback that raises takes the round, and the other callbacks, with it."""

from __future__ import annotations

from clients.reference.network.completions import Completions
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Fragile(Completions):
    """Tells callers without a net."""

    def run(self, now_ms: int) -> None:
        while self.queue:
            request, response = self.queue.popleft()
            request.on_complete(response, now_ms)


class FragileClient(NetworkClient):
    """Has such completions."""

    completions = Fragile


MUTANT = Mutant(
    "lets a completion callback that raises stop the others",
    Components(network_client=FragileClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder",),
    breaks=("NET-INF-08",),
)
