"""Which clients can run in simulated mode."""

from __future__ import annotations

from harness.model.errors import UsageError
from harness.model.spec import ClientRef
from harness.plugins import registry
from harness.simulated.ports import SimulatedClientKind


def assert_simulated(client: ClientRef) -> ClientRef:
    """``client``, if it can run in simulated mode; UsageError for one that is a program of its own."""
    if not isinstance(registry.client(client.name), SimulatedClientKind):
        raise UsageError(
            f"client {client.name!r} cannot run in simulated mode; reference and its mutants can"
        )
    return client
