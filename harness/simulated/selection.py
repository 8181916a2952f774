"""Select the clients that can run in simulated mode."""

from __future__ import annotations

from harness.model.errors import UsageError
from harness.model.spec import ClientRef
from harness.plugins import registry
from harness.simulated.ports import SimulatedClientKind


def is_simulated(client: str) -> bool:
    """Return whether the client of that name can run in simulated mode."""
    return isinstance(registry.client(client), SimulatedClientKind)


def assert_simulated(client: ClientRef) -> ClientRef:
    """Return ``client``. Raise UsageError if it cannot run in simulated mode."""
    if not is_simulated(client.name):
        raise UsageError(
            "client-not-simulated",
            "client {client!r} cannot run in simulated mode; reference and its mutants can",
            client=client.name,
        )
    return client
