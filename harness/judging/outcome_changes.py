"""How the outcomes of two sides differ, per client and per scenario. Pure.

Trials are paired as :mod:`harness.judging.compare` pairs them. Those with other faults, load or settings on one side
are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import NamedTuple

from harness.judging.compare import Across, Side, incomparable, key_of, several_versions
from harness.model.rows import TrialVerdict
from harness.outcomes.cells import Cell
from harness.outcomes.pairs import Change, Paired, changes, paired

#: The name of the configuration that a plan has if the user gave none.
DEFAULT = "default"

#: How to read the name of a trial's side, if the sides are parts of a run.
NAMES: Mapping[Across, Callable[[TrialVerdict], str]] = {
    Across.CLIENTS: lambda verdict: verdict.client,
    Across.VARIANTS: lambda verdict: verdict.variant or DEFAULT,
}


def part(one: Side, across: Across, name: str) -> Side:
    """Return the trials of a run that belong to the side with this name."""
    return Side(one.specs, [verdict for verdict in one.verdicts if NAMES[across](verdict) == name])


class OutcomeChanges(NamedTuple):
    """The changes over all scenarios of a client, and those in each of its scenarios."""

    by_client: list[Change]
    by_cell: list[Change]
    pairs: int


def outcome_changes(old: Side, new: Side, across: Across = Across.RUNS) -> OutcomeChanges:
    """Return the differences of every outcome between two sides."""
    pairs = _paired(old, new, across)
    by_client = changes([pair._replace(cell=pair.cell._replace(scenario="", broker="")) for pair in pairs])
    return OutcomeChanges(by_client, changes(pairs), len(pairs))


def _paired(old: Side, new: Side, across: Across) -> list[Paired]:
    several = several_versions(old, new)
    before, after = _tried(old, several, across), _tried(new, several, across)
    for key in before.keys() & after.keys():
        if incomparable(old.specs[before[key][0].trial], new.specs[after[key][0].trial], across):
            del before[key]
    return paired(before, after, _row)


def _tried(one: Side, several: Collection[str], across: Across) -> dict[Hashable, list[TrialVerdict]]:
    found: dict[Hashable, list[TrialVerdict]] = {}
    for verdict in one.verdicts:
        found.setdefault((key_of(one, verdict, several, across), verdict.broker), []).append(verdict)
    return found


def _row(old: TrialVerdict, new: TrialVerdict) -> Cell:
    return Cell(
        _both(old.client, new.client),
        new.broker,
        new.scenario,
        _both(old.variant or DEFAULT, new.variant or DEFAULT) if old.variant != new.variant else new.variant,
        new.guarantee,
    )


def _both(old: str, new: str) -> str:
    return new if old == new else f"{old} -> {new}"
