"""All mutants by name: those of this project, and registered ones (``kafka_trial.mutants``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plugins import registry

if TYPE_CHECKING:
    from clients.reference.producer.producer import Components
    from clients.seeding.mutant import Mutant


def mutants() -> dict[str, Mutant]:
    """Return mutants by name. This imports all of their files, unlike ``registry.names("mutants")``."""
    return registry.table("mutants")


def mutant(name: str) -> Mutant:
    """Return a mutant by name. Raise UsageError for an unknown name."""
    found: Mutant = registry.one("mutants", "mutant", name)
    return found


def components_of(name: str) -> Components:
    """Return the components of a mutant. Raise UsageError for an unknown name."""
    return mutant(name).components
