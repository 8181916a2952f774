"""A page per comparison: two configurations, or two versions of one client, over the trials that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.cli import outcome_changes as told
from harness.judging.compare import Across, Side
from harness.judging.outcome_changes import DEFAULT, NAMES, OutcomeChanges, outcome_changes, part
from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.outcomes import words
from harness.outcomes.cells import Row, cell_of, table
from harness.outcomes.metrics import Metric
from harness.outcomes.pairs import Direction
from harness.text.version_order import by_version
from reports.pages import outcomes
from reports.pages.file_names import page_of

#: More comparisons are not written. ``kafka-trial diff`` makes any of them.
MOST_PAGES = 60
MOST_VARIANTS = 20
ARROWS = {Direction.WORSE: "▼", Direction.BETTER: "▲"}


@dataclass(frozen=True)
class SideRow:
    """One side of a cell: its verdicts, its outcomes as text, and metric -> how the second side differs."""

    name: str
    verdicts: Sequence[tuple[str, int]]
    shown: Mapping[str, outcomes.Shown]
    moved: Mapping[str, str]
    first_trial: str


@dataclass(frozen=True)
class Situation:
    """One row of a comparison: what both sides share, in words, and the two sides."""

    scenario: str
    place: str
    sides: Sequence[SideRow]


@dataclass(frozen=True)
class Comparison:
    """Two names of one run side by side. ``changes`` are rows of ``told.COLUMNS``, the clear ones first."""

    old: str
    new: str
    across: Across
    file: str
    summary: str
    clear: int
    changes: Sequence[Sequence[str]]
    metrics: Mapping[str, Metric]
    situations: Sequence[Situation]
    #: The clients whose trials are compared.
    clients: frozenset[str]


def comparisons(specs: Mapping[str, TrialSpec], verdicts: Sequence[TrialVerdict]) -> list[Comparison]:
    """Return the comparisons of a run: each version of a client with the one before, each configuration with the first.

    The first is the first in order with which it has trials in common.
    """
    found, run = [], Side(specs, verdicts)
    for across, candidates, new in _asked(verdicts):
        after = part(run, across, new)
        for old in candidates:
            before = part(run, across, old)
            changes = outcome_changes(before, after, across)
            if changes.pairs:
                found.append(_comparison(across, old, new, before, after, changes))
                break
    return found[:MOST_PAGES]


def _asked(verdicts: Iterable[TrialVerdict]) -> Iterator[tuple[Across, Sequence[str], str]]:
    """Yield what may be compared: names in order of preference, and the name that is compared with one of them."""
    versions: dict[str, set[str]] = defaultdict(set)
    variants = set()
    for verdict in verdicts:
        versions[verdict.client.partition("@")[0]].add(verdict.client)
        variants.add(verdict.variant)
    for _, names in sorted(versions.items()):
        for old, new in pairwise(sorted(names, key=by_version)):
            yield Across.CLIENTS, [old], new
    ordered = [variant or DEFAULT for variant in sorted(variants)][:MOST_VARIANTS]
    for number, new in enumerate(ordered):
        if number:
            yield Across.VARIANTS, ordered[:number], new


def _comparison(
    across: Across, old: str, new: str, before: Side, after: Side, changes: OutcomeChanges
) -> Comparison:
    shown, common = told.notable(changes), told.common_names(changes)
    rows = [*table(before.verdicts), *table(after.verdicts)]
    metrics = words.columns(rows)
    return Comparison(
        old=old,
        new=new,
        across=across,
        file=page_of(old, new),
        summary=told.summary(changes, len(shown)),
        clear=sum(each.clear for each in changes.by_client),
        changes=[told.cells(each, common) for each in shown[: told.MAX_ROWS]],
        metrics=metrics,
        situations=_situations(across, before, after, metrics, changes),
        clients=frozenset(each.client for each in after.verdicts)
        | (frozenset([old]) if across is Across.CLIENTS else frozenset()),
    )


def _situations(
    across: Across, before: Side, after: Side, metrics: Mapping[str, Metric], changes: OutcomeChanges
) -> list[Situation]:
    sides = [_by_place(across, side.verdicts) for side in (before, after)]
    moved: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for each in changes.by_cell:
        if arrow := ARROWS.get(each.direction):
            client = "" if across is Across.CLIENTS else each.cell.client
            variant = "" if across is Across.VARIANTS else each.cell.variant
            place = (each.cell.scenario, client, each.cell.guarantee, variant, each.cell.broker)
            count = each.worse if each.direction is Direction.WORSE else each.better
            moved[place][each.metric] = f"{arrow} {each.direction} in {count} of {each.pairs}"
    return [
        Situation(
            place[0],
            " · ".join(filter(None, place[1:])),
            [
                _side_row(name, of[place], metrics, moved.get(place, {}) if number else {})
                for number, (name, of) in enumerate(zip(_names(before, after, across), sides, strict=True))
            ],
        )
        for place in sorted(sides[0].keys() & sides[1].keys())
    ]


def _names(before: Side, after: Side, across: Across) -> tuple[str, str]:
    return NAMES[across](before.verdicts[0]), NAMES[across](after.verdicts[0])


def _by_place(across: Across, verdicts: Iterable[TrialVerdict]) -> dict[tuple[str, ...], list[TrialVerdict]]:
    found: dict[tuple[str, ...], list[TrialVerdict]] = defaultdict(list)
    for each in verdicts:
        client = "" if across is Across.CLIENTS else each.client
        variant = "" if across is Across.VARIANTS else each.variant
        found[each.scenario, client, each.guarantee, variant, each.broker].append(each)
    return found


def _side_row(
    name: str, verdicts: Sequence[TrialVerdict], metrics: Mapping[str, Metric], moved: Mapping[str, str]
) -> SideRow:
    row: Row
    [row] = table(verdicts, lambda verdict: cell_of(verdicts[0]))
    return SideRow(
        name,
        outcomes.by_verdict(verdicts),
        {key: outcomes.shown(metric, row.outcomes.get(key)) for key, metric in metrics.items()},
        moved,
        verdicts[0].trial,
    )
