"""Clients with one overridden method, to show that the properties of the other tests can be broken.

Each variant has a defect that some real client has had. If it did not break its property here, the tests of that
property would prove nothing.
"""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import NO_SEQUENCE, ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.reference.producer.sender import Sender
from harness.model.verdicts import Outcome


class AcknowledgesBeforeTheResponse(Sender):
    def _sent(self, batch, node_id, now_ms):
        super()._sent(batch, node_id, now_ms)
        self._succeed_batch(batch, PartitionResponse(*batch.partition, 0), now_ms)

    def _complete_batch(self, batch, answer, now_ms):
        self._metadata.request_update()


class RetriesWithANewSequence(RecordAccumulator):
    def _prepare(self, batch, now_ms):
        if batch.attempts:
            self._transactions._entry(batch.partition).forget(batch, now_ms)
            batch.base_sequence = NO_SEQUENCE
            self._transactions.assign_sequence(batch, now_ms)
            batch.restart_sequence(batch.producer_id, batch.base_sequence)
        super()._prepare(batch, now_ms)


class DropsABatchOnDisconnect(Sender):
    def _can_retry(self, batch, error, answer, now_ms):
        return error.name != "NETWORK_EXCEPTION" and super()._can_retry(batch, error, answer, now_ms)


class CorruptsOnRetry(ProducerBatch):
    def payload(self):
        data = super().payload()
        return data[:-1] + bytes([data[-1] ^ 1]) if self.attempts else data


class NeverExpires(ProducerBatch):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.expires_ms = 2**62


def test_early_acknowledgement_loses_a_record(world):
    w = world(components=Components(sender=AcknowledgesBeforeTheResponse))
    w.brokers.fates("close-before")
    delivery = w.send()
    w.settle(delivery)
    w.run(5_000)
    assert delivery.error is None
    assert w.brokers.values() == []


def test_new_sequence_duplicates_a_record(world):
    w = world(components=Components(accumulator=RetriesWithANewSequence))
    w.settle(w.send())
    w.brokers.fates("close-after")
    w.settle(w.send())
    assert w.brokers.values() == [b"v0", b"v1", b"v1"]


def test_dropping_on_disconnect_gives_up_a_record(world):
    w = world(components=Components(sender=DropsABatchOnDisconnect))
    w.brokers.fates("close-before")
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error.outcome is Outcome.INFO
    assert w.brokers.values() == []


def test_flipped_byte_is_on_the_wire(world):
    w = world(components=Components(batch=CorruptsOnRetry))
    w.brokers.fates(7)
    w.send()
    w.until(lambda: len(w.brokers.requests()) == 1)
    w.brokers.script = lambda seen: "lose"
    w.until(lambda: len(w.brokers.requests()) == 2)
    first, second = w.brokers.requests()
    assert first.produced != second.produced


def test_disabled_expiry_leaves_records_without_a_result(world):
    w = world(components=Components(batch=NeverExpires), delivery_timeout_ms=1_500, request_timeout_ms=1_000)
    w.settle(w.send())
    w.refuse()
    w.run(10)
    delivery = w.send()
    w.run(60_000)
    assert not delivery.is_done
