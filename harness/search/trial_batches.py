"""Trials that depend on the results of others: they are added to one run, whose folder keeps all evidence.

A failure may be intermittent. The result for a schedule is therefore a tally of attempts, each a separate trial. A
trial without a clear result (inconclusive, a harness-error) does not count as an attempt, and is only repeated up to a
limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from harness.judging.fingerprint import findings
from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.model.verdicts import Verdict
from harness.running.budget import Budget
from harness.simulated.judged import try_spec
from harness.storage.run_store import RunStore

#: Verdicts that neither accuse nor acquit the client.
NOTHING_TOLD = frozenset({Verdict.INCONCLUSIVE, Verdict.HARNESS_ERROR})
#: The maximum number of trials per attempt, if earlier ones had no clear result.
PATIENCE = 2


class BudgetUsedUp(Exception):
    """The budget was used up before all requested trials were run."""


def anomalies(verdict: TrialVerdict) -> tuple[str, ...]:
    """Return the anomalies that were found, those of the first requirement first."""
    return tuple(dict.fromkeys(found.finding.anomaly for found in findings(verdict)))


@dataclass(frozen=True)
class GrowingRun:
    """One run whose plan grows. ``carry_out`` runs the trials without a verdict, within the ``budget``."""

    store: RunStore
    carry_out: Callable[[], Awaitable[None]]
    budget: Budget = field(default_factory=Budget)

    async def extend(self, specs: Sequence[TrialSpec]) -> None:
        """Add these trials to the plan and run them."""
        plan = self.store.record.plan
        self.store.replace_plan(msgspec.structs.replace(plan, trials=(*plan.trials, *specs)))
        await self.carry_out()

    def verdict(self, spec: TrialSpec) -> TrialVerdict | None:
        """Return the verdict of a trial, or None if it was not finished."""
        if not self.store.finished(spec.trial):
            return None
        return self.store.verdict(spec.trial)


async def simulate(store: RunStore, budget: Budget) -> None:
    """Run the trials of the plan without a verdict (live: :meth:`harness.running.campaign.Campaign.run`)."""
    for spec in store.record.plan.trials:
        if store.finished(spec.trial):
            continue
        if budget.used_up() is not None:
            return
        evidence, verdict = try_spec(spec)
        store.write_evidence(evidence)
        store.write_verdict(verdict)
        budget.count(verdict)
        await asyncio.sleep(0)  # lets signal handlers run


@dataclass
class AttemptStats:
    """The results of one schedule."""

    spec: TrialSpec
    verdicts: list[TrialVerdict] = field(default_factory=list)
    asked: int = 0

    def failed(self, anomaly: str) -> int:
        """Return the number of attempts in which the anomaly was found."""
        return sum(anomaly in anomalies(verdict) for verdict in self.told)

    @property
    def told(self) -> list[TrialVerdict]:
        """The attempts: trials with a clear result."""
        return [verdict for verdict in self.verdicts if verdict.verdict not in NOTHING_TOLD]

    def lacks(self, attempts: int) -> int:
        """Return how many more trials to run for this number of attempts."""
        return max(0, min(attempts - len(self.told), PATIENCE * attempts - len(self.verdicts)))


@dataclass(frozen=True)
class FailureCriterion:
    """The condition for a schedule to count as failing: one failure in ``attempts`` attempts, or ``each`` of them."""

    attempts: int
    each: bool = False

    def fails(self, stats: AttemptStats, anomaly: str) -> bool:
        """Return True if the condition is met."""
        failed, tried = stats.failed(anomaly), len(stats.told)
        return failed == tried >= self.attempts if self.each else failed > 0

    def is_open(self, stats: AttemptStats, anomaly: str) -> bool:
        """Return True if another attempt may meet it."""
        hopeless = self.each and stats.failed(anomaly) < len(stats.told)
        return bool(stats.lacks(self.attempts)) and not (hopeless or self.fails(stats, anomaly))


class TrialBatches:
    """Tries schedules as additional trials of one run, ``jobs`` in parallel, with a tally for each."""

    def __init__(self, run: GrowingRun, jobs: int) -> None:
        self._run, self._jobs = run, jobs
        self._all_stats: dict[bytes, AttemptStats] = {}
        self.trials = 0

    def stats(self, spec: TrialSpec) -> AttemptStats:
        """Return the tally of a schedule. Trials that differ only in their name are attempts at the same schedule."""
        same = msgspec.structs.replace(spec, trial="", attempt=1)
        key = msgspec.json.encode(same, order="deterministic")
        return self._all_stats.setdefault(key, AttemptStats(spec))

    @property
    def all_stats(self) -> list[AttemptStats]:
        """The tallies of all requested schedules."""
        return list(self._all_stats.values())

    async def attempt(self, spec: TrialSpec, attempts: int) -> AttemptStats:
        """Run ``spec`` until it has this number of attempts. Raises BudgetUsedUp if that is not possible."""
        stats = self.stats(spec)
        while (lacking := stats.lacks(attempts)) > 0:
            await self._try([stats] * lacking)
        return stats

    async def failing(
        self, specs: Sequence[TrialSpec], anomaly: str, how: FailureCriterion, *, any_will_do: bool = False
    ) -> list[bool]:
        """Return for each schedule whether it fails by the anomaly. BudgetUsedUp: that cannot be determined.

        If ``any_will_do``, the search stops as soon as one of them does.
        """
        all_stats = [self.stats(spec) for spec in specs]
        while not (any_will_do and any(how.fails(stats, anomaly) for stats in all_stats)):
            left = [stats for stats in all_stats if how.is_open(stats, anomaly)]
            if not left:
                break
            side_by_side = max(1, self._jobs // len(left))
            await self._try(
                [stats for stats in left for _ in range(min(side_by_side, stats.lacks(how.attempts)))]
            )
        return [how.fails(stats, anomaly) for stats in all_stats]

    async def _try(self, all_stats: Sequence[AttemptStats]) -> None:
        asked = [(stats, self._next_of(stats)) for stats in all_stats]
        try:
            await self._run.extend([spec for _, spec in asked])
        finally:
            verdicts = [(stats, self._run.verdict(spec)) for stats, spec in asked]
            for stats, verdict in verdicts:
                if verdict is not None:
                    stats.verdicts.append(verdict)
        if any(verdict is None for _, verdict in verdicts):
            raise BudgetUsedUp

    def _next_of(self, stats: AttemptStats) -> TrialSpec:
        self.trials += 1
        stats.asked += 1
        return msgspec.structs.replace(stats.spec, trial=f"try-{self.trials:04}", attempt=stats.asked)
