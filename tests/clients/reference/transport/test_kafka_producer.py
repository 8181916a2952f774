"""The producer's public interface: futures, partitions_for, flush and close (PRD-CLS-01 to -05, -07)."""

from __future__ import annotations

import threading
from queue import Queue
from typing import Any

import pytest

import clients.reference
from clients.reference.errors import BrokerError, IllegalStateError, ProducerClosedError, SendError
from clients.reference.metadata.metadata import PartitionMetadata
from clients.reference.producer.serializers import BytesSerializer
from clients.reference.states import LIFE, LifeState
from clients.reference.telemetry.trace import SendBlocked, StateChanged, TraceEvent
from harness.wire.apis import Api
from testkit.codes import raises_code

WAIT_S = 20


def test_future_has_a_result_once_done(producer):
    with producer(linger_ms=0) as p:
        future = p.send("t", b"v", partition=1)
        assert future.exception(WAIT_S) is None
        assert future.done() and future.result().partition == 1


def test_done_callbacks_run_on_the_io_thread_or_at_once(producer):
    told: list[Any] = []
    heard = threading.Event()

    def later(future: Any) -> None:
        told.append((future.result().offset, threading.current_thread().name))
        heard.set()

    with producer(linger_ms=50) as p:
        first, second = p.send("t", b"1", partition=0), p.send("t", b"2", partition=0)
        first.add_done_callback(lambda future: 1 / 0)
        second.add_done_callback(later)
        assert heard.wait(WAIT_S)
        first.result(WAIT_S)
        first.add_done_callback(later)
    assert told == [(1, f"kafka-producer {p.config.client_id}"), (0, threading.current_thread().name)]


def test_done_callback_of_a_send_from_a_callback_runs(broker, producer):
    """A send from a callback does not wait, and its future has no batch at first."""
    heard = threading.Event()
    broker.cluster.create_topic("new", 1)
    with producer(linger_ms=0) as p:

        def send_more(metadata: Any, error: Any) -> None:
            p.send("new", b"v").add_done_callback(lambda future: future.result() and heard.set())

        p.send("t", b"v", callback=send_more)
        assert heard.wait(WAIT_S)


def test_partitions_for_waits_for_the_topic(producer):
    """MET-11."""
    with producer() as p:
        assert p.partitions_for("t") == {index: PartitionMetadata(1, 0) for index in range(3)}
    with pytest.raises(IllegalStateError):
        p.partitions_for("t")


def test_partitions_for_times_out(broker, producer):
    """MET-11, MET-13."""
    with producer(max_block_ms=50) as p:
        with raises_code(SendError, "topic-not-in-metadata"):
            p.partitions_for("nope")
        name = next(name for name in p.metrics() if name.name == "metadata-wait-time-ns-total")
        assert p.metrics()[name] >= 50_000_000
    with producer() as p:
        broker.cluster.settings.denied_topics.add("denied")
        with raises_code(BrokerError, "topic-refused", error="TOPIC_AUTHORIZATION_FAILED"):
            p.partitions_for("denied")
        with raises_code(BrokerError, "topic-refused"):
            p.partitions_for("bad!")


def test_flush_returns_when_all_records_are_final(producer):
    """PRD-CLS-01."""
    with producer(linger_ms=60_000, delivery_timeout_ms=300_000) as p:
        futures = [p.send("t", b"%d" % number, partition=number % 3) for number in range(30)]
        assert not any(future.done() for future in futures)
        p.flush(WAIT_S)
        assert all(future.done() for future in futures)


@pytest.mark.parametrize("method", ["flush", "partitions_for"])
def test_blocking_call_in_a_callback_is_refused(producer, method):
    """PRD-CLS-02."""
    refused: list[Any] = []
    with producer(linger_ms=0) as p:

        def callback(metadata: Any, error: Any) -> None:
            try:
                getattr(p, method)(*(["t"] if method == "partitions_for" else []))
            except IllegalStateError as raised:
                refused.append(raised)

        p.send("t", b"v", callback=callback).result(WAIT_S)
    assert len(refused) == 1


@pytest.mark.parametrize("plugins", [{}, {"key_serializer": BytesSerializer}], ids=["plain", "plug-in"])
def test_close_sends_buffered_records_and_is_idempotent(producer, plugins):
    """PRD-CLS-03, -05."""
    p = producer(linger_ms=60_000, delivery_timeout_ms=300_000, **plugins)
    name = f"kafka-producer {p.config.client_id}"
    assert name in {thread.name for thread in threading.enumerate()}
    futures = [p.send("t", b"v", partition=0) for _ in range(10)]
    p.close()
    assert [future.result(0).offset for future in futures] == list(range(10))
    p.close()
    p.close(0)
    with pytest.raises(IllegalStateError):
        p.send("t", b"v")
    with pytest.raises(IllegalStateError):
        p.close(-1)
    assert name not in {thread.name for thread in threading.enumerate()}


def test_close_with_timeout_runs_every_callback(broker, producer):
    """PRD-CLS-04."""
    broker.brokers.fates(then="hold")
    ends: list[Any] = []
    p = producer(linger_ms=0)
    for _ in range(5):
        p.send("t", b"v", partition=0, callback=lambda metadata, error: ends.append(error))
    assert broker.held.wait(WAIT_S)
    p.close(0.05)
    assert len(ends) == 5 and all(isinstance(error, ProducerClosedError) for error in ends)


def test_close_in_a_callback_does_not_wait(producer):
    """PRD-CLS-04."""
    ends: list[Any] = []
    closed = threading.Event()
    p = producer(linger_ms=0, max_in_flight_requests_per_connection=1)

    def close(metadata: Any, error: Any) -> None:
        p.send("t", b"never", partition=1, callback=lambda metadata, error: ends.append(error))
        p.close()
        closed.set()

    p.send("t", b"v", partition=0, callback=close)
    assert closed.wait(WAIT_S)
    p.close(WAIT_S)
    assert [type(error) for error in ends] == [ProducerClosedError]


def test_endless_callback_does_not_block_close(producer, monkeypatch):
    """PRD-CLS-04."""
    # The grace period is a constant of the design, and the test must not wait for it.
    monkeypatch.setattr("clients.reference.transport.kafka_producer.CALLBACK_GRACE_S", 0.0)
    entered, let_go = threading.Event(), threading.Event()
    events: list[TraceEvent] = []
    p = producer(linger_ms=0, trace=events.append)

    def stuck(metadata: Any, error: Any) -> None:
        entered.set()
        let_go.wait(WAIT_S)

    p.send("t", b"v", callback=stuck)
    assert entered.wait(WAIT_S)
    waiting = p.send("t", b"w", partition=0)
    p.close(0.01)
    lives = [
        event.after for event in events if isinstance(event, StateChanged) and event.machine == LIFE.name
    ]
    assert lives[-1] == LifeState.CLOSED.value and not let_go.is_set()
    let_go.set()
    assert isinstance(waiting.exception(WAIT_S), ProducerClosedError)


def test_close_ends_waits_for_metadata_and_memory(broker, producer):
    """PRD-CLS-07."""
    blocked: Queue[str] = Queue()
    p = producer(
        linger_ms=0,
        buffer_memory=16_384,
        trace=lambda event: blocked.put(event.waiting_for) if isinstance(event, SendBlocked) else None,
    )
    results: list[Any] = []
    asked = threading.Event()

    def script(seen: Any) -> str | None:
        if seen.api is Api.METADATA and "nope-either" in [topic.name for topic in seen.body.topics or ()]:
            asked.set()
        return "hold" if seen.api is Api.PRODUCE else None

    broker.brokers.script = script

    def attempt(call: Any) -> threading.Thread:
        def work() -> None:
            try:
                results.append(call())
            except SendError as error:
                results.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    threads = [attempt(lambda: p.partitions_for("nope-either"))]
    # A held response also delays the responses after it, so the other requests for metadata come first.
    assert asked.wait(WAIT_S) and p.partitions_for("t")
    p.send("t", b"v", partition=0)
    threads += [
        attempt(lambda: p.send("t", b"w", partition=1).exception(WAIT_S)),
        attempt(lambda: p.send("nope", b"w").exception(WAIT_S)),
    ]
    assert {blocked.get(timeout=WAIT_S), blocked.get(timeout=WAIT_S)} == {"memory", "metadata"}
    p.close(0.01)
    for thread in threads:
        thread.join(WAIT_S)
    assert [type(result) for result in results] == [ProducerClosedError] * 3


def test_context_ended_by_ctrl_c_does_not_wait(broker, producer):
    broker.brokers.fates(then="hold")
    with pytest.raises(KeyboardInterrupt), producer(linger_ms=0) as p:
        future = p.send("t", b"v", partition=0)
        raise KeyboardInterrupt
    assert isinstance(future.exception(0), ProducerClosedError)


def test_clients_without_an_id_are_numbered(producer):
    """CLI-CFG-03."""
    with producer() as first, producer(client_id="mine") as named, producer() as second:
        ids = [p.config.client_id for p in (first, named, second)]
    numbers = [int(ids[each].removeprefix("producer-")) for each in (0, 2)]
    assert numbers[1] == numbers[0] + 1 and ids[1] == "mine"


@pytest.mark.parametrize("name", clients.reference.__all__)
def test_each_public_name_can_be_imported(name: str) -> None:
    assert getattr(clients.reference, name).__name__ == name
