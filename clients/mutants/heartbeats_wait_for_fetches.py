"""A consumer's requests to its coordinator share the connection on which it fetches from that broker."""

from __future__ import annotations

from clients.mutants.one_connection_a_broker import Sharing
from clients.reference.consumer.components import Components
from clients.seeding.mutant import Mutant

MUTANT = Mutant(
    "sends heartbeats over the connection on which a Fetch may wait",
    Components(network_client=Sharing),
    caught_by=("state_transitions/a_long_fetch_delays_no_heartbeat",),
    breaks=("NET-CON-16",),
)
