"""Close waits for as long as a rebalance may take, whatever limit the application gave."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer, sleep
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.abstract_coordinator import JOIN_GROUP_LAPSE_MS
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_member import DEFAULT
from clients.seeding.mutant import READS, Mutant


class Patient(ConsumerCoordinator):
    """Waits after it has left until the group must continue without it."""

    def close(self, timer: Timer, operation: str = DEFAULT) -> Call[None]:
        yield from super().close(timer, operation)
        longest_ms = self._config.max_poll_interval_ms + JOIN_GROUP_LAPSE_MS
        yield from sleep(Timer(self._clock, longest_ms), longest_ms)


MUTANT = Mutant(
    "waits in close for as long as a rebalance may take, beyond the limit that it was given",
    Components(coordinator=Patient),
    caught_by=("close-late",),
    breaks=("CSM-API-05",),
    scenarios=READS,
)
