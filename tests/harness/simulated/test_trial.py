"""Simulated trials: reproducible byte for byte, within the contract, and judged like live ones."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from harness.adapter.protocol_rules import Life, ProtocolRules
from harness.model.contract import Close, Configure, Flush, OpComplete, OpInvoke
from harness.model.errors import UsageError
from harness.model.evidence import Evidence
from harness.model.rows import Ending, FrameKind
from harness.model.spec import AtTime, ClientRef, FaultSpec, OnFrame, TrialSpec, Workload
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID, try_spec
from harness.simulated.trial import START_NS, SimulatedTrial, broker_of
from harness.trial.pacing import paced
from harness.workloads.produce.commands import Produce, produce
from harness.workloads.produce.profile import producer_config

ANY = "generated/any"


def reference(name: str = "reference") -> ClientRef:
    return ClientRef(name, registry.client(name).default_version)


def spec(
    *faults: FaultSpec,
    guarantee: Guarantee = Guarantee.IDEMPOTENT,
    client: str = "reference",
    scenario: str = ANY,
    nodes: int = 1,
    workload: Workload | None = None,
    **config: str | int | bool,
) -> TrialSpec:
    names = {name.replace("_", "."): value for name, value in config.items()}
    return TrialSpec(
        trial="t",
        client=reference(client),
        broker=f"scripted:4.3.1x{nodes}",
        scenario=scenario,
        guarantee=guarantee,
        seed=1,
        workload=workload
        or Workload(
            records=100, records_per_command=20, interval_ms=1_000, partitions=2, keys=7, value_bytes=64
        ),
        faults=faults,
        config=producer_config(guarantee, names),
    )


def serialised(evidence: Evidence) -> bytes:
    encoder = msgspec.json.Encoder()
    parts = (evidence.history, evidence.frames, evidence.faults, evidence.log, evidence.trace)
    return encoder.encode(evidence.record) + b"".join(encoder.encode_lines(list(part)) for part in parts)


@pytest.mark.parametrize("seed", range(1, 13))
def test_a_seed_reproduces_a_trial_byte_for_byte(seed: int) -> None:
    drawn = spec_of(registry.scenario(ANY), reference(), seed)
    first, second = (serialised(SimulatedTrial(drawn, RUN_ID).run()) for _ in range(2))
    assert first == second
    again = msgspec.json.decode(msgspec.json.encode(drawn), type=TrialSpec)
    assert serialised(SimulatedTrial(again, RUN_ID).run()) == first


@pytest.mark.parametrize("seed", range(1, 31))
def test_the_reference_client_always_passes(seed: int) -> None:
    evidence, verdict = try_spec(spec_of(registry.scenario(ANY), reference(), seed))
    assert verdict.verdict == Verdict.PASS, verdict.reason
    assert evidence.record.spec.workload.records >= 100 and len(evidence.record.spec.faults) >= 2


def _commands(trial: TrialSpec, evidence: Evidence) -> Iterator[Configure | Produce | Flush | Close]:
    config = trial.config | {"bootstrap.servers": "b:1", "client.id": "p1"}
    yield Configure(1, RUN_ID, "p1", "producer", config)
    for id, (_, numbers) in enumerate(paced(trial.workload), 2):
        yield replace(produce(trial, RUN_ID, evidence.record.topic, numbers), id=id)
    for event in evidence.history:
        if isinstance(event, OpInvoke) and event.op != "send":
            yield (Flush if event.op == "flush" else Close)(event.id, 0)


@pytest.mark.parametrize("seed", range(1, 7))
def test_the_history_follows_the_client_contract(seed: int) -> None:
    drawn = spec_of(registry.scenario(ANY), reference(), seed)
    evidence = SimulatedTrial(drawn, RUN_ID).run()
    rules, end_ns = ProtocolRules(START_NS), evidence.record.phases.end_ns
    assert end_ns is not None
    for command in _commands(drawn, evidence):
        if isinstance(command, Produce):
            invoked = [e for e in evidence.history if isinstance(e, OpInvoke) and e.first == command.first]
            command = msgspec.structs.replace(command, id=next(e.id for e in invoked if e.op == "send"))
        rules.asked(command)
    for event in evidence.history:
        assert rules.said(msgspec.json.encode(event), end_ns) is not None
    assert rules.life is Life.SHUT_DOWN and rules.outstanding == 0 and not rules.unknown


def test_phases_and_rows_are_those_of_a_live_trial() -> None:
    cut = FaultSpec("disconnect", OnFrame("Produce", "request", 2, after_ms=1_000), 700)
    late = FaultSpec("latency", AtTime(2_500), 1_000, {"upstream_ms": 40, "downstream_ms": 60})
    never = FaultSpec("reset", OnFrame("Produce", "request", 500), 10)
    evidence = SimulatedTrial(spec(cut, late, never), RUN_ID).run()
    record, phases = evidence.record, evidence.record.phases
    assert record.ending is Ending.COMPLETE, record.reason
    assert phases.load_ns and phases.heal_ns and phases.final_ns and phases.end_ns
    assert phases.load_ns < phases.heal_ns <= phases.final_ns <= phases.end_ns
    assert phases.heal_ns - phases.load_ns >= 5_000_000_000
    times = [frame.t_ns for frame in evidence.frames]
    assert times == sorted(times)
    first, second, third = evidence.faults
    assert first.effective_ns and first.effective_ns[1] - first.effective_ns[0] == 700_000_000
    requests = [
        frame.t_ns
        for frame in evidence.frames
        if frame.kind is FrameKind.REQUEST and frame.api == "Produce"
        if frame.t_ns >= phases.load_ns + 1_000_000_000
    ]
    assert first.effective_ns[0] == requests[1]
    assert second.requested_ns == (phases.load_ns + 2_500_000_000, phases.load_ns + 3_500_000_000)
    assert first.hits > 0 and second.hits > 0
    assert third.requested_ns is None and third.effective_ns is None and third.hits == 0
    slow = [
        s
        for s in evidence.operations.values()
        if s.complete_ns and s.complete_ns - s.invoke_ns >= 100_000_000
    ]
    assert slow
    assert len(evidence.log) == 100 and evidence.trace


def test_a_blocked_send_delays_later_records_and_commands() -> None:
    silence = FaultSpec("dropped_response", AtTime(900), 3_000)
    held = spec(silence, batch_size=1_024, buffer_memory=2_048, linger_ms=0, max_block_ms=60_000)
    evidence = SimulatedTrial(held, RUN_ID).run()
    invoked = {e.id: e for e in evidence.history if isinstance(e, OpInvoke) and e.op == "send"}
    ends = [e for e in evidence.history if isinstance(e, OpComplete) and e.op == "send"]
    sends = {n: ns for e in ends for n, ns in zip(e.records, e.invoke_ns, strict=True)}
    ordered = [sends[n] for n in sorted(sends)]
    assert len(ordered) == 100 and ordered == sorted(ordered)
    assert max(ordered[n + 1] - ordered[n] for n in range(99) if (n + 1) % 20) > 1_000_000_000
    for id, event in invoked.items():
        if id > min(invoked):
            assert event.mono_ns >= max(sends[n] for n in range(event.first))


def test_an_impossible_configuration_is_unsupported() -> None:
    refused = spec(linger_ms=40_000)  # longer than delivery.timeout.ms
    record = SimulatedTrial(refused, RUN_ID).run().record
    assert record.ending is Ending.UNSUPPORTED and "delivery.timeout.ms" in record.reason


def test_an_endless_trial_is_a_harness_error() -> None:
    record = SimulatedTrial(spec(), RUN_ID, max_steps=20).run().record
    assert record.ending is Ending.HARNESS_ERROR and record.code == "trial-in-circles"


def test_a_live_broker_is_refused() -> None:
    record = SimulatedTrial(msgspec.structs.replace(spec(), broker="local:4.3.1x1"), RUN_ID).run().record
    assert record.ending is Ending.HARNESS_ERROR and "scripted:" in record.reason
    for text in ("scripted:", "scripted:4.3.1", "scripted:4.3.1x0", "scripted:x3", "local:4.3.1x1"):
        with pytest.raises(UsageError):
            broker_of(text)


@pytest.mark.parametrize(
    ("mutant", "guarantee", "kind", "anomaly"),
    [
        ("acknowledges_before_response", Guarantee.AT_LEAST_ONCE, "disconnect", "early-ack"),
        ("retries_with_new_sequence", Guarantee.IDEMPOTENT, "dropped_response", "duplicate"),
        ("drops_batch_on_disconnect", Guarantee.AT_LEAST_ONCE, "dropped_response", "still-pending"),
        ("reorders_on_retry", Guarantee.IDEMPOTENT, "dropped_request", "reordered"),
        ("reports_success_as_failure", Guarantee.AT_LEAST_ONCE, "dropped_response", "unexpected-record"),
        ("corrupts_on_retry", Guarantee.AT_LEAST_ONCE, "dropped_response", "corrupted"),
        ("gives_up_on_disconnect", Guarantee.AT_LEAST_ONCE, "disconnect", "gave-up"),
        ("never_expires", Guarantee.AT_LEAST_ONCE, "dropped_response", "delivery-timeout"),
    ],
)
def test_the_checks_detect_mutants_in_virtual_time(
    mutant: str, guarantee: Guarantee, kind: str, anomaly: str
) -> None:
    bed = FaultSpec("latency", AtTime(100), 4_500, {"upstream_ms": 200, "downstream_ms": 200})
    faults = (bed, FaultSpec(kind, OnFrame("Produce", "request", 2, after_ms=500), 1_500))
    _, verdict = try_spec(spec(*faults, guarantee=guarantee, client=f"mutant-{mutant}"))
    found = {finding.anomaly for each in verdict.requirements for finding in each.findings}
    assert verdict.verdict == Verdict.FAIL and anomaly in found, (verdict.verdict, verdict.reason, found)
    _, true = try_spec(spec(*faults, guarantee=guarantee))
    assert true.verdict == Verdict.PASS, true.reason
