"""What happened to the data: the outcomes of some trials of one client, in one place where they are read.

``outcome`` is the only function of the pages that reads the numbers of a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from harness.judging.availability import share_told
from harness.model.rows import TrialVerdict
from harness.model.verdicts import SEVERITY, Verdict


@dataclass(frozen=True)
class Outcome:
    """Sums over some trials, and the range of the times; None if no trial has one."""

    trials: int
    share: str
    offered: int
    acked: int
    given_up: int
    unknown: int
    lost: int
    doubled: int
    overtaken: int
    longest_gap_ms: tuple[float, float, float] | None
    steady_ms: tuple[float, float, float] | None


@dataclass(frozen=True)
class ClientRow:
    """One client: its outcome over all situations of a guarantee, and its verdicts, the worst first."""

    client: str
    guarantee: str
    variant: str
    verdicts: Sequence[tuple[str, int]]
    outcome: Outcome


def outcome(verdicts: Sequence[TrialVerdict]) -> Outcome:
    """Return the outcome of some trials."""
    told = [verdict.availability for verdict in verdicts]
    counts = [verdict.counts for verdict in verdicts]
    return Outcome(
        trials=len(verdicts),
        share=share_told(told),
        offered=sum(each.offered for each in told),
        acked=sum(each.acked for each in told),
        given_up=sum(each.failed for each in told),
        unknown=sum(each.unknown for each in told),
        lost=sum(each.get("lost", 0) for each in counts),
        doubled=sum(each.get("duplicated", 0) for each in counts),
        overtaken=sum(each.get("reordered", 0) for each in counts),
        longest_gap_ms=_range(each.longest_gap_ms for each in told),
        steady_ms=_range(each.steady_ack_ms for each in told),
    )


def clients(verdicts: Iterable[TrialVerdict]) -> list[ClientRow]:
    """Return a row for each client, guarantee and variant."""
    groups: dict[tuple[str, str, str], list[TrialVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.client, verdict.guarantee, verdict.variant), []).append(verdict)
    return [
        ClientRow(client, guarantee, variant, by_verdict(mine), outcome(mine))
        for (client, guarantee, variant), mine in groups.items()
    ]


def by_verdict(verdicts: Sequence[TrialVerdict]) -> list[tuple[str, int]]:
    """Return (verdict, number of trials), the worst first."""
    found = [verdict.verdict for verdict in verdicts]
    return [(verdict.value, found.count(verdict)) for verdict in SEVERITY if verdict in found]


def left_out(verdicts: Iterable[TrialVerdict]) -> list[tuple[str, str, int]]:
    """Return (client, reason, number of trials) of those that a client does not support."""
    found: dict[tuple[str, str], int] = {}
    for verdict in verdicts:
        if verdict.verdict == Verdict.UNSUPPORTED:
            key = (verdict.client, verdict.reason)
            found[key] = found.get(key, 0) + 1
    return [(client, reason, trials) for (client, reason), trials in sorted(found.items())]


def _range(values: Iterable[int | None]) -> tuple[float, float, float] | None:
    """Return the median, the least and the greatest of the values that are known."""
    known = [value for value in values if value is not None]
    return (median(known), min(known), max(known)) if known else None
