"""KafkaConsumer on sockets: one thread at a time, wakeups from others, and a close that leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clients.reference import KafkaProducer
from clients.reference.consumer.errors import ConcurrentModificationError, WakeupError
from clients.reference.errors import IllegalStateError
from clients.reference.transport.kafka_consumer import KafkaConsumer
from testkit.codes import raises_code

WAIT_S = 20
A = ("t", 0)


@pytest.fixture
def consumer(broker: Any) -> Iterator[Callable[..., KafkaConsumer]]:
    """Return a function that makes a consumer which reads partition 0. All are closed at the end."""
    made: list[KafkaConsumer] = []

    def make(**settings: Any) -> KafkaConsumer:
        own = {"bootstrap.servers": f"127.0.0.1:{broker.port}", "auto.offset.reset": "earliest"}
        made.append(KafkaConsumer(own | {k.replace("_", "."): v for k, v in settings.items()}, seed=1))
        made[-1].assign([A])
        return made[-1]

    yield make
    for each in made:
        each.close()


@contextmanager
def another_thread(run: Callable[[], Any]) -> Iterator[list[BaseException | None]]:
    """Run a call on a thread that has ended when the block has. Its exception, or None, is in the list then."""
    ends: list[BaseException | None] = []

    def body() -> None:
        try:
            run()
            ends.append(None)
        except BaseException as raised:
            ends.append(raised)

    thread = threading.Thread(target=body)
    thread.start()
    try:
        yield ends
    finally:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def inside(consumer: KafkaConsumer) -> threading.Event:
    """Return what is set once a call of the consumer waits for sockets."""
    waits, wait = threading.Event(), consumer._driver._selector.wait

    def noted(timeout_s: float | None) -> None:
        if timeout_s:
            waits.set()
        wait(timeout_s)

    consumer._driver._selector.wait = noted  # type: ignore[method-assign]
    return waits


CALLS: dict[str, Callable[[KafkaConsumer], Any]] = {
    "subscribe": lambda c: c.subscribe(["t"]),
    "assign": lambda c: c.assign([A]),
    "unsubscribe": lambda c: c.unsubscribe(),
    "assignment": lambda c: c.assignment(),
    "pause": lambda c: c.pause([A]),
    "poll": lambda c: c.poll(1),
    "commit_sync": lambda c: c.commit_sync(),
    "commit_async": lambda c: c.commit_async(),
    "committed": lambda c: c.committed([A]),
    "seek": lambda c: c.seek(A, 0),
    "position": lambda c: c.position(A),
    "list_topics": lambda c: c.list_topics(),
    "close": lambda c: c.close(),
}


def test_a_second_thread_is_refused_and_only_wakeup_is_not(consumer):
    """CSM-API-03, CSM-WKP-01: the first thread's call goes on until the wakeup, and works again after it."""
    c = consumer()
    waits = inside(c)
    with another_thread(lambda: c.poll(600)) as ends:
        assert waits.wait(WAIT_S)
        for name, call in CALLS.items():
            with pytest.raises(ConcurrentModificationError):
                call(c)
            assert not ends, name
        c.wakeup()
    assert isinstance(ends[0], WakeupError)
    assert c.assignment() == {A} and c.position(A) == 0


def test_a_wakeup_loses_no_record(broker, consumer):
    """CSM-WKP-01: the next poll returns what the interrupted one did not."""
    with KafkaProducer({"bootstrap.servers": f"127.0.0.1:{broker.port}"}) as p:
        for _ in range(3):
            p.send("t", b"v", partition=0)
    c = consumer()
    found: list[int] = []
    while len(found) < 3:
        c.wakeup()
        with pytest.raises(WakeupError):
            c.poll(WAIT_S)
        found += [record.offset for record in c.poll(WAIT_S)]
    assert found == [0, 1, 2]


def test_a_closed_consumer_accepts_no_call(consumer):
    c = consumer()
    c.close()
    for name, call in CALLS.items():
        if name != "close":
            with raises_code(IllegalStateError, "consumer-is-closed"):
                call(c)
    c.close()
    c.wakeup()


def test_a_close_that_ctrl_c_interrupts_leaves_nothing_behind(consumer):
    class Plugin:
        closed = 0

        def on_consume(self, records: Any) -> Any:
            return records

        def on_commit(self, offsets: Any) -> None:
            pass

        def close(self) -> None:
            self.closed += 1

    plugin = Plugin()
    c = consumer(interceptor_classes=[plugin])
    c.position(A)
    c.poll(0)
    wait = c._driver._selector.wait
    interrupts = iter([KeyboardInterrupt])

    def interrupted(timeout_s: float | None) -> None:
        for each in interrupts:
            raise each
        wait(timeout_s)

    c._core._parts.fetcher.close = lambda timer: c._core._parts.network.wait(timer)
    c._driver._selector.wait = interrupted
    with pytest.raises(KeyboardInterrupt):
        c.close()
    assert not c._driver.is_alive() and plugin.closed == 1
