"""A wakeup is noticed only once the network has brought something."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.consumer.calls import Call, Timer, Wait
from clients.reference.consumer.components import Components
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.seeding.mutant import Mutant


class Deaf(ConsumerNetworkClient):
    """Waits as long as without a wakeup."""

    def wait(
        self, timer: Timer, *, is_done: Callable[[], bool] = lambda: False, wakeup: bool = True
    ) -> Call[None]:
        yield Wait(timer.now_ms if is_done() else self._wait_until_ms(timer))
        if wakeup:
            self.maybe_trigger_wakeup()


MUTANT = Mutant(
    "notices a wakeup only after the wait for the network",
    Components(consumer_network_client=Deaf),
    caught_by=("state_transitions/a_wakeup_ends_a_wait_at_once",),
    breaks=("CSM-WKP-01",),
)
