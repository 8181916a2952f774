"""Which trials need an exclusive cluster, and how long the effects of their faults last."""

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


def test_the_fault_kind_or_the_plan_requires_an_exclusive_cluster():
    assert needs_exclusive_cluster(trial("latency", "quota")) and not needs_exclusive_cluster(
        trial("latency")
    )
    assert needs_exclusive_cluster(replace(trial("latency"), exclusive_cluster=True))


def test_the_exclusive_kinds_that_linger():
    """The effects of two kinds last longer: the measured rate of a client, and the state of a coordinator."""
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


def test_a_harness_error_lingers_forever():
    assert lingers_s(trial("broker_kill"), SimpleNamespace(verdict="harness-error")) == math.inf


def test_a_kind_without_a_lingering_time_lingers_forever():
    with registry.replaced("faults", {"theirs": SimpleNamespace(exclusive_cluster=True)}):
        assert lingers_s(trial("theirs"), ENDED) == math.inf and not starts_nodes(trial("theirs"))


def test_only_faults_that_end_nodes_restart_them():
    kinds = {name for name in registry.names("faults") if starts_nodes(trial(name))}
    assert kinds == {"broker_kill", "broker_restart", "min_isr", "unclean_election"}
