"""A trial whose clients consume has a load that they can report, and only such a trial has faults on members."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from harness.model.errors import UsageError
from harness.model.load import Load, SizeRange
from harness.model.spec import AtTime, ClientRef, FaultSpec, OnPhase, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.planning import validate_plan
from harness.plugins import registry
from harness.workloads.consume.profile import consumer_config
from harness.workloads.produce.profile import producer_config
from testkit.codes import raises_code

KILL = FaultSpec("member_kill", AtTime(0), 1_000)
GROUP = TrialSpec(
    "t",
    ClientRef("reference", registry.client("reference").default_version),
    "scripted:4.3.1x1",
    "group/kill",
    Guarantee.AT_LEAST_ONCE,
    1,
    Workload(kind="consume", records=100, records_per_command=20, interval_ms=1_000, partitions=2),
    (KILL,),
    consumer_config(Guarantee.AT_LEAST_ONCE, {}),
)

JAVA = ClientRef("java", "4.3.1")


def with_load(**changes: Any) -> TrialSpec:
    return replace(GROUP, workload=replace(GROUP.workload, **changes))


@pytest.mark.parametrize(
    "spec", [GROUP, with_load(value_bytes=4_096), with_load(load=Load(sizes=SizeRange(10, 4_096)))]
)
def test_a_group_reads_a_load_that_it_can_report(spec):
    validate_plan.check_workload(spec)


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (with_load(value_bytes=4_097), "records-too-large-to-report"),
        (with_load(load=Load(sizes=SizeRange(10, 4_097))), "records-too-large-to-report"),
        (with_load(load=Load(producers=2)), "group-with-split-load"),
        (with_load(load=Load(topics=2)), "group-with-split-load"),
        (replace(GROUP, companions=(GROUP.client,)), "companions-refused"),
        (replace(GROUP, companions=(JAVA,) * 5), "companions-refused"),
        (
            replace(GROUP, faults=(FaultSpec("member_join", OnPhase("startup"), 1_000),)),
            "fault-before-group",
        ),
    ],
)
def test_a_load_that_a_group_cannot_report_is_refused(spec, code):
    with raises_code(UsageError, code):
        validate_plan.check_workload(spec)


@pytest.mark.parametrize(
    "kind", ["member_freeze", "member_join", "member_kill", "member_leave", "slow_processing"]
)
def test_a_fault_on_members_needs_a_group(kind):
    config = producer_config(Guarantee.AT_LEAST_ONCE, {})
    workload = replace(GROUP.workload, kind="produce")
    with raises_code(UsageError, "fault-without-group", fault=kind):
        validate_plan.check_workload(
            replace(GROUP, workload=workload, config=config, faults=(FaultSpec(kind, AtTime(0), 1_000),))
        )


def test_clients_that_produce_have_no_companions():
    producing = replace(
        GROUP, workload=Workload(), faults=(), companions=(JAVA,), scenario="produce/calm", config={}
    )
    with raises_code(UsageError, "companions-without-group"):
        validate_plan.check_workload(producing)
