"""The same core on real sockets: a scripted broker on 127.0.0.1, threads, futures and callbacks.

The virtual tests use the same broker. Here bytes arrive in pieces, connections end, and threads run concurrently.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from clients.reference import KafkaProducer
from clients.reference.errors import IllegalStateError, ProducerClosedError, SendError
from clients.reference.telemetry.trace import SendBlocked
from clients.reference.transport import selector as selector_module
from clients.reference.transport.selector import SocketSelector
from harness.model.verdicts import Outcome
from harness.wire.frames import frame

WAIT_S = 20


def test_records_arrive_and_futures_complete(broker, producer):
    with producer(batch_size=500) as p:
        futures = [p.send("t", b"%d" % number, partition=0) for number in range(300)]
        assert [future.result(WAIT_S).offset for future in futures] == list(range(300))
    assert broker.brokers.values() == [b"%d" % number for number in range(300)]


def test_response_in_single_bytes_is_read(broker, producer):
    """NET-INF-10."""

    def dribble(sock, data):
        for position in range(len(data)):
            sock.sendall(data[position : position + 1])

    broker.deliver = dribble
    with producer() as p:
        assert p.send("t", b"x", partition=0).result(WAIT_S).offset == 0


def test_truncated_response_is_a_disconnect_and_batch_is_resent(broker, producer):
    """NET-INF-10, PRD-IDM-05."""
    cuts = iter([True])

    def cut(sock, data):
        produce = bool(broker.brokers.requests())
        if produce and next(cuts, False):
            sock.sendall(data[:-3])
            sock.shutdown(socket.SHUT_RDWR)
        else:
            sock.sendall(data)

    broker.deliver = cut
    with producer() as p:
        assert p.send("t", b"x", partition=0).result(WAIT_S).offset == 0
    assert len(broker.brokers.requests()) == 2
    assert len(broker.brokers.values()) == 1


def test_frame_of_invalid_size_ends_the_connection(broker, producer):
    """NET-INF-10."""
    bad = iter([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"])
    broker.deliver = lambda sock, data: sock.sendall(next(bad, data))
    with producer() as p:
        assert p.send("t", b"x", partition=0).result(WAIT_S).offset == 0


def test_threads_can_share_a_producer(broker, producer):
    with producer(batch_size=2_000, buffer_memory=20_000) as p:

        def work(partition):
            for number in range(200):
                p.send("t", b"%d" % number, partition=partition)

        threads = [threading.Thread(target=work, args=(partition,)) for partition in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        p.flush(WAIT_S)
    for partition in range(3):
        assert broker.brokers.values(partition) == [b"%d" % number for number in range(200)]


def test_callbacks_run_on_one_thread_and_may_send(broker, producer):
    threads, echoed = set(), threading.Event()
    with producer() as p:

        def callback(metadata, error):
            threads.add(threading.current_thread().name)
            p.send("t", b"echo", partition=1, callback=lambda metadata, error: echoed.set())

        p.send("t", b"call", partition=0, callback=callback)
        assert echoed.wait(WAIT_S)
    assert broker.brokers.values(1) == [b"echo"]
    assert len(threads) == 1 and threading.current_thread().name not in threads


def test_blocking_call_in_a_callback_is_refused(producer):
    """PRD-CLS-02, -04."""
    refused, closed = [], threading.Event()
    with producer() as p:

        def callback(metadata, error):
            try:
                p.flush()
            except IllegalStateError as raised:
                refused.append(raised)
            p.close()
            closed.set()

        p.send("t", b"x", partition=0, callback=callback)
        assert closed.wait(WAIT_S)
    assert len(refused) == 1


def test_close_timeout_fails_waiting_records(broker, producer):
    """PRD-CLS-04."""
    broker.brokers.fates(then="hold")
    p = producer(linger_ms=0)
    future = p.send("t", b"x", partition=0)
    assert broker.held.wait(WAIT_S)
    p.close(timeout_s=0.05)
    error = future.exception(WAIT_S)
    assert isinstance(error, ProducerClosedError)
    assert error.outcome is Outcome.INFO
    with pytest.raises(IllegalStateError):
        p.send("t", b"y")
    p.close()


def test_close_ends_a_blocked_send(producer):
    """PRD-CLS-07."""
    is_blocked = threading.Event()
    p = producer(trace=lambda event: is_blocked.set() if isinstance(event, SendBlocked) else None)
    results: list[Any] = []
    blocked = threading.Thread(target=lambda: results.append(p.send("nope", b"x").exception(WAIT_S)))
    blocked.start()
    assert is_blocked.wait(WAIT_S)
    p.close()
    blocked.join(WAIT_S)
    assert isinstance(results[0], ProducerClosedError)


def test_refused_connection_is_a_timeout():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with KafkaProducer({"bootstrap.servers": f"127.0.0.1:{port}", "max.block.ms": 200}) as p:
        error = p.send("t", b"x").exception(WAIT_S)
    assert error is not None and error.name == "REQUEST_TIMED_OUT"


def test_result_timeout_is_the_builtin_timeout_error(broker, producer):
    broker.brokers.fates(then="hold")
    p = producer()
    with pytest.raises(TimeoutError):
        p.send("t", b"x", partition=0).result(0.01)
    with pytest.raises(TimeoutError):
        p.flush(0.01)
    p.close(0)


def test_frames_before_a_disconnect_are_delivered_one_per_poll():
    """NET-INF-09."""
    selector = SocketSelector()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        selector.connect(7, ("127.0.0.1", listener.getsockname()[1]))
        peer, _ = listener.accept()
        with peer:
            peer.sendall(frame(b"one") + frame(b"two") + b"\x00\x00\x00\x09cut")
    heard: list[Any] = []
    while not any(what == "end" for what, _ in heard):
        selector.wait(WAIT_S)
        polled = selector.poll()
        assert len(polled.received) <= 1
        heard += [("connected", node) for node in polled.connected]
        heard += [("frame", data) for _, data in polled.received]
        heard += [("end", node) for node in polled.disconnected]
    assert heard == [("connected", 7), ("frame", b"one"), ("frame", b"two"), ("end", 7)]
    selector.close_all()


def test_wake_up_ends_a_poll():
    selector = SocketSelector()
    thread = threading.Thread(target=selector.wakeup)
    thread.start()
    selector.wait(WAIT_S)
    thread.join()
    polled = selector.poll()
    assert not (polled.connected or polled.received or polled.disconnected)
    selector.close_all()
    selector.wakeup()  # after the end it has no effect


def test_slow_lookup_does_not_block_send(broker, producer, monkeypatch):
    """Neither the lock nor the I/O thread waits for it, so that timeouts expire and other brokers are served."""
    looking, go_on = threading.Event(), threading.Event()
    real = selector_module.look_up

    def slow(host, port):
        looking.set()
        assert go_on.wait(WAIT_S)
        return real(host, port)

    monkeypatch.setattr(
        selector_module, "look_up", slow
    )  # not for the check of bootstrap.servers at the start
    with producer(bootstrap_servers=f"localhost:{broker.port}", max_block_ms=10) as p:
        assert isinstance(p.send("t", b"too early").exception(WAIT_S), SendError)
        assert looking.wait(WAIT_S)
        go_on.set()
    with producer(bootstrap_servers=f"localhost:{broker.port}") as p:
        assert p.send("t", b"v").result(WAIT_S)
