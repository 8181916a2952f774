"""Which trials have a cluster to themselves, and what a trial leaves to the next one, by its faults."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from harness.model.spec import AtTime, ClientRef, FaultSpec, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.planning.exclusive import lingers_s, needs_exclusive_cluster, starts_nodes
from harness.plugins import registry

ENDED = SimpleNamespace(verdict="pass")


def trial(*kinds: str, exclusive_cluster: bool = False) -> TrialSpec:
    faults = tuple(FaultSpec(kind, AtTime(0), 1_000) for kind in kinds)
    client = ClientRef("reference", "0.1.0")
    return TrialSpec(
        "t", client, "local:4.3.1", "s", Guarantee.IDEMPOTENT, 1, Workload(), faults, {}, exclusive_cluster
    )


def test_the_kind_of_fault_decides_or_the_plan():
    assert needs_exclusive_cluster(trial("latency", "quota")) and not needs_exclusive_cluster(
        trial("latency")
    )
    assert needs_exclusive_cluster(replace(trial("latency"), exclusive_cluster=True))


def test_every_kind_that_takes_a_cluster_says_how_long_it_lingers():
    """Two of them do: what a broker measured of a client's rate, and what a coordinator remembers."""
    said = {name: kind.lingers_s for name, kind in registry.table("faults").items() if kind.exclusive_cluster}
    assert {name: s for name, s in said.items() if s} == {"quota": 12.0, "coordinator_move": math.inf}


@pytest.mark.parametrize(
    ("kinds", "seconds"),
    [
        ((), 0.0),
        (("latency",), 0.0),
        (("broker_kill",), 0.0),
        (("quota", "broker_kill"), 12.0),
        (("quota", "coordinator_move"), math.inf),
    ],
)
def test_a_trial_lingers_as_long_as_the_longest_of_its_faults(kinds, seconds):
    assert lingers_s(trial(*kinds, exclusive_cluster=True), ENDED) == seconds


def test_who_did_not_end_in_order_lingers_for_ever():
    assert lingers_s(trial("broker_kill"), SimpleNamespace(verdict="harness-error")) == math.inf


def test_a_kind_that_does_not_say_lingers_for_ever():
    with registry.replaced("faults", {"theirs": SimpleNamespace(exclusive_cluster=True)}):
        assert lingers_s(trial("theirs"), ENDED) == math.inf and not starts_nodes(trial("theirs"))


def test_nodes_start_again_where_a_fault_ends_them():
    kinds = {name for name in registry.names("faults") if starts_nodes(trial(name))}
    assert kinds == {"broker_kill", "broker_restart", "min_isr"}
