"""A request that a listener queues within a round is sent twice."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Doubling(ConsumerNetworkClient):
    """Forgets to take a sent request out of its line, once it has completed others."""

    def _complete(self) -> None:
        waiting = bool(self._completed)
        super()._complete()
        if waiting:
            for queue in self._unsent.values():
                queue.extend(list(queue))


MUTANT = Mutant(
    "sends what was queued within a round twice",
    Components(consumer_network_client=Doubling),
    caught_by=("state_transitions/what_a_listener_queues_is_sent_in_its_own_time",),
    breaks=("CSM-CNC-01",),
)
