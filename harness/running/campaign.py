"""Run a plan: one cluster per broker and one lane per job. Each trial is collected, judged and stored when it ends.

The run owns everything that it starts. A trial is finished when its verdict is written, so a killed run can be resumed
with the trials that have none. Trials that disturb brokers run after the others, the longest first, on as many clusters
as the machine can run. Each of them has a cluster to itself that shows no effect of earlier trials.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Protocol

from harness.model.rows import Ending, TrialVerdict
from harness.model.spec import ClientRef, TrialSpec
from harness.planning import estimate, unavailable
from harness.planning.cluster_needs import needs_of
from harness.planning.exclusive import lingers_s, needs_exclusive_cluster, starts_nodes
from harness.plugins.client import InstalledClient
from harness.plugins.cluster import Cluster
from harness.running.budget import Budget
from harness.running.lane import Lane
from harness.running.lane_pool import Job, JobQueue, Pool
from harness.running.live_trial import LiveTrial
from harness.running.suspects import LEFT_OUT, Numbered, Suspects
from harness.running.trial_runner import Execution
from harness.storage.run_store import RunStore
from harness.system import needs
from harness.system.interpreter import prompt
from harness.system.machine import Machine, this_machine
from harness.text.counting import some


class Lanes(Protocol):
    """Lanes on clusters of one kind, such as a :class:`Pool`."""

    async def work(self, queue: JobQueue) -> None:
        """Run the jobs until the queue ends."""


@dataclass(frozen=True)
class Campaign:
    """Runs a plan. ``began`` and ``ended`` report progress, and ``say`` reports problems, once each.

    Trials of clients that are not in ``clients`` are left out. ``pool`` makes the lanes for which trials wait,
    and ``execution`` runs and judges one trial.
    """

    store: RunStore
    clients: Mapping[ClientRef, InstalledClient]
    jobs: int
    began: Callable[[TrialSpec], None]
    ended: Callable[[TrialVerdict], None]
    say: Callable[[str], None] = lambda _: None
    budget: Budget = field(default_factory=Budget)
    machine: Machine = field(default_factory=this_machine)
    pool: Callable[..., Lanes] = Pool
    execution: Callable[[RunStore, Mapping[ClientRef, InstalledClient], Callable[[str], None]], Execution] = (
        Execution
    )

    @property
    def under_way(self) -> Mapping[str, LiveTrial]:
        """Return the trials in progress, by name."""
        return self._execution.under_way

    @cached_property
    def _execution(self) -> Execution:
        return self.execution(self.store, self.clients, self.say)

    @cached_property
    def _suspects(self) -> Suspects:
        return Suspects(self.say)

    async def run(self) -> None:
        """Run every trial of the store's plan that has no verdict yet, within the budget."""
        with prompt():
            await self._run()

    async def _run(self) -> None:
        numbered = [
            (index, spec)
            for index, spec in enumerate(self.store.record.plan.trials)
            if self.clients.keys() >= set(spec.clients) and not self.store.finished(spec.trial)
        ]
        numbered = [each for each in numbered if not self._is_left_out(*each)]
        for (broker, alone), group in groupby(sorted(numbered, key=_cluster_of), key=_cluster_of):
            await (self._one_by_one if alone else self._together)(broker, list(group))

    def _is_left_out(self, index: int, spec: TrialSpec) -> bool:
        """Conclude the trial at once, without starting a broker, if its cluster is too small for its scenario."""
        if (why := unavailable.by_plan(spec)) is None:
            return False
        self.began(spec)
        self._tell(self._execution.left_out(index, spec, str(why), code=why.code))
        return True

    def _tell(self, verdict: TrialVerdict) -> None:
        self.budget.count(verdict)
        self.ended(verdict)

    async def _together(self, broker: str, trials: list[Numbered]) -> None:
        line, lanes, cluster = self._line(trials), min(self.jobs, len(trials)), needs_of(broker)
        # Each node of a larger cluster writes what one trial sends: with too many trials, all of them are late.
        if cluster.nodes > 1 and lanes > (borne := needs.shared_lanes(self.machine, cluster)):
            self.say(f"this machine can run {some(borne, 'trial')} at a time on {broker}")
            lanes = borne
        if line.over:
            return
        logs = self._logs(broker, trials)

        async def find_out() -> bool:
            return await self._find_out(broker, logs)

        await self.pool(broker, lanes, logs, self.say, after_death=find_out).work(line)
        await find_out()

    async def _find_out(self, broker: str, logs: Path) -> bool:
        """Run the trials in which a broker died alone. Return True if one of their clients is the cause."""
        found = False
        for trial in self._suspects.take():
            index, spec = trial
            if spec.client in self._suspects.culprits:
                self._tell(self._given_up(trial))
                continue
            verdicts: list[TrialVerdict] = []
            pool = self.pool(broker, 1, logs / f"alone-{index}", self.say, exclusive=True)
            await pool.work(JobQueue([self._alone(trial, verdicts)]))
            for verdict in verdicts:
                found |= self._suspects.heard(trial, verdict)
                self._tell(verdict)
        return found

    def _alone(self, trial: Numbered, verdicts: list[TrialVerdict]) -> Job:
        async def job(cluster: Cluster, lane: Lane) -> float:
            verdicts.append(await self._execution.run(*trial, cluster, lane))
            return math.inf

        return job

    def _given_up(self, trial: Numbered) -> TrialVerdict:
        index, spec = trial
        why = f"{spec.client} is left out: {self._suspects.culprits[spec.client]}"
        return self._execution.left_out(index, spec, why, Ending.HARNESS_ERROR, LEFT_OUT)

    async def _one_by_one(self, broker: str, trials: list[Numbered]) -> None:
        """Run exclusive trials in turn, each on any free cluster."""
        cluster = needs_of(broker)
        bearable = needs.exclusive_clusters(self.machine, cluster)
        if bearable < min(self.jobs, len(trials)):
            self.say(
                f"a trial of broker faults needs its own cluster: this machine can run {bearable} of {broker} at a time"
            )
        at_a_time = estimate.clusters([spec for _, spec in trials], self.jobs, self.machine)
        line = self._line(sorted(trials, key=_shortest_first, reverse=True))
        starts = asyncio.Semaphore(needs.clusters_starting(self.machine, cluster))
        async with asyncio.TaskGroup() as clusters:
            for number in range(at_a_time):
                logs = self._logs(broker, trials) / f"cluster-{number}"
                pool = self.pool(broker, 1, logs, self.say, exclusive=True, starts=starts)
                clusters.create_task(pool.work(line))

    def _line(self, trials: list[Numbered]) -> JobQueue:
        jobs = {self._job(trial): trial for trial in trials}
        return JobQueue(
            jobs,
            goes_on=lambda: self.budget.used_up() is None,
            heavy={job for job, (_, spec) in jobs.items() if starts_nodes(spec)},
            most_heavy=needs.most_starting_nodes(self.machine),
        )

    def _logs(self, broker: str, trials: list[Numbered]) -> Path:
        """Return a folder named after the first of the trials, because a resumed run starts new clusters."""
        first, _ = trials[0]
        return self.store.make_folder(self.store.folder / "logs" / f"{broker.replace(':', '-')}-{first}")

    def _job(self, trial: Numbered) -> Job:
        async def job(cluster: Cluster, lane: Lane) -> float:
            index, spec = trial
            self.began(spec)
            if spec.client in self._suspects.culprits:
                self._tell(self._given_up(trial))
                return 0
            verdict = await self._execution.run(index, spec, cluster, lane)
            if needs_exclusive_cluster(spec) or not self._suspects.took(trial, verdict):
                self._tell(verdict)
            return lingers_s(spec, verdict)

        return job


def _cluster_of(numbered: Numbered) -> tuple[str, bool]:
    _, spec = numbered
    return spec.broker, needs_exclusive_cluster(spec)


def _shortest_first(numbered: Numbered) -> float:
    _, spec = numbered
    return estimate.trial_s(spec)
