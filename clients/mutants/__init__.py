"""Mutants: the reference client with one seeded defect each, to show that every check can fail.

A mutant is a file that swaps components of the producer. It is a client kind of its own, ``mutant-<name>``, run
exactly as any other client; no default selection contains one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING

from clients.adapters.reference import Reference
from harness.errors import unknown
from harness.outcome import Guarantee

if TYPE_CHECKING:
    from clients.reference.producer import Components


@dataclass(frozen=True)
class Mutant:
    """``defect`` completes "the reference client, which ..."; ``check`` is meant to catch it where it says.

    ``module`` has the swapped components as ``COMPONENTS``.
    """

    module: str
    defect: str
    check: str
    scenario: str
    guarantee: Guarantee


def _mutant(name: str, defect: str, check: str, scenario: str, guarantee: Guarantee) -> tuple[str, Mutant]:
    return name, Mutant(f"clients.mutants.{name}", defect, check, scenario, guarantee)


MUTANTS: dict[str, Mutant] = dict(
    (
        _mutant(
            "acknowledges_before_response",
            "reports a record as written as soon as it was sent",
            "lost",
            "produce/disconnect",
            Guarantee.AT_LEAST_ONCE,
        ),
        _mutant(
            "retries_with_new_sequence",
            "gives a batch the next sequence numbers whenever it sends it again",
            "duplicate",
            "produce/dropped-response",
            Guarantee.IDEMPOTENT,
        ),
        _mutant(
            "drops_batch_on_disconnect",
            "forgets the batches that were in flight on a lost connection",
            "still-pending",
            "produce/disconnect",
            Guarantee.AT_LEAST_ONCE,
        ),
        _mutant(
            "reorders_on_retry",
            "turns the records of a batch round when it sends it again",
            "reordered",
            "produce/disconnect",
            Guarantee.IDEMPOTENT,
        ),
        _mutant(
            "reports_success_as_failure",
            "takes a lost connection for a refusal, and reports records as certainly not written",
            "phantom",
            "produce/dropped-response",
            Guarantee.AT_LEAST_ONCE,
        ),
        _mutant(
            "corrupts_on_retry",
            "damages a value when it sends a batch again",
            "corrupted",
            "produce/dropped-response",
            Guarantee.AT_LEAST_ONCE,
        ),
        _mutant(
            "gives_up_on_disconnect",
            "does not send again what was in flight on a lost connection",
            "gave-up",
            "produce/disconnect",
            Guarantee.AT_LEAST_ONCE,
        ),
        _mutant(
            "never_expires",
            "waits for ever for an answer whose connection is gone",
            "delivery-timeout",
            "produce/disconnect",
            Guarantee.AT_LEAST_ONCE,
        ),
    )
)

#: The client kinds, as attributes by the mutants' names: what entry points can point to.
CLIENTS = SimpleNamespace(**{name: Reference(name, mutant.defect) for name, mutant in MUTANTS.items()})


def components_of(name: str) -> Components:
    """The components of a mutant; UsageError for a name that is none."""
    if name not in MUTANTS:
        raise unknown("mutant", name, MUTANTS)
    components: Components = import_module(MUTANTS[name].module).COMPONENTS
    return components
