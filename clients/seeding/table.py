"""All mutants by name: those of this project, and those that others have registered (``kafka_trial.mutants``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plugins import registry

if TYPE_CHECKING:
    from clients.reference.producer.producer import Components
    from clients.seeding.mutant import Mutant


def mutants() -> dict[str, Mutant]:
    """Name -> mutant. All of their files are imported; ``registry.names("mutants")`` imports none."""
    return registry.table("mutants")


def mutant(name: str) -> Mutant:
    """The mutant of that name; UsageError for a name that is none."""
    found: Mutant = registry.one("mutants", "mutant", name)
    return found


def components_of(name: str) -> Components:
    """The components of a mutant; UsageError for a name that is none."""
    return mutant(name).components
