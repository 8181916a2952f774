"""A completion callback that raises aborts the event loop's round, and the other callbacks do not run."""

from __future__ import annotations

from clients.reference.network.completions import Completions
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant


class Fragile(Completions):
    """Runs callbacks without catching their errors."""

    def run(self, now_ms: int) -> None:
        while self.queue:
            request, response = self.queue.popleft()
            request.on_complete(response, now_ms)


class FragileClient(NetworkClient):
    """Uses ``Fragile``."""

    completions = Fragile


MUTANT = Mutant(
    "lets a completion callback that raises stop the other callbacks",
    Components(network_client=FragileClient),
    caught_by=("state_transitions/RequestsEndOnceAndInOrder",),
    breaks=("NET-INF-08",),
)
