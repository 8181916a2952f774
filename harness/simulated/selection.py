"""Which clients can run in the simulated world."""

from __future__ import annotations

from harness.model.errors import UsageError
from harness.model.spec import ClientRef
from harness.plugins import registry
from harness.simulated.ports import SimulatedClientKind


def assert_simulated(client: ClientRef) -> ClientRef:
    """``client``, if it can run in the simulated world; UsageError for one that is a program of its own."""
    if not isinstance(registry.client(client.name), SimulatedClientKind):
        raise UsageError(
            "client-not-simulated",
            "client {client!r} cannot run in the simulated world; reference and its mutants can",
            client=client.name,
        )
    return client
