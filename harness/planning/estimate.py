"""Estimate how long a plan takes. Pure.

The estimate is the longer of two times: the time that the trials wait, divided among the lanes, and the time that they
compute, divided among the cores. A trial mostly waits, so lanes can share cores until the cores are busy; beyond that,
more jobs do not help. Clients are assumed to be installed and the machine to be otherwise idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapreplace
from itertools import groupby
from typing import Final

from harness.model.spec import Plan, TrialSpec
from harness.model.units import told_s
from harness.planning.cluster_needs import needs_of
from harness.planning.exclusive import needs_exclusive_cluster, starts_nodes
from harness.planning.validate_faults import earliest_ms
from harness.plugins.cluster import ClusterNeeds
from harness.system import needs
from harness.system.machine import Machine, this_machine

# Measured as user + sys of `time kafka-trial run produce/calm -c reference`: 14 core-seconds for 2 trials on one
# broker, 22 for 6, 33 for 2 on three (-b local:4.3.1x3); and as 107 for the 64 trials of `kafka-trial run 'produce/*'
# --seeds 4 -j 16`, which took 62 s on 2 cores and is estimated at 58.
#: `kafka-trial` before its first cluster, on one core.
BEGIN_S: Final = 3.0
#: Core-seconds of one trial: client, broker and harness together.
TRIAL_CORE_S: Final = 1.6
#: Core-seconds for each further node that stores its records.
REPLICA_CORE_S: Final = 0.8
#: Seconds of a trial besides its load and faults: topic, client and warm-up before; last responses, log and judgement
#: after.
BESIDES_MS: Final = 3_500


@dataclass(frozen=True)
class Estimate:
    """How long a plan takes with ``jobs`` trials at a time. More than ``useful_jobs`` do not make it faster."""

    seconds: float
    jobs: int
    useful_jobs: int

    @property
    def sentence(self) -> str:
        """The estimate as a sentence for people."""
        told = f"about {told_s(self.seconds)} at -j {self.jobs}"
        return f"{told} (-j {self.useful_jobs} is as quick)" if self.useful_jobs < self.jobs else told


@dataclass(frozen=True)
class _Group:
    """The trials of one broker, longest first. If ``alone``, each has a cluster to itself; otherwise they share one."""

    cluster: ClusterNeeds
    alone: bool
    costs_s: tuple[float, ...]
    core_s: float

    def takes_s(self, jobs: int, machine: Machine) -> float:
        """Return the shortest time with at most ``jobs`` at a time.

        Another cluster has to save more time than its start costs.
        """
        if not self.alone:
            borne = jobs if self.cluster.nodes == 1 else needs.shared_lanes(machine, self.cluster)
            return self._on_clusters_s(1, min(jobs, borne), machine.cores)
        most = min(jobs, needs.exclusive_clusters(machine, self.cluster), len(self.costs_s))
        return min(self._on_clusters_s(count, 1, machine.cores) for count in range(1, most + 1))

    def _on_clusters_s(self, clusters: int, lanes: int, cores: float) -> float:
        """Return the seconds if clusters start in turn and each lane takes the next trial as soon as it is free."""
        start_core_s = self.cluster.nodes * self.cluster.start_core_s
        ready_s = [start_core_s / cores * (1 + number) for number in range(clusters) for _ in range(lanes)]
        return max(_in_lanes_s(self.costs_s, ready_s), (clusters * start_core_s + self.core_s) / cores)


def of(plan: Plan, jobs: int, machine: Machine | None = None) -> Estimate:
    """Estimate ``plan`` with ``jobs`` trials at a time on ``machine`` (default: this one)."""
    groups = [
        _group(list(trials)) for _, trials in groupby(sorted(plan.trials, key=_cluster_of), key=_cluster_of)
    ]
    on = machine or this_machine()

    def takes_s(at_a_time: int) -> float:
        return BEGIN_S + sum(group.takes_s(at_a_time, on) for group in groups)

    seconds = takes_s(jobs)
    return Estimate(seconds, jobs, next(n for n in range(1, jobs + 1) if takes_s(n) <= seconds))


def clusters(trials: Sequence[TrialSpec], jobs: int, machine: Machine) -> int:
    """Return the number of clusters with which exclusive trials of one broker end soonest.

    It is at most ``jobs`` and at most what the machine can run.
    """
    group = _group(trials)
    soonest_s = group.takes_s(jobs, machine)
    return next(n for n in range(1, jobs + 1) if group.takes_s(n, machine) <= soonest_s)


def _group(trials: Sequence[TrialSpec]) -> _Group:
    cluster = needs_of(trials[0].broker)
    trial_core_s = TRIAL_CORE_S + (cluster.nodes - 1) * REPLICA_CORE_S
    core_s = sum(trial_core_s + starts_nodes(spec) * cluster.start_core_s for spec in trials)
    costs_s = tuple(sorted(map(trial_s, trials), reverse=True))
    return _Group(cluster, needs_exclusive_cluster(trials[0]), costs_s, core_s)


def trial_s(spec: TrialSpec) -> float:
    """Return how many seconds one trial takes on a running cluster, with a core whenever it needs one."""
    ends_ms = (earliest_ms(fault.start) + fault.duration_ms for fault in spec.faults)
    return (max([spec.workload.load_ms, *ends_ms]) + BESIDES_MS) / 1_000


def _cluster_of(spec: TrialSpec) -> tuple[str, bool]:
    return spec.broker, needs_exclusive_cluster(spec)


def _in_lanes_s(costs_s: Iterable[float], ready_s: Sequence[float]) -> float:
    """Return when the last trial ends if each lane takes the next one when it is free.

    The lanes are free at ``ready_s``.
    """
    free_s = list(ready_s)
    for cost_s in costs_s:
        heapreplace(free_s, free_s[0] + cost_s)
    return max(free_s)
