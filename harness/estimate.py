"""How long a plan takes: what its trials wait for, in so many lanes, or what they compute on so many cores. Pure.

A trial waits most of its time, so that lanes share cores well, until the cores are busy: from there on more jobs make
nothing quicker. The longer of the two is the estimate. Clients are taken as installed, the machine as idle otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapreplace
from itertools import groupby
from typing import Final

from harness.campaign import JOBS_A_CLUSTER, takes_alone
from harness.schedule import earliest_ms
from harness.spec import Plan, TrialSpec
from harness.units import told_s

# Measured as user + sys of `time kafka-trial run produce/calm -c reference`: 14 core-seconds for 2 trials on one
# broker, 22 for 6, 33 for 2 on three (-b local:4.3.1x3); and as 107 for the 64 trials of `kafka-trial run 'produce/*'
# --seeds 4 -j 16`, which took 62 s on 2 cores and is estimated at 58.
#: `kafka-trial` before its first cluster, on one core.
BEGIN_S: Final = 3.0
#: What each node of a cluster computes until its JVM is warm.
NODE_CORE_S: Final = 8.0
#: What one trial computes, client, broker and harness together.
TRIAL_CORE_S: Final = 1.6
#: A trial besides its load and its faults: topic, client and warm-up before, last answers, log and judgement behind.
BESIDES_MS: Final = 3_500


@dataclass(frozen=True)
class Estimate:
    """How long a plan takes with ``jobs`` trials at a time; with ``useful_jobs`` it is no slower."""

    seconds: float
    jobs: int
    useful_jobs: int

    @property
    def sentence(self) -> str:
        """For a person."""
        told = f"about {told_s(self.seconds)} at -j {self.jobs}"
        return f"{told} (-j {self.useful_jobs} is as quick)" if self.useful_jobs < self.jobs else told


@dataclass(frozen=True)
class _Group:
    """The trials of one broker that share a cluster, or, ``alone``, have one each."""

    nodes: int
    alone: bool
    costs_s: tuple[float, ...]

    def takes_s(self, jobs: int, cores: int) -> float:
        cluster_core_s = self.nodes * NODE_CORE_S
        ready_s, trials = cluster_core_s / cores, len(self.costs_s)
        if self.alone:
            core_s = trials * (cluster_core_s + TRIAL_CORE_S)
            lanes = max(1, jobs // JOBS_A_CLUSTER)
            return max(_in_lanes_s((ready_s + cost_s for cost_s in self.costs_s), lanes), core_s / cores)
        core_s = cluster_core_s + trials * TRIAL_CORE_S
        return max(ready_s + _in_lanes_s(self.costs_s, jobs), core_s / cores)


def of(plan: Plan, jobs: int, cores: int | None = None) -> Estimate:
    """How long ``plan`` takes with ``jobs`` at a time on ``cores``, those of this machine if none are given."""
    cores = cores or len(os.sched_getaffinity(0))
    groups = [
        _Group(_nodes(broker), alone, tuple(map(trial_s, trials)))
        for (broker, alone), trials in groupby(sorted(plan.trials, key=_cluster_of), key=_cluster_of)
    ]

    def takes_s(at_a_time: int) -> float:
        return BEGIN_S + sum(group.takes_s(at_a_time, cores) for group in groups)

    seconds = takes_s(jobs)
    return Estimate(seconds, jobs, next(n for n in range(1, jobs + 1) if takes_s(n) <= seconds))


def trial_s(spec: TrialSpec) -> float:
    """How long one trial takes, with a cluster that is there and a core whenever it needs one."""
    ends_ms = (earliest_ms(fault.start) + fault.duration_ms for fault in spec.faults)
    return (max([spec.workload.load_ms, *ends_ms]) + BESIDES_MS) / 1_000


def _cluster_of(spec: TrialSpec) -> tuple[str, bool]:
    return spec.broker, takes_alone(spec)


def _nodes(broker: str) -> int:
    _, _, nodes = broker.rpartition("x")
    return int(nodes) if nodes.isdecimal() else 1


def _in_lanes_s(costs_s: Iterable[float], lanes: int) -> float:
    """When the last one is done, if each lane takes the next one whenever it is free."""
    free_s = [0.0] * lanes
    for cost_s in costs_s:
        heapreplace(free_s, free_s[0] + cost_s)
    return max(free_s)
