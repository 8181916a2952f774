"""Running a plan: one cluster a broker, one lane a job, every trial collected, judged and stored as it ends.

The run owns everything that it starts. A trial is finished when its verdict is written; a run that was killed goes on
where it stopped, with the trials that have none. Trials that hurt a broker come together, behind the others, each on a
cluster of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from harness import registry
from harness.budget import Budget
from harness.execution import Execution
from harness.lane import Lane
from harness.live import LiveTrial
from harness.pool import Job, Line, Pool
from harness.ports import Cluster, InstalledClient
from harness.rows import TrialVerdict
from harness.spec import ClientRef, TrialSpec
from harness.store import RunStore

#: What a cluster for one trial costs the machine, in trials that share one: so many of ``jobs`` make room for it.
JOBS_A_CLUSTER = 3

#: A trial, and where it stands in the plan.
Numbered = tuple[int, TrialSpec]


@dataclass(frozen=True)
class Campaign:
    """What carries a plan out. ``began`` and ``ended`` tell whoever watches (progress), ``say`` what is amiss, once.

    Trials of clients that are not in ``clients`` are left out.
    """

    store: RunStore
    clients: Mapping[ClientRef, InstalledClient]
    jobs: int
    began: Callable[[TrialSpec], None]
    ended: Callable[[TrialVerdict], None]
    say: Callable[[str], None] = lambda _: None
    budget: Budget = field(default_factory=Budget)

    @property
    def under_way(self) -> Mapping[str, LiveTrial]:
        """The trials of the moment, by name."""
        return self._execution.under_way

    @cached_property
    def _execution(self) -> Execution:
        return Execution(self.store, self.clients, self.say)

    async def run(self) -> None:
        """Run every trial of the store's plan that has no verdict yet, as far as the budget goes."""
        numbered = [
            (index, spec)
            for index, spec in enumerate(self.store.record.plan.trials)
            if spec.client in self.clients and not self.store.finished(spec.trial)
        ]
        for (broker, alone), group in groupby(sorted(numbered, key=_cluster_of), key=_cluster_of):
            trials = list(group)
            if not alone:
                await self._together(broker, trials)
                continue
            waiting = iter(trials)
            async with asyncio.TaskGroup() as clusters:
                for _ in range(max(1, self.jobs // JOBS_A_CLUSTER)):
                    clusters.create_task(self._one_by_one(broker, waiting))

    async def _one_by_one(self, broker: str, waiting: Iterator[Numbered]) -> None:
        for trial in waiting:
            await self._together(broker, [trial])

    async def _together(self, broker: str, trials: list[Numbered]) -> None:
        line = Line(map(self._job, trials), goes_on=lambda: self.budget.used_up() is None)
        if line.over:
            return
        first, _ = trials[0]
        logs = self.store.folder / "logs" / f"{broker.replace(':', '-')}-{first}"
        await Pool(broker, min(self.jobs, len(trials)), logs, self.say).work(line)

    def _job(self, trial: Numbered) -> Job:
        async def job(cluster: Cluster, lane: Lane) -> None:
            index, spec = trial
            self.began(spec)
            verdict = await self._execution.run(index, spec, cluster, lane)
            self.budget.count(verdict)
            self.ended(verdict)

        return job


def takes_alone(spec: TrialSpec) -> bool:
    """True if the trial hurts brokers, and has its cluster to itself whatever its plan says."""
    return spec.alone or any(registry.fault(fault.kind).alone for fault in spec.faults)


def _cluster_of(numbered: Numbered) -> tuple[str, bool]:
    _, spec = numbered
    return spec.broker, takes_alone(spec)
