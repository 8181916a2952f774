"""A reconnect backoff is capped before jitter is added, so it may exceed its maximum, as before Kafka 3.8."""

from __future__ import annotations

from clients.reference.common.backoff import JITTER, ExponentialBackoff
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.network_client import NetworkClient
from clients.reference.network.node_addresses import Resolve
from clients.reference.ports import Jitter
from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import Trace
from clients.seeding.mutant import Mutant


class EarlyCapped(ExponentialBackoff):
    """Caps the delay and then adds jitter."""

    def delay_ms(self, earlier_failures: int) -> int:
        plain_ms = min(self.initial_ms << min(earlier_failures, 31), self.max_ms)
        return round(plain_ms * (1 + JITTER * self.jitter()))


class OldStates(ClusterConnectionStates):
    """Uses ``EarlyCapped`` for reconnect backoffs."""

    def __init__(self, config: ProducerConfig, resolve: Resolve, jitter: Jitter, trace: Trace) -> None:
        super().__init__(config, resolve, jitter, trace)
        self._reconnect = EarlyCapped(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, jitter)


class OldClient(NetworkClient):
    """Uses ``OldStates``."""

    connection_states = OldStates


MUTANT = Mutant(
    "lets the jitter raise a reconnect backoff above its maximum",
    Components(network_client=OldClient),
    caught_by=("timeout_expiry/each_failure_in_a_row_waits_longer",),
    breaks=("NET-CON-05",),
)
