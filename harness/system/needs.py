"""What trials and clusters need of the machine, as data, and how many fit at a time. Pure.

A trial spends most of its time waiting, so several share a core. A broker's JVM needs CPU time while it starts and
little afterwards. Overloading the machine delays brokers and clients, and such a delay can be mistaken for their own
fault.
"""

from __future__ import annotations

from typing import Final

from harness.plugins.cluster import ClusterNeeds, Needs
from harness.system.machine import Machine

MAX_JOBS: Final = 32


#: One trial: its client's process, its proxies, and its share of the harness and the brokers. 8 trials keep one core
#: busy (`kafka-trial run 'produce/*' --seeds 4 -j 16` on 2 cores: 64 trials in 62 s at 86 % of both). A JVM is the
#: largest client.
TRIAL: Final = Needs(cores=1 / 8, memory_bytes=400 * 2**20)
#: The additional cores per further node. On three nodes, which all write each record, a trial takes 3.2 core-seconds,
#: on one node 1.7 (`kafka-trial run 'frame/*' 'network/*' 'produce/*'` with all clients, on 4.3.1x3 and on one node).
REPLICA_CORES: Final = 0.06
#: A trial of broker faults, without its idle cluster. Stopping and starting nodes is most of the cost.
EXCLUSIVE_TRIAL: Final = Needs(cores=0.3, memory_bytes=400 * 2**20)

# `python -m benchmarks.cluster` on 2 idle cores: 2.7 core-seconds to format three nodes, 6.5 until they are ready, 0.09
# cores while they are idle, and 191 MiB resident in each, whose heap may take 512.
NODE_START_CORE_S: Final = 3.1
NODE_CORES: Final = 0.03
NODE_BYTES: Final = 300 * 2**20


def kraft(nodes: int) -> ClusterNeeds:
    """Return the needs of a cluster of JVMs, each broker and controller in one."""
    return ClusterNeeds(nodes * NODE_CORES, nodes * NODE_BYTES, nodes, NODE_START_CORE_S)


def shared_lanes(machine: Machine, cluster: ClusterNeeds) -> int:
    """Return how many trials may share one cluster at a time: 1 to 32."""
    trial = Needs(TRIAL.cores + (cluster.nodes - 1) * REPLICA_CORES, TRIAL.memory_bytes)
    return _times(trial, machine.cores - cluster.cores, machine.memory_bytes - cluster.memory_bytes)


def exclusive_clusters(machine: Machine, cluster: ClusterNeeds) -> int:
    """Return how many clusters, each with one trial, may exist at a time: 1 to 32."""
    both = Needs(cluster.cores + EXCLUSIVE_TRIAL.cores, cluster.memory_bytes + EXCLUSIVE_TRIAL.memory_bytes)
    return _times(both, machine.cores, machine.memory_bytes)


def most_starting_nodes(machine: Machine) -> int:
    """Return how many trials may restart nodes at a time. Each does so part of its time, one node at a time."""
    return max(1, int(1.5 * machine.cores))


def clusters_starting(machine: Machine, cluster: ClusterNeeds) -> int:
    """Return how many clusters may start at a time: one core per starting node, but at least one cluster."""
    return max(1, int(machine.cores) // cluster.nodes)


def _times(needs: Needs, cores: float, memory_bytes: int) -> int:
    """Return how often the needs fit, from 1 to 32."""
    return max(1, min(MAX_JOBS, int(cores / needs.cores), memory_bytes // needs.memory_bytes))
