"""Idempotent producers: a partition accepts and refuses the same batches as a model of the requirements.

PRD-IDM-05: the last five batches of a producer are recognised as duplicates. PRD-IDM-14: an older epoch is
refused, and a new one begins at sequence 0. PRD-IDM-15: a forgotten producer may begin with any sequence.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.producer_state import ProducerStateManager
from harness.wire.records import read_headers

MAX_SEQUENCE = 2**31
OK, OUT_OF_ORDER, OLD_EPOCH = (
    ErrorCode.none,
    ErrorCode.out_of_order_sequence_number,
    ErrorCode.invalid_producer_epoch,
)


class Model:
    """A model that shares no code with the broker:

    the log as a list of batches, and the rules applied to it.
    """

    def __init__(self) -> None:
        self.log: list[tuple[int, int, int, int, int]] = []  # producer id, epoch, first, count, offset
        self.forgotten_before = 0
        self.next_offset = 0

    def known(self, producer_id: int) -> list[tuple[int, int, int, int, int]]:
        mine = [entry for entry in self.log[self.forgotten_before :] if entry[0] == producer_id]
        return [entry for entry in mine if entry[1] == mine[-1][1]][-5:]

    def offer(self, producer_id: int, epoch: int, first: int, count: int) -> tuple[ErrorCode, int]:
        known = self.known(producer_id)
        for entry in known:
            if entry[1:4] == (epoch, first, count):
                return OK, entry[4]
        if known:
            _, last_epoch, last_first, last_count, _ = known[-1]
            if epoch < last_epoch:
                return OLD_EPOCH, -1
            due = (last_first + last_count) % MAX_SEQUENCE if epoch == last_epoch else 0
            if first != due:
                return OUT_OF_ORDER, -1
        self.log.append((producer_id, epoch, first, count, self.next_offset))
        self.next_offset += count
        return OK, self.next_offset - count


class ProducerStates(RuleBasedStateMachine):
    """Any mixture of next batches, repeats, gaps, old and new epochs, expired producers, leader moves and trims."""

    def __init__(self, client: Any, batch: Any) -> None:
        super().__init__()
        self.client = client(nodes=2)
        self.batch = batch
        self.model = Model()
        self.sent: list[tuple[int, int, int, int]] = []

    def offer(self, producer_id: int, epoch: int, first: int, count: int) -> None:
        leader, _ = self.client.cluster.leader("t", 0)
        answer = self.client.produce(self.batch(count, (producer_id, epoch, first)), node_id=leader)
        assert (answer.error_code, answer.base_offset) == self.model.offer(producer_id, epoch, first, count)
        self.sent.append((producer_id, epoch, first, count))

    @rule(producer_id=st.integers(0, 2), count=st.integers(1, 4))
    def next_batch(self, producer_id: int, count: int) -> None:
        known = self.model.known(producer_id)
        epoch, due = (known[-1][1], known[-1][2] + known[-1][3]) if known else (0, 0)
        self.offer(producer_id, epoch, due % MAX_SEQUENCE, count)

    @rule(back=st.integers(1, 9))
    def repeat(self, back: int) -> None:
        if self.sent:
            self.offer(*self.sent[-min(back, len(self.sent))])

    @rule(
        producer_id=st.integers(0, 2),
        epoch=st.integers(0, 3),
        first=st.integers(0, 6) | st.integers(MAX_SEQUENCE - 4, MAX_SEQUENCE - 1),
        count=st.integers(1, 4),
    )
    def anything(self, producer_id: int, epoch: int, first: int, count: int) -> None:
        self.offer(producer_id, epoch, first, count)

    @rule()
    def forget(self) -> None:
        self.client.cluster.expire_producers(0)
        self.model.forgotten_before = len(self.model.log)

    @rule()
    def move(self) -> None:
        leader, _ = self.client.cluster.leader("t", 0)
        self.client.cluster.move_leader("t", 0, 3 - leader, 0)

    @rule()
    def trim(self) -> None:
        self.client.cluster.trim("t", 0)

    @invariant()
    def the_log_is_the_models(self) -> None:
        rows = [row for row in self.client.cluster.read_log("t", deleted=True) if row.partition == 0]
        assert [row.offset for row in rows] == list(range(self.model.next_offset))
        assert [(r.producer_id, r.producer_epoch, r.sequence) for r in rows] == [
            (producer_id, epoch, (first + index) % MAX_SEQUENCE)
            for producer_id, epoch, first, count, _ in self.model.log
            for index in range(count)
        ]


@pytest.mark.long("many histories of producers and topics")
def test_a_partition_accepts_what_the_model_accepts(client, batch):
    run_state_machine_as_test(
        lambda: ProducerStates(client, batch), settings=settings(max_examples=60, stateful_step_count=30)
    )


def test_the_sixth_last_batch_is_out_of_order(client, batch):
    it = client()
    for first in range(6):
        assert it.produce(batch(1, (7, 0, first))).error_code is OK
    assert it.produce(batch(1, (7, 0, 1))).base_offset == 1
    assert it.produce(batch(1, (7, 0, 0))).error_code is OUT_OF_ORDER


def test_batches_of_an_earlier_epoch_are_not_duplicates(client, batch):
    it = client()
    for epoch in (0, 1):
        answers = [it.produce(batch(1, (7, epoch, first))) for first in range(3)]
        assert [answer.base_offset for answer in answers] == [3 * epoch + first for first in range(3)]


def test_sequences_wrap_around_to_zero(client, batch):
    it = client()
    assert it.produce(batch(2, (7, 0, MAX_SEQUENCE - 2))).error_code is OK
    assert it.produce(batch(1, (7, 0, 0))).error_code is OK
    assert it.produce(batch(2, (7, 0, MAX_SEQUENCE - 2))).base_offset == 0


def test_an_idle_producer_is_forgotten_after_its_expiration(client, batch):
    it = client()
    expiration_ms = it.cluster.settings.producer_id_expiration_ms
    assert it.produce(batch(1, (7, 0, 0))).error_code is OK
    it.now_ns = (expiration_ms - 1) * 1_000_000
    assert it.produce(batch(1, (7, 0, 5), timestamp_ms=0)).error_code is OUT_OF_ORDER
    it.now_ns += 1_000_000
    assert it.produce(batch(1, (7, 0, 5), timestamp_ms=0)).error_code is OK


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=30))
def test_at_most_five_batches_per_producer_are_remembered(offers):
    manager = ProducerStateManager(1_000, {})
    for producer_id, now_ms in offers:
        manager.entry(producer_id, now_ms)
    assert all(len(entry.batches) <= 5 for entry in manager.producers.values())


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_a_duplicate_is_never_stored_again(client, batch, acks):
    it = client()
    for _ in range(3):
        it.produce_many([(0, batch(2, (7, 0, 0)))], acks=acks)
    (stored,) = it.cluster.log_batches("t", 0)
    (header,) = read_headers(stored)
    assert header.base_sequence == 0
