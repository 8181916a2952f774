"""The reason for a trial whose fault never took effect names the user's own load, since that may be too short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from harness.judging.fault_activation import activation
from harness.model.load import Load
from harness.model.verdicts import Verdict
from harness.plugins import registry


@pytest.fixture
def without_effect(story):
    """Return evidence of a fault that never took effect, under a given load."""

    def made(load):
        told = story()
        told.fault("reset", None)
        evidence = told.evidence()
        workload = changed(evidence.record.spec.workload, records=200, load=load)
        record = changed(evidence.record, spec=changed(evidence.record.spec, workload=workload))
        return replace(evidence, record=record)

    return made


@pytest.mark.parametrize(
    ("load", "code"), [(None, "fault-never-effective"), (Load(rate=1_000), "load-without-fault")]
)
def test_a_fault_that_never_took_effect_has_a_reason(without_effect, load, code):
    found = activation(without_effect(load), registry.scenario("network/reset"))
    assert (found.verdict, found.reason.code) == (Verdict.NOT_EXERCISED, code)
    assert found.reason.params["fault"] == "reset"


def test_the_reason_names_the_size_of_the_own_load(without_effect):
    reason = activation(without_effect(Load(rate=1_000)), registry.scenario("network/reset")).reason
    assert (reason.params["records"], reason.params["load_ms"]) == (200, 200)
