"""Companions: clients in the group of the client under test, at their default versions. They are not judged. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.model.spec import ClientRef, TrialSpec
from harness.plugins import registry
from harness.plugins.scenario import Scenario


def companions(scenario: Scenario, client: ClientRef) -> tuple[ClientRef, ...]:
    """Return the companions of a client in a scenario: all that it names, but no second member of the client itself."""
    return tuple(
        ClientRef(name, registry.client(name).default_version)
        for name in scenario.companions
        if name != client.name
    )


def told(trials: Iterable[TrialSpec]) -> Iterator[str]:
    """Yield a sentence about each client with companions."""
    for scenario, client, others in dict.fromkeys(
        (spec.scenario, spec.client, spec.companions) for spec in trials if spec.companions
    ):
        yield f"{scenario}: the group of {client} has members of {', '.join(map(str, others))} too"
