"""The application's partitioner, whole records, and the metadata of records that failed (PRD-ISP-02, -06)."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

import pytest

from clients.reference.errors import IllegalStateError
from clients.reference.errors import TimeoutError as MetadataTimeoutError
from clients.reference.producer import serializers as to_bytes
from clients.reference.producer.interceptors import ProducerRecord
from clients.reference.producer.producer_batch import RecordMetadata
from harness.model.errors import UsageError
from harness.wire.error_table import BY_NAME
from testkit.codes import raises_code
from tests.clients.reference.transport.diary import Diary

WAIT_S = 20


def test_partitioner_of_the_application_gets_both_forms(producer):
    """PRD-ISP-06."""
    diary = Diary()
    with producer(partitioner_class=diary, key_serializer=to_bytes.IntegerSerializer) as p:
        assert p.send("t", b"v", key=7).result(WAIT_S).partition == 2
        assert p.send("t", b"v", partition=1).result(WAIT_S).partition == 1
    assert [each[2:] for each in diary.of("partition")] == [(7, b"\x00\x00\x00\x07", b"v", b"v")]


class Odd(Diary):
    """A partitioner that fails."""

    def __init__(self, choice: Any) -> None:
        super().__init__()
        self.choice = choice

    def partition(self, *given: Any) -> int:
        if isinstance(self.choice, Exception):
            raise self.choice
        return self.choice


@pytest.mark.parametrize("choice", [-1, 3, None, True, ZeroDivisionError("mine")])
def test_failing_partitioner_makes_send_raise(producer, choice):
    """PRD-ISP-06: outside of any lock, with nothing buffered, and the interceptors learn of it."""
    diary, odd = Diary(), Odd(choice)
    expected = type(choice) if isinstance(choice, Exception) else IllegalStateError
    with producer(partitioner_class=odd, interceptor_classes=[diary]) as p:
        free = p._core.pool.available_bytes
        with pytest.raises(expected):
            p.send("t", b"v", headers=[("h", b"1")])
        assert p._core.pool.available_bytes == free
        assert p.send("t", b"v", partition=1).result(WAIT_S)
    first, second = (each[2:] for each in diary.of("on_acknowledgement"))
    assert first[0] == RecordMetadata("t", -1, -1, -1) and isinstance(first[1], expected)
    assert second[1] is None


def test_partitioner_runs_without_the_lock(producer):
    """Another thread sends while a partitioner takes its time."""

    class Slow(Diary):
        def partition(self, *given: Any) -> int:
            other = Thread(target=lambda: p.send("t", b"other", partition=0))
            other.start()
            other.join(WAIT_S)
            assert not other.is_alive()
            return 2

    with producer(partitioner_class=Slow()) as p:
        assert p.send("t", b"v").result(WAIT_S).partition == 2


def test_partitioner_in_a_callback_does_not_wait_for_metadata(producer):
    """The I/O thread that runs the callback is the one that would get the metadata: Java waits without success."""
    futures: list[Any] = []
    told = Event()

    def callback(metadata: RecordMetadata, error: Any) -> None:
        futures.extend([p.send("t", b"known"), p.send("new", b"unknown")])
        told.set()

    with producer(partitioner_class=Diary()) as p:
        p.send("t", b"v", callback=callback).result(WAIT_S)
        assert told.wait(WAIT_S)
        assert futures[0].result(WAIT_S).partition == 2
        assert isinstance(futures[1].exception(WAIT_S), MetadataTimeoutError)


@pytest.mark.parametrize("settings", [{}, {"value_serializer": to_bytes.StringSerializer}])
def test_whole_record_is_sent(producer, settings):
    """ProducerRecord is what Java's send() takes."""
    value: Any = "v" if settings else b"v"
    record = ProducerRecord(
        topic="t", value=value, key=b"k", partition=1, timestamp_ms=5, headers=[("h", b"1")]
    )
    ends: list[Any] = []
    with producer(**settings) as p:
        place = p.send(record, callback=lambda *end: ends.append(end)).result(WAIT_S)
        with raises_code(UsageError, "record-and-fields"):
            p.send(record, b"other")
    assert place == RecordMetadata("t", 1, 0, 5) and ends == [(place, None)]


def test_callback_of_a_failed_record_gets_its_place(broker, producer):
    """As in Java, metadata is never null: topic and partition are known, and everything else is -1."""
    ends: list[Any] = []

    def callback(metadata: RecordMetadata, error: Any) -> None:
        ends.append((metadata, error.name))

    broker.cluster.settings.denied_topics.add("nope")
    with producer() as p:
        p.send("nope", b"v", callback=callback)
        p.send("t", b"x" * 2_000_000, partition=1, callback=callback)
        p.flush(WAIT_S)
        broker.brokers.fates(then=BY_NAME["INVALID_RECORD"].code)
        p.send("t", b"v", partition=2, callback=callback).exception(WAIT_S)
    assert sorted(ends, key=str) == [
        (RecordMetadata("nope", -1, -1, -1), "TOPIC_AUTHORIZATION_FAILED"),
        (RecordMetadata("t", 1, -1, -1), "MESSAGE_TOO_LARGE"),
        (RecordMetadata("t", 2, -1, -1), "INVALID_RECORD"),
    ]
