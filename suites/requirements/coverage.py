"""Which behaviours are checked, by what, and which mutants show that the check bites.

A behaviour is checked if a law or a check names its id; a mutant counts for it if one of those catches the mutant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clients.mutants import MUTANTS
from harness import registry
from harness.outcome import Level
from suites.requirements import GROUPS, Behaviour, Group
from suites.simulated.law import by_requirement


@dataclass(frozen=True, slots=True)
class Covered:
    """A behaviour with the names of the laws (``suite/name``), checks and mutants that stand for it."""

    behaviour: Behaviour
    laws: tuple[str, ...]
    checks: tuple[str, ...]
    mutants: tuple[str, ...]

    @property
    def is_checked(self) -> bool:
        return bool(self.laws or self.checks)


@dataclass(frozen=True, slots=True)
class Tally:
    """Of ``total`` behaviours ``checked`` are checked, ``bitten`` of them also have a mutant; ``must`` alike."""

    total: int
    checked: int
    bitten: int
    must_total: int
    must_checked: int


def coverage() -> dict[str, tuple[Group, tuple[Covered, ...]]]:
    """Prefix -> the group and its behaviours with what covers them."""
    laws, checks, mutants = laws_by_id(), checks_by_id(), mutants_by_catcher()

    def covered(behaviour: Behaviour) -> Covered:
        by = (*laws.get(behaviour.id, ()), *checks.get(behaviour.id, ()))
        caught = sorted({mutant for catcher in by for mutant in mutants.get(catcher, ())})
        return Covered(
            behaviour, laws.get(behaviour.id, ()), checks.get(behaviour.id, ()), mutants=tuple(caught)
        )

    return {group.prefix: (group, tuple(map(covered, group.behaviours))) for group in GROUPS}


def tally(rows: Iterable[Covered]) -> Tally:
    """What the summary lines say."""
    rows = list(rows)
    binding = [row for row in rows if row.behaviour.level is Level.MUST]
    checked = [row for row in rows if row.is_checked]
    return Tally(
        total=len(rows),
        checked=len(checked),
        bitten=sum(1 for row in checked if row.mutants),
        must_total=len(binding),
        must_checked=sum(row.is_checked for row in binding),
    )


def laws_by_id() -> Mapping[str, tuple[str, ...]]:
    """Behaviour id -> laws that name it."""
    return _grouped((requirement, law.id) for requirement, law in by_requirement())


def checks_by_id() -> Mapping[str, tuple[str, ...]]:
    """Behaviour id -> checks that name it."""
    return _grouped(
        (requirement.id, name)
        for name, check in registry.table("checks").items()
        for requirement in check.requirements
    )


def mutants_by_catcher() -> Mapping[str, tuple[str, ...]]:
    """Law or check -> mutants that it catches."""
    return _grouped((by, name) for name, mutant in MUTANTS.items() for by in mutant.caught_by)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return {key: tuple(sorted(set(values))) for key, values in found.items()}
