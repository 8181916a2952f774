"""The capacity of a machine: within its resources, at least one, and monotonic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.planning.cluster_needs import needs_of
from harness.plugins import registry
from harness.plugins.cluster import ClusterNeeds, Needs
from harness.system import needs
from harness.system.machine import Machine
from harness.system.needs import EXCLUSIVE_TRIAL, MAX_JOBS, REPLICA_CORES, TRIAL

GIB = 2**30
machines = st.builds(Machine, st.floats(0.1, 512), st.integers(0, 2**42))
clusters = st.one_of(
    st.integers(1, 9).map(needs.kraft),
    st.builds(ClusterNeeds, st.floats(0, 8), st.integers(0, 2**36), st.integers(1, 9), st.floats(0, 60)),
)


def bears(machine: Machine, each: Needs, count: int, beside: Needs) -> bool:
    cores = beside.cores + count * each.cores
    return (
        cores <= machine.cores * (1 + 1e-9)
        and beside.memory_bytes + count * each.memory_bytes <= machine.memory_bytes
    )


@given(machines, clusters)
def test_lanes_and_their_cluster_fit_the_machine(machine, cluster):
    lanes = needs.shared_lanes(machine, cluster)
    assert 1 <= lanes <= MAX_JOBS
    trial = Needs(TRIAL.cores + (cluster.nodes - 1) * REPLICA_CORES, TRIAL.memory_bytes)
    assert lanes == 1 or bears(machine, trial, lanes, cluster)
    assert lanes == MAX_JOBS or not bears(machine, trial, lanes + 1, cluster)


@given(machines, clusters)
def test_exclusive_clusters_and_their_trials_fit_the_machine(machine, cluster):
    both = Needs(cluster.cores + EXCLUSIVE_TRIAL.cores, cluster.memory_bytes + EXCLUSIVE_TRIAL.memory_bytes)
    count = needs.exclusive_clusters(machine, cluster)
    assert 1 <= count <= MAX_JOBS
    assert count == 1 or bears(machine, both, count, Needs(0, 0))
    assert count == MAX_JOBS or not bears(machine, both, count + 1, Needs(0, 0))


@given(machines, clusters, st.floats(0, 64), st.integers(0, 2**36))
def test_a_larger_machine_has_no_less_capacity(machine, cluster, cores, memory_bytes):
    larger = Machine(machine.cores + cores, machine.memory_bytes + memory_bytes)
    for count in (needs.shared_lanes, needs.exclusive_clusters, needs.clusters_starting):
        assert count(larger, cluster) >= count(machine, cluster) >= 1
    assert needs.most_starting_nodes(larger) >= needs.most_starting_nodes(machine) >= 1


@given(machines, clusters)
def test_starting_nodes_have_one_core_each_unless_one_cluster_has_more(machine, cluster):
    starting = needs.clusters_starting(machine, cluster)
    assert starting == 1 or starting * cluster.nodes <= machine.cores


@pytest.mark.parametrize(
    ("machine", "lanes", "replicated", "one_node", "three_nodes"),
    [
        (Machine(2, 23 * GIB), 15, 7, 6, 5),
        (Machine(2, 4 * GIB), 9, 7, 5, 3),
        (Machine(0.5, 23 * GIB), 3, 1, 1, 1),
        (Machine(16, 64 * GIB), 32, 32, 32, 32),
    ],
)
def test_the_capacity_of_example_machines(machine, lanes, replicated, one_node, three_nodes):
    assert needs.shared_lanes(machine, needs_of("local:4.3.1x1")) == lanes
    assert needs.shared_lanes(machine, needs_of("local:4.3.1x3")) == replicated
    assert needs.exclusive_clusters(machine, needs_of("local:4.3.1x1")) == one_node
    assert needs.exclusive_clusters(machine, needs_of("local:4.3.1x3")) == three_nodes


def test_a_broker_kind_without_needs_counts_as_one_jvm():
    with registry.replaced("brokers", {"theirs": object()}):
        assert needs_of("theirs:1") == needs.kraft(1)
