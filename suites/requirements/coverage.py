"""Which checks, properties and mutants judge each behaviour, and on which clients.

A check of evidence judges any client, unless it needs the reference client's trace. A property judges the
reference client. A mutant counts for the behaviours that its own defect breaks (``Mutant.breaks``), and not
for others that happen to be named by the properties and checks that catch it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from clients.seeding.table import mutants
from harness.plugins import registry
from suites.properties.property import by_requirement
from suites.requirements import GROUPS, Behaviour, Group

TRACE = "trace"


class Judged(StrEnum):
    """On which clients a behaviour is judged."""

    ANY_CLIENT = "any client"
    REFERENCE = "the reference client alone"
    NOT_YET = "not yet"


@dataclass(frozen=True, slots=True)
class Covered:
    """A behaviour with the names of everything that judges it.

    ``checks`` judge any client. ``trace_checks`` and ``properties`` (``suite/name``) judge the reference client.
    ``mutants`` are those whose own defect breaks the behaviour.
    """

    behaviour: Behaviour
    checks: tuple[str, ...]
    trace_checks: tuple[str, ...]
    properties: tuple[str, ...]
    mutants: tuple[str, ...]

    @property
    def judged(self) -> Judged:
        """A behaviour that is not implemented is not yet judged, even if a property or check judges part of it."""
        if self.behaviour.not_yet:
            return Judged.NOT_YET
        if self.checks:
            return Judged.ANY_CLIENT
        return Judged.REFERENCE if self.trace_checks or self.properties else Judged.NOT_YET


@dataclass(frozen=True, slots=True)
class Totals:
    """How many behaviours are judged on which clients, and how many of them have a mutant."""

    total: int
    any_client: int
    reference: int
    not_yet: int
    with_mutant: int


def coverage() -> dict[str, tuple[Group, tuple[Covered, ...]]]:
    """Prefix -> the group and its behaviours with what covers them."""
    properties, seeded = properties_by_id(), mutants_by_id()
    checks, trace_checks = checks_by_id(on_trace=False), checks_by_id(on_trace=True)

    def covered(behaviour: Behaviour) -> Covered:
        by = (each.get(behaviour.id, ()) for each in (checks, trace_checks, properties, seeded))
        return Covered(behaviour, *by)

    return {group.prefix: (group, tuple(map(covered, group.behaviours))) for group in GROUPS}


def totals(rows: Iterable[Covered]) -> Totals:
    """Return the counts for these behaviours. A behaviour that is not judged yet does not count as having a mutant."""
    rows = list(rows)
    count = {judged: sum(row.judged is judged for row in rows) for judged in Judged}
    return Totals(
        total=len(rows),
        any_client=count[Judged.ANY_CLIENT],
        reference=count[Judged.REFERENCE],
        not_yet=count[Judged.NOT_YET],
        with_mutant=sum(bool(row.mutants) and row.judged is not Judged.NOT_YET for row in rows),
    )


def properties_by_id() -> Mapping[str, tuple[str, ...]]:
    """Map each behaviour id to the properties that name it."""
    return _grouped((requirement, prop.id) for requirement, prop in by_requirement())


def checks_by_id(*, on_trace: bool | None = None) -> Mapping[str, tuple[str, ...]]:
    """Map each behaviour id to the checks that name it: all, those that need a trace, or those that do not."""
    return _grouped(
        (requirement.id, name)
        for name, check in registry.checks().items()
        if on_trace is None or (TRACE in check.requires) is on_trace
        for requirement in check.requirements
    )


def mutants_by_id() -> Mapping[str, tuple[str, ...]]:
    """Map each behaviour id to the mutants whose own defect breaks it."""
    return _grouped((broken, name) for name, mutant in mutants().items() for broken in mutant.breaks)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return {key: tuple(sorted(set(values))) for key, values in found.items()}
