"""What happened to the data: the outcome table, thresholds and known failures, as the first page shows them.

The numbers are those of :mod:`harness.outcomes`, which the terminal and the files for other programs show too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.judging.fingerprint import Cause
from harness.model.rows import TrialVerdict
from harness.model.verdicts import SEVERITY, Verdict
from harness.outcomes import words
from harness.outcomes.cells import Row, Summary, by_client, table
from harness.outcomes.metrics import Metric
from harness.outcomes.thresholds import Evaluation, Met, evaluated, worst_first
from harness.storage.run_store import RunRecord
from harness.text.version_order import by_version


@dataclass(frozen=True)
class Shown:
    """One outcome of a row as text. ``spread`` is the range of single trials; empty if they do not differ."""

    value: str
    spread: str
    interval: str


@dataclass(frozen=True)
class ClientRow:
    """One client: its outcomes over all situations of a guarantee, its verdicts (the worst first), known failures."""

    client: str
    guarantee: str
    variant: str
    verdicts: Sequence[tuple[str, int]]
    known: Sequence[tuple[str, int]]
    outcomes: Row


@dataclass(frozen=True)
class Demanded:
    """The thresholds of a run in every row: the missed ones first, and how many were met."""

    rows: Sequence[Evaluation]
    met: int

    @property
    def missed(self) -> bool:
        return any(each.result is Met.MISSED for each in self.rows)


def clients(verdicts: Sequence[TrialVerdict], causes: Iterable[Cause] = ()) -> list[ClientRow]:
    """Return a row for each client, guarantee and configuration, ordered by client and version."""
    groups: dict[object, list[TrialVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault(by_client(verdict), []).append(verdict)
    causes = list(causes)
    return [
        ClientRow(
            row.cell.client,
            row.cell.guarantee,
            row.cell.variant,
            by_verdict(groups[row.cell]),
            known_failures(groups[row.cell], causes),
            row,
        )
        for row in table(verdicts, by_client)
    ]


def known_failures(verdicts: Iterable[TrialVerdict], causes: Iterable[Cause]) -> list[tuple[str, int]]:
    """Return (what, number of trials) of the failures that the list of known ones has."""
    mine = {verdict.trial for verdict in verdicts}
    found: dict[str, int] = {}
    for cause in causes:
        if cause.verdict == Verdict.EXPECTED_FAIL and (trials := len(mine.intersection(cause.trials))):
            found[cause.anomaly or cause.code] = found.get(cause.anomaly or cause.code, 0) + trials
    return sorted(found.items())


def by_verdict(verdicts: Iterable[TrialVerdict]) -> list[tuple[str, int]]:
    """Return (verdict, number of trials), the worst first."""
    found = [verdict.verdict for verdict in verdicts]
    return [(verdict.value, found.count(verdict)) for verdict in SEVERITY if verdict in found]


def shown(metric: Metric, of: Summary | None) -> Shown:
    """Return one outcome as text."""
    if of is None:
        return Shown(words.NONE, "", "")
    return Shown(words.told(metric, of.value), words.spread(metric, of), words.interval(of.interval))


def demanded(record: RunRecord, verdicts: Sequence[TrialVerdict]) -> Demanded:
    """Return the thresholds of a run."""
    found = evaluated(record.thresholds, verdicts)
    return Demanded(worst_first(found), sum(each.result is Met.MET for each in found))


def left_out(record: RunRecord, verdicts: Iterable[TrialVerdict]) -> list[tuple[str, str, int]]:
    """Return (client, reason, trials) of what was not judged: what a client does not support, and clients without it.

    A client that could not be installed has no trials.
    """
    found: dict[tuple[str, str], int] = {(each.client, each.reason): 0 for each in record.left_out}
    for verdict in verdicts:
        if verdict.verdict == Verdict.UNSUPPORTED:
            key = (verdict.client, verdict.reason)
            found[key] = found.get(key, 0) + 1
    return [(client, reason, trials) for (client, reason), trials in sorted(found.items(), key=_by_client)]


def _by_client(found: tuple[tuple[str, str], int]) -> tuple[object, ...]:
    (client, reason), _ = found
    return by_version(client), reason
