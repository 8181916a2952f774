"""Faults that act on members of a group, in virtual time: each has its effect, and the group reads everything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faults.kinds.compaction import BATCHES, superseded
from harness.judging.fault_activation import effects
from harness.model.consumer_contract import ConsumerError
from harness.model.evidence import Evidence
from harness.model.harness_events import AsideWritten, GroupCommitted, MemberStarted, TransactionEnded
from harness.model.rows import Ending
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, OnPhase, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.simulated.trial import SimulatedTrial
from harness.workloads.consume import accounting
from harness.workloads.consume.profile import consumer_config

SLOW_MS = 700
RECORDS = 120


def tried(*faults: FaultSpec, seed: int = 1, isolation: str = "read_uncommitted", **given: int) -> Evidence:
    """Run a trial with these faults. ``given`` are the members, and their work on a turn in ms."""
    trial = TrialSpec(
        trial="t",
        client=ClientRef("reference", registry.client("reference").default_version),
        broker="scripted:4.3.1x3",
        scenario="group/join",
        guarantee=Guarantee.AT_LEAST_ONCE,
        seed=seed,
        workload=Workload(
            kind="consume",
            records=RECORDS,
            records_per_command=10,
            interval_ms=1_000,
            partitions=4,
            params={"members": 2, **given},
        ),
        faults=faults,
        config=consumer_config(Guarantee.AT_LEAST_ONCE, {"isolation.level": isolation}),
    )
    evidence = SimulatedTrial(trial, "run").run()
    assert evidence.record.ending is Ending.COMPLETE, evidence.record.reason
    return evidence


@pytest.mark.twin("member_freeze", "member_join", "member_kill", "member_leave", "slow_processing")
@pytest.mark.parametrize(
    ("kind", "params", "processes"),
    [
        ("member_freeze", {}, 2),
        ("member_join", {}, 3),
        ("member_kill", {}, 3),
        ("member_leave", {}, 3),
        ("slow_processing", {"processing_ms": SLOW_MS}, 2),
    ],
)
def test_a_fault_on_a_member_has_its_effect(kind, params, processes):
    evidence = tried(FaultSpec(kind, AtTime(1_500), 8_000, params))

    assert effects(evidence)[0].count > 0
    assert sum(isinstance(event, MemberStarted) for event in evidence.history) == processes
    assert accounting.missed(evidence) == []


@pytest.mark.twin("commit_now", "illegal_calls", "pause_partitions", "seek_back", "wakeup")
@pytest.mark.parametrize("kind", ["commit_now", "illegal_calls", "pause_partitions", "seek_back", "wakeup"])
def test_a_call_of_an_application_that_reads_alone_has_its_effect(kind):
    evidence = tried(FaultSpec(kind, AtTime(3_500), 4_000), members=1)

    assert effects(evidence)[0].count > 0
    assert accounting.missed(evidence) == []


@pytest.mark.twin("damaged_batch")
@pytest.mark.parametrize("records", [0, 1])
def test_a_damaged_batch_is_read_from_the_log_by_the_next_member(records):
    damage = FaultSpec(
        "damaged_batch", AtTime(1_500), 4_000, {"records": records}, frames=FrameMatch("Fetch", count=50)
    )
    evidence = tried(damage, FaultSpec("member_leave", AtTime(6_000), 500), members=1)

    assert effects(evidence)[0].count == evidence.faults[0].hits > 0
    assert any(isinstance(event, ConsumerError) for event in evidence.history)
    assert accounting.missed(evidence) == accounting.foreign(evidence) == []


@pytest.mark.twin("open_transaction")
@pytest.mark.parametrize("commits", [0, 1])
def test_an_open_transaction_keeps_what_follows_from_readers_of_committed_records(commits):
    fault = FaultSpec("open_transaction", AtTime(3_500), 4_000, {"records": 5, "commits": commits})
    evidence = tried(fault, isolation="read_committed")
    [end] = [event for event in evidence.history if isinstance(event, TransactionEnded)]
    places = set(zip(end.partitions, end.offsets, strict=True))
    given = {(each.partition, each.offset) for each in accounting.deliveries(evidence)}

    assert effects(evidence)[0].count > 0
    assert len(places) == 4 * 5 and given & places == (places if commits else set())
    assert accounting.missed(evidence) == []
    assert effects(tried(fault))[0].count == 0  # who reads what is not committed does not wait


@pytest.mark.twin("unclean_election")
def test_members_go_back_to_where_the_logs_part_after_an_unclean_election():
    evidence = tried(FaultSpec("unclean_election", AtTime(3_500), 2_000, {"records": 5}))
    [lost] = [event for event in evidence.history if isinstance(event, AsideWritten)]
    values = {row.value for row in evidence.log}

    assert effects(evidence)[0].count > 0
    assert len(lost.values) == 4 * 5 and not set(lost.values) <= values
    assert len(evidence.log) == RECORDS + len(values & set(lost.values))
    assert accounting.missed(evidence) == []


@pytest.mark.twin("compaction")
def test_members_read_what_compaction_has_left():
    evidence = tried(FaultSpec("compaction", OnPhase("startup"), 30_000))
    left = set(range(sum(map(len, BATCHES)))) - superseded()

    assert effects(evidence)[0].count == 4 * (max(left) + 1 - min(left) - len(left)) > 0
    assert len(evidence.log) == RECORDS + 4 * len(left)
    assert accounting.missed(evidence) == []


@pytest.mark.parametrize("member", [1, 2])
def test_a_member_that_owns_some_of_the_partitions_pauses_and_resumes_them(member):
    evidence = tried(FaultSpec("pause_partitions", AtTime(3_500), 4_000, {"member": member}))

    assert effects(evidence)[0].count > 0
    assert accounting.missed(evidence) == []


def test_a_member_works_as_before_when_the_fault_has_ended():
    evidence = tried(
        FaultSpec("slow_processing", AtTime(1_500), 2_000, {"processing_ms": SLOW_MS}), processing_ms=50
    )

    last = max(accounting.deliveries(evidence), key=lambda each: each.polled_ns)
    assert last.processed_ns - last.polled_ns == 50_000_000


@pytest.mark.twin("listener_throws")
@pytest.mark.parametrize("callback", [0, 1])
def test_a_listener_that_throws_has_its_effect(callback):
    evidence = tried(
        FaultSpec("listener_throws", AtTime(1_000), 8_000, {"callback": callback}),
        FaultSpec("member_join", AtTime(1_500), 8_000),
    )

    assert effects(evidence)[0].count > 0
    assert accounting.missed(evidence) == []


def test_a_calm_group_commits_what_it_was_given_once():
    evidence = tried()

    assert len(accounting.deliveries(evidence)) == RECORDS == len(evidence.acknowledged)
    [stored] = [event for event in evidence.history if isinstance(event, GroupCommitted)]
    assert sum(each.offset for each in stored.offsets) == RECORDS


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), at_ms=st.integers(0, 9_000), lasts_ms=st.integers(500, 9_000))
def test_the_same_seed_gives_the_same_history(seed, at_ms, lasts_ms):
    fault = FaultSpec("member_kill", AtTime(at_ms), lasts_ms, {"member": 1 + seed % 2})

    assert tried(fault, seed=seed).history == tried(fault, seed=seed).history
