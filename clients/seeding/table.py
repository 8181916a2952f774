"""The mutants of the reference client: those of this project, and those that others have registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients.seeding.mutant import Mutant
from harness.model.errors import UsageError
from harness.plugins import registry

if TYPE_CHECKING:
    from clients.reference.consumer.components import Components as ConsumerComponents
    from clients.reference.producer.producer import Components


def mutants() -> dict[str, Mutant]:
    """Return name -> mutant. All of their files are imported; ``registry.names("mutants")`` imports none."""
    return {name: each for name, each in registry.table("mutants").items() if isinstance(each, Mutant)}


def components_of(name: str) -> Components:
    """Return the components of a mutant's producer.

    Raise UsageError if there is no such mutant, or if it is one of another client.
    """
    return _seeded(name).producer


def consumer_components_of(name: str) -> ConsumerComponents:
    """Return the components of a mutant's consumer. Raise as ``components_of``."""
    return _seeded(name).consumer


def _seeded(name: str) -> Mutant:
    found = registry.mutant(name)
    if not isinstance(found, Mutant):
        raise UsageError(
            "mutant-without-components",
            "mutant {mutant!r} is one of the client {client!r}, and has no components",
            mutant=name,
            client=found.of,
        )
    return found
