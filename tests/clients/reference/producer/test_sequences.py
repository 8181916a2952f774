"""One partition's sequence: its states, and what may be sent in each (section 1.3 c)."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clients.reference.producer.buffer_pool import Grant
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.producer.sequences import PartitionSequences
from clients.reference.states import SequenceState
from clients.reference.telemetry.trace import StateChanged, no_trace
from harness.wire.error_table import BY_NAME
from harness.wire.records import BatchBuilder

OUT_OF_ORDER = BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code
NOT_ENOUGH = BY_NAME["NOT_ENOUGH_REPLICAS"].code


class Chain(RuleBasedStateMachine):
    """One partition's batches start, are rejected, acknowledged or lost, and the epoch is bumped here or elsewhere.

    The model is a list of the batches in flight and the five states, from the catalogue.
    """

    def __init__(self):
        super().__init__()
        self.number = 0
        self.identity = ProducerId(7, 0)
        self.chain = PartitionSequences(("t", 0), self.identity, no_trace)
        self.flying: list[ProducerBatch] = []
        self.used: dict[tuple[int, int], str] = {}

    @rule(records=st.integers(1, 3))
    def begin(self, records):
        if not self.chain.may_begin_another():
            return
        assert self.chain.state in (SequenceState.CLEAN, SequenceState.STALE_EPOCH)
        self.number += 1
        builder = BatchBuilder()
        batch = ProducerBatch(("t", 0), self.number, builder, Grant(100), 1_000, 0, no_trace)
        for _ in range(records):
            batch.append(0, None, b"v", (), None)
        self.chain.assign(batch, self.identity, 0)
        self.flying.append(batch)
        assert batch.producer_id == self.identity
        self.claim(batch)

    def claim(self, batch):
        """PRD-IDM-13: a number belongs to one batch within an epoch."""
        for number in range(batch.base_sequence, batch.base_sequence + batch.record_count):
            owner = self.used.setdefault((batch.producer_id.epoch, number), batch.name)
            assert owner == batch.name

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def refused(self, data):
        batch = data.draw(st.sampled_from(self.flying))
        batch.goes_again = True
        self.chain.goes_again(0)
        assert self.chain.state is not SequenceState.CLEAN

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def acknowledged(self, data):
        batch = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        self.chain.acknowledged(batch, 0)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def lost(self, data):
        batch = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        self.chain.forget(batch, 0)
        if batch.producer_id == self.chain.producer_id:
            self.chain.is_unresolved(batch, 0)
            assert not self.chain.may_begin_another() or self.chain.state is SequenceState.STALE_EPOCH

    @rule()
    def resolve(self):
        whole = self.chain.is_next(self.chain.next_sequence)
        due = self.chain.state is SequenceState.UNRESOLVED and not self.flying
        broken = self.chain.resolve(0)
        assert broken is (due and not whole)
        if broken:
            self.chain.is_broken(0)

    @rule()
    def broken(self):
        self.chain.is_broken(0)
        assert not self.chain.may_begin_another()

    @rule()
    def raised(self):
        """Bump the epoch: this partition restarts if it requested that, or else follows later."""
        self.identity = ProducerId(7, self.identity.epoch + 1)
        if self.chain.state is SequenceState.BUMPED:
            self.chain.restart(self.identity, 0)
            assert self.chain.next_sequence == sum(batch.record_count for batch in self.flying)
            for batch in self.flying:
                self.claim(batch)
        else:
            self.chain.epoch_was_raised(0)
            assert self.chain.may_begin_another() is (not self.flying)

    @invariant()
    def one_chain(self):
        """PRD-IDM-02, -04, -10: in order, without gaps within the sequence, and at most five."""
        assert self.chain.in_flight == self.flying
        assert len(self.flying) <= 5
        assert len({batch.producer_id for batch in self.flying}) <= 1
        assert [b.base_sequence for b in self.flying] == sorted(b.base_sequence for b in self.flying)
        retrying = self.chain.state is SequenceState.RETRYING
        assert not retrying or any(batch.goes_again for batch in self.flying)
        if self.flying:
            assert [self.chain.may_go_again(batch) for batch in self.flying].count(True) == 1


TestChain = Chain.TestCase


def moves(w, partition="t-0"):
    changes = [e for e in w.told(StateChanged) if e.machine == "sequence" and e.subject == partition]
    return [event.after for event in changes]


def one_by_one(world, **settings):
    w = world(batch_size=0, linger_ms=0, **settings)
    w.settle(w.send(partition=0), w.send(partition=1))
    return w


def test_rejection_and_retry_are_traced(world):
    """PRD-IDM-07."""
    w = one_by_one(world)
    w.brokers.fates(NOT_ENOUGH)
    w.settle(w.send())
    assert moves(w) == ["RETRYING", "CLEAN"]


def test_no_new_batch_is_sent_during_a_retry(world):
    """PRD-IDM-07: effectively one in flight, until the last rejected batch is stored."""
    w = one_by_one(world)
    w.slow(20)
    w.brokers.fates(None, NOT_ENOUGH)
    first = [w.send() for _ in range(3)]
    w.run(45)
    late = [w.send() for _ in range(3)]
    highest = 0

    def refused_are_done():
        nonlocal highest
        if "RETRYING" in moves(w)[-1:]:
            waiting = [b for b in w.sender.in_flight() if b.partition == ("t", 0) and b.goes_again]
            highest = max(highest, len(waiting))
        return all(delivery.is_done for delivery in first)

    w.until(refused_are_done)
    assert highest == 1
    w.settle(*late)
    assert moves(w) == ["RETRYING", "CLEAN"]


def test_broken_sequence_and_following_partition_are_traced(world):
    """PRD-IDM-09, -10."""
    w = one_by_one(world)
    w.brokers.fates(OUT_OF_ORDER)
    w.settle(w.send(partition=0))
    assert moves(w, "t-0") == ["BUMPED", "CLEAN", "RETRYING", "CLEAN"]
    assert moves(w, "t-1") == ["STALE_EPOCH"]
    w.settle(w.send(partition=1))
    assert moves(w, "t-1") == ["STALE_EPOCH", "CLEAN"]


@pytest.mark.parametrize("disposition", ["hold", "lose"])
def test_expired_batch_and_its_resolution_are_traced(world, disposition):
    """PRD-EXP-06: stored or not, the epoch is bumped if no following batch shows the outcome."""
    w = one_by_one(world, request_timeout_ms=1_500, delivery_timeout_ms=1_500)
    w.brokers.fates(then=disposition)
    w.settle(w.send())
    w.brokers.fates()
    w.settle(w.send())
    assert "UNRESOLVED BUMPED CLEAN" in " ".join(moves(w))
