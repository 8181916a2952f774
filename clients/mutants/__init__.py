"""Mutants: the reference client with one seeded defect each, to show that every law and check can fail.

A mutant is a file that swaps components of the producer. It is a client kind of its own, ``mutant-<name>``, run
exactly as any other client; no default selection contains one. The defects are those that real clients have had.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING

from clients.adapters.reference import Reference
from clients.mutants.tables.answers import ANSWERS
from clients.mutants.tables.batches import BATCHES
from clients.mutants.tables.cluster import CLUSTER
from clients.mutants.tables.identity import IDENTITY
from clients.mutants.tables.network import NETWORK
from clients.mutants.tables.plug_ins import PLUG_INS
from clients.mutants.tables.row import Mutant
from clients.mutants.tables.settings import SETTINGS
from clients.mutants.tables.waiting import WAITING
from harness.model.errors import unknown

if TYPE_CHECKING:
    from clients.reference.producer.producer import Components

MUTANTS: dict[str, Mutant] = {
    **NETWORK,
    **CLUSTER,
    **WAITING,
    **BATCHES,
    **ANSWERS,
    **IDENTITY,
    **SETTINGS,
    **PLUG_INS,
}

#: The client kinds, as attributes by the mutants' names: what entry points can point to.
CLIENTS = SimpleNamespace(**{name: Reference(name, mutant.defect) for name, mutant in MUTANTS.items()})


def components_of(name: str) -> Components:
    """The components of a mutant; UsageError for a name that is none."""
    if name not in MUTANTS:
        raise unknown("mutant", name, MUTANTS)
    components: Components = import_module(f"clients.mutants.{name}").COMPONENTS
    return components
