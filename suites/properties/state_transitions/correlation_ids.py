"""Correlation ids across all connections of a client, at the end of their range."""

from __future__ import annotations

from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import RequestSent
from suites.properties.property import client_property, example
from suites.properties.simulation import Simulation

#: SaslClientAuthenticator numbers its own requests from here to 2147483647.
RESERVED, LOWEST = 2**31 - 8, -(2**31)


@client_property("NET-INF-02", before=st.integers(1, 12), count=st.integers(1, 8))
@example(before=3, count=6)
def correlation_ids_go_round(components: Components, before: int, count: int) -> None:
    """Ids rise by one across all connections. The lowest negative number follows the last one below those of SASL."""
    simulation = Simulation(components, {"linger.ms": 0}, nodes=2, partitions=2)
    simulation.warm(partition=0)
    simulation.core._client._exchanges.next_correlation_id = due = RESERVED - before
    first = len(simulation.told(RequestSent))
    for number in range(count + before):
        simulation.warm(partition=number % 2)
    sent = simulation.told(RequestSent)[first:]
    assert len({event.node for event in sent}) == 2
    for event in sent:
        assert event.correlation_id == due, f"{event.api} has id {event.correlation_id}, expected {due}"
        due = LOWEST if due + 1 == RESERVED else due + 1
