"""Checks of the client's trace, on simulated trials: the reference client passes, and a breach is found."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
from msgspec.structs import replace

from clients.reference.telemetry.trace import BatchEnded, BatchSent
from harness.judging.judge import judge
from harness.model.spec import ClientRef
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.trial import SimulatedTrial
from suites.checks.trace import trace_model
from suites.checks.trace.sequence import Sequences
from suites.checks.trace.traced import TRACE_CHECKS, TRACED
from suites.scenarios.generated import ANY_SCENARIO, NETWORK_SCENARIO

REFERENCE = ClientRef("reference", registry.client("reference").default_version)
SCENARIOS = (ANY_SCENARIO, NETWORK_SCENARIO)


@pytest.fixture(scope="module")
def trials():
    """Return simulated trials of the reference client, under each guarantee."""
    return [
        SimulatedTrial(spec_of(scenario, REFERENCE, seed), "test").run()
        for seed in range(3)
        for scenario in SCENARIOS
    ]


def asked(evidence):
    return [check for check in TRACE_CHECKS if evidence.record.spec.guarantee in check.guarantees]


def test_reference_client_is_not_accused(trials):
    assert {each.record.spec.guarantee for each in trials} >= {Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT}
    for evidence in trials:
        assert evidence.trace
        assert [check.run(evidence) for check in asked(evidence)] == [[] for _ in asked(evidence)]


def test_trace_from_a_file_is_the_trace(trials):
    for evidence in trials:
        rows = tuple(msgspec.json.decode(msgspec.json.encode(event)) for event in evidence.trace)
        read = trace_model.events_of(
            with_trace(evidence, (*rows, {"event": "of a later release", "at_ms": 1}))
        )
        assert list(read) == list(evidence.trace)


def with_trace(evidence, trace):
    return dataclasses.replace(evidence, trace=tuple(trace))


def test_client_without_a_trace_is_not_judged(trials):
    [evidence] = [each for each in trials if each.record.spec.guarantee is Guarantee.IDEMPOTENT][:1]
    client = evidence.record.client | {"features": ["producer", "idempotence"]}
    silent = msgspec.structs.replace(evidence.record, client=client)
    with_one, without = (
        {row.id: row.checks for row in judge(each, ANY_SCENARIO, registry.checks()).requirements}
        for each in (evidence, dataclasses.replace(with_trace(evidence, ()), record=silent))
    )
    assert "NET-INF-06" not in without
    assert (with_one["PRD-EXP-01"], without["PRD-EXP-01"]) == (
        ("deadlines", "delivery-timeout"),
        ("delivery-timeout",),
    )
    assert set(TRACED) <= with_one.keys()


def test_finding_has_a_count_and_the_first_event(trials):
    [evidence] = [each for each in trials if each.record.spec.guarantee is Guarantee.IDEMPOTENT][:1]
    twice = [event for event in evidence.trace for _ in range(1 + isinstance(event, BatchEnded))]
    [finding] = TRACE_CHECKS[0].run(with_trace(evidence, twice))
    assert finding.count == sum(isinstance(event, BatchEnded) for event in evidence.trace)
    assert "test-0-0#1 " in finding.message
    assert finding.requirement == "PRD-FIN-01"


def test_attempt_with_other_numbers_is_found(trials):
    for evidence in trials:
        if evidence.record.spec.guarantee is Guarantee.IDEMPOTENT:
            places = [i for i, event in enumerate(evidence.trace) if isinstance(event, BatchSent)]
            for place in places[:: max(len(places) // 8, 1)]:
                trace = list(evidence.trace)
                trace[place] = replace(trace[place], base_sequence=trace[place].base_sequence + 1)
                assert Sequences().watch(trace), f"event {place}"
