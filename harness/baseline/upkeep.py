"""Maintain the known failures: which entries are missing, which are unneeded, and which a run contradicts.

A new entry claims no more than the run has shown. A pattern covers at least two names, and never a trial that was
judged and passed. An entry is flaky only if exactly the same trial failed once and passed once. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from harness.baseline.applied import ACCUSED, apply, bare, first
from harness.baseline.known import KnownFailure, covers, held
from harness.judging.fingerprint import Found, findings, key_of
from harness.model.rows import TrialVerdict
from harness.model.verdicts import Verdict
from harness.text.globs import matches

ANY = "*"


class _What(NamedTuple):
    """What fails. The requirement is empty unless the anomaly does not have a check's name."""

    anomaly: str
    requirement: str


class _Cell(NamedTuple):
    """Where it fails: names, or patterns of names. An empty guarantee means any, and so does the variant ANY."""

    client: str
    scenario: str
    guarantee: str
    variant: str

    def fits(self, cell: _Cell) -> bool:
        """Return True if this pattern covers that cell."""
        return (
            matches(cell.client, self.client)
            and matches(cell.scenario, self.scenario)
            and self.guarantee in ("", cell.guarantee)
            and self.variant in (ANY, cell.variant)
        )


def missing(
    verdicts: Iterable[TrialVerdict], known: Sequence[KnownFailure], found_by: str
) -> list[KnownFailure]:
    """Return a small set of entries that covers all failures of these trials which ``known`` does not cover."""
    trials = [bare(verdict) for verdict in verdicts]
    lacking: dict[_What, dict[_Cell, str]] = {}
    for trial in _failed(trials):
        accounted = first(trial, known)
        for found in findings(trial):
            if accounted[key_of(found.finding)] is None:
                lacking.setdefault(_what(found), {}).setdefault(_cell(trial), found.finding.message)
    return [
        _entry(what, pattern, f"not looked into yet; {found_by}: {message}", flaky)
        for what, cells in sorted(lacking.items())
        for pattern, message, flaky in _least(what, cells, trials)
    ]


def unneeded(verdicts: Iterable[TrialVerdict], known: Sequence[KnownFailure]) -> list[int]:
    """Return the positions in ``known`` of entries whose trials ran, and whose absence would change no verdict.

    A flaky entry whose trial passed may fail again. It is unneeded only if another entry accounts for all that it
    covers.
    """
    trials = [bare(verdict) for verdict in verdicts]
    needed = {entry for trial in _failed(trials) for entry in first(trial, known).values()}
    return [
        place
        for place, entry in enumerate(known)
        if entry not in needed or entry in known[:place]
        if any(_covers_some(entry, trial) or (not entry.flaky and held(entry, trial)) for trial in trials)
    ]


def contradicted(
    verdicts: Iterable[TrialVerdict], known: Sequence[KnownFailure]
) -> dict[KnownFailure, list[str]]:
    """Return the entries that trials contradict, with those trials: they passed although the entry says they fail."""
    found: dict[KnownFailure, list[str]] = {}
    for verdict in verdicts:
        if apply(verdict, known).verdict == Verdict.UNEXPECTED_PASS:
            for entry in known:
                if not entry.flaky and held(entry, verdict):
                    found.setdefault(entry, []).append(verdict.trial)
    return found


def _least(
    what: _What, lacking: dict[_Cell, str], trials: Sequence[TrialVerdict]
) -> Iterator[tuple[_Cell, str, bool]]:
    """Yield a few patterns that cover everything lacking, each with a message, and whether it is flaky."""
    failed = {_cell(trial) for trial in _failed(trials) if _covers_some(_entry(what, _cell(trial)), trial)}
    passed = {_cell(trial) for trial in trials if held(_entry(what, _cell(trial)), trial)}
    stands_for = {
        pattern: cells
        for cell in lacking
        for pattern in _patterns(cell)
        if (cells := _stands_for(pattern, failed, passed))
    }
    left, chosen = set(lacking), []
    while left:
        best = min(
            stands_for, key=lambda pattern: (-len(stands_for[pattern] & left), _width(pattern), pattern)
        )
        chosen.append(best)
        left -= stands_for[best]
    for pattern in list(chosen):
        others = [stands_for[other] for other in chosen if other != pattern]
        if set(lacking) <= set().union(*others):
            chosen.remove(pattern)
    for pattern in sorted(chosen):
        message = min(message for cell, message in lacking.items() if pattern.fits(cell))
        yield pattern, message, not passed.isdisjoint(stands_for[pattern])


def _stands_for(pattern: _Cell, failed: set[_Cell], passed: set[_Cell]) -> set[_Cell]:
    """Return the cells that an entry with this pattern would cover, or none if it claims too much."""
    named = {cell for cell in failed | passed if pattern.fits(cell)}
    alike = named <= failed and (named <= passed or named.isdisjoint(passed))
    several = all(
        # Without a configuration a client has the common settings, which stand for any.
        part in names or len(set(names)) > 1 or (part == ANY and "" in names)
        for part, names in zip(pattern, zip(*named, strict=True), strict=True)
    )
    return named if alike and several else set()


def _patterns(cell: _Cell) -> Iterator[_Cell]:
    name, family = cell.client.rpartition("@")[0], cell.scenario.partition("/")[0]
    clients = (cell.client, f"{name}@*")
    scenarios = (cell.scenario, f"{family}/*", "*")
    variants = dict.fromkeys((ANY, cell.variant))
    return (_Cell(*parts) for parts in product(clients, scenarios, (cell.guarantee, ""), variants))


def _width(pattern: _Cell) -> tuple[int, int, bool]:
    """Return a sort key for how much more than one cell a pattern may cover."""
    wild = sum("*" in part for part in (pattern.client, pattern.scenario)) + (not pattern.guarantee)
    return wild, -len(pattern.scenario), pattern.variant != ANY


def _failed(trials: Iterable[TrialVerdict]) -> list[TrialVerdict]:
    return [trial for trial in trials if trial.verdict in ACCUSED]


def _covers_some(entry: KnownFailure, trial: TrialVerdict) -> bool:
    return trial.verdict in ACCUSED and any(covers(entry, trial, found) for found in findings(trial))


def _cell(trial: TrialVerdict) -> _Cell:
    return _Cell(trial.client, trial.scenario, trial.guarantee, trial.variant)


def _what(found: Found) -> _What:
    anomaly = found.finding.anomaly
    if any(anomaly in requirement.checks for requirement in found.requirements):
        return _What(anomaly, "")
    return _What(anomaly, min(requirement.id for requirement in found.requirements))


def _entry(what: _What, cell: _Cell, reason: str = "", flaky: bool = False) -> KnownFailure:
    return KnownFailure(
        client=cell.client,
        reason=reason,
        anomaly=what.anomaly,
        requirement=what.requirement or None,
        scenario=cell.scenario,
        guarantee=cell.guarantee or None,
        flaky=flaky,
        variant=None if cell.variant == ANY else cell.variant,
    )
