"""What trials and clusters need of the machine, as data, and how many of them it bears at a time. Pure.

Waiting is most of what a trial does, so that several share a core; a broker's JVM computes while it starts and little
afterwards. More than the machine bears delays brokers and clients, and such a delay can be mistaken for theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from harness.system.machine import Machine

MAX_JOBS: Final = 32


@dataclass(frozen=True)
class Needs:
    """What one thing needs while it is there: ``cores`` busy on average, and memory of its own."""

    cores: float
    memory_bytes: int


@dataclass(frozen=True)
class ClusterNeeds(Needs):
    """A cluster of ``nodes`` processes, idle; before that each of them computes ``start_core_s``."""

    nodes: int
    start_core_s: float


#: One trial: its client's process, its proxies, and its part of harness and brokers. 8 keep a core busy (`kafka-trial
#: run 'produce/*' --seeds 4 -j 16` on 2 cores: 64 trials in 62 s of 86 % of both). A JVM is the largest client.
TRIAL: Final = Needs(cores=1 / 8, memory_bytes=400 * 2**20)
#: What each further node adds to a trial: on three, which all write each record, a trial computes 3.2 core-seconds, on
#: one 1.7 (`kafka-trial run 'frame/*' 'network/*' 'produce/*'` with all clients, `-b local:4.3.1x3` and without).
REPLICA_CORES: Final = 0.06
#: A trial of broker faults, beside its idle cluster: nodes that end and start again are most of it.
EXCLUSIVE_TRIAL: Final = Needs(cores=0.3, memory_bytes=400 * 2**20)

# `python -m benchmarks.cluster` on 2 idle cores: 2.7 core-seconds to format three nodes, 6.5 until they are ready; 0.09
# cores while they are idle; 191 MiB resident in each, whose heap may take 512.
NODE_START_CORE_S: Final = 3.1
NODE_CORES: Final = 0.03
NODE_BYTES: Final = 300 * 2**20


def kraft(nodes: int) -> ClusterNeeds:
    """What so many JVMs need, each broker and controller in one."""
    return ClusterNeeds(nodes * NODE_CORES, nodes * NODE_BYTES, nodes, NODE_START_CORE_S)


def shared_lanes(machine: Machine, cluster: ClusterNeeds) -> int:
    """How many trials may share one cluster at a time: 1 to 32."""
    trial = Needs(TRIAL.cores + (cluster.nodes - 1) * REPLICA_CORES, TRIAL.memory_bytes)
    return _times(trial, machine.cores - cluster.cores, machine.memory_bytes - cluster.memory_bytes)


def exclusive_clusters(machine: Machine, cluster: ClusterNeeds) -> int:
    """How many clusters, each with one trial, may be there at a time: 1 to 32."""
    both = Needs(cluster.cores + EXCLUSIVE_TRIAL.cores, cluster.memory_bytes + EXCLUSIVE_TRIAL.memory_bytes)
    return _times(both, machine.cores, machine.memory_bytes)


def most_starting_nodes(machine: Machine) -> int:
    """How many trials may end and start nodes at a time: they do so in a part of their time, one node at a time."""
    return max(1, int(1.5 * machine.cores))


def clusters_starting(machine: Machine, cluster: ClusterNeeds) -> int:
    """How many clusters may start at a time: one core for each node that starts, at least one cluster."""
    return max(1, int(machine.cores) // cluster.nodes)


def _times(needs: Needs, cores: float, memory_bytes: int) -> int:
    """How often the needs fit, from 1 to 32."""
    return max(1, min(MAX_JOBS, int(cores / needs.cores), memory_bytes // needs.memory_bytes))
