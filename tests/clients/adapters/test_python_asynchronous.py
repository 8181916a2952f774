"""An adapter of coroutines, as the program's threads see it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from clients.adapters.python_lib.verifiable.asynchronous import AsyncAdapter


class Slow(AsyncAdapter):
    """A client that accepts a record when ``room`` is released, and never completes a flush."""

    def __init__(self):
        super().__init__()
        self.taken = []
        self.cancelled = threading.Event()

    async def on_configure(self, config):
        self.room, self.loop = asyncio.Semaphore(0), asyncio.get_running_loop()
        return dict(config), {}

    async def on_send(self, topic, key, value, partition, result):
        await self.room.acquire()
        self.taken.append(value)

    async def on_flush(self):
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    async def on_close(self):
        raise ValueError("the client is at odds with itself")


@pytest.fixture
def adapter():
    adapter = Slow()
    assert adapter.configure({"acks": "all"}) == ({"acks": "all"}, {})
    return adapter


def test_send_waits_until_the_record_is_accepted(adapter):
    sent = []

    def send_all():
        for value in ("a", "b", "c"):
            adapter.send("topic", None, value, None, None)
            sent.append((value, list(adapter.taken)))

    sending = threading.Thread(target=send_all, daemon=True)
    sending.start()
    for _ in range(3):
        adapter.loop.call_soon_threadsafe(adapter.room.release)
    sending.join(10)
    assert sent == [("a", ["a"]), ("b", ["a", "b"]), ("c", ["a", "b", "c"])]


def test_slow_flush_is_cancelled(adapter):
    assert not adapter.flush(0.01)
    assert adapter.cancelled.wait(10)


def test_defect_is_raised_unchanged(adapter):
    with pytest.raises(ValueError, match="at odds with itself"):
        adapter.close(10)
