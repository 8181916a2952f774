"""RecordFuture: one record's result, for a thread that wants to wait for it, or for a callback of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from clients.reference.errors import SendError
from clients.reference.producer.producer_batch import ProducerBatch, RecordMetadata
from clients.reference.producer.send_handle import Delivery
from clients.reference.transport.news import News

logger = logging.getLogger("kafka-trial.reference")
DoneCallback = Callable[["RecordFuture"], None]


class RecordFuture(Delivery, eq=False):
    """A slice of its batch's result; there is no way to cancel a record that may be on its way.

    Its ``owner`` is the producer's Waiting.
    """

    def done(self) -> bool:
        """True once the result is there and the callbacks of ``send`` have run."""
        return self.is_done

    def exception(self, timeout_s: float | None = None) -> SendError | None:
        """Wait for the result; gives the error of a record that was not acknowledged, None for a stored one.

        Raises the built-in TimeoutError where there is no result within ``timeout_s`` seconds.
        """
        self._wait(timeout_s)
        return self.error

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait for the result; raises the SendError of a record that was not acknowledged, and the built-in
        TimeoutError where there is no result within ``timeout_s`` seconds."""
        error = self.exception(timeout_s)
        if error:
            raise error
        return self.metadata

    def add_done_callback(self, callback: DoneCallback) -> None:
        """Call ``callback(future)`` once it is done: on the I/O thread, or here and now if it is done already.

        What it raises is logged.
        """
        self._waiting.add(self, callback)

    @property
    def _waiting(self) -> Waiting:
        waiting: Waiting = self.owner
        return waiting

    def _wait(self, timeout_s: float | None) -> None:
        if self.is_done:
            return
        if not self._waiting.wait_for(lambda: self.is_done, timeout_s):
            raise TimeoutError(f"no result within {timeout_s} s")


class Waiting:
    """Who waits for results: threads, by one condition, and callbacks, by batch, so that a batch under way costs one
    look a round. All futures of a producer share it."""

    def __init__(self, news: News) -> None:
        self._news = news
        self._callbacks: dict[ProducerBatch | None, list[tuple[RecordFuture, DoneCallback]]] = {}

    def wait_for(self, is_done: Callable[[], bool], timeout_s: float | None) -> bool:
        """Block until ``is_done``; False where it was not within ``timeout_s`` seconds."""
        with self._news:
            return self._news.wait_for(is_done, timeout_s)

    def add(self, future: RecordFuture, callback: DoneCallback) -> None:
        """Call now, or by a later ``run_done``."""
        with self._news:
            if not future.done():
                self._callbacks.setdefault(future.batch, []).append((future, callback))
                return
        contained(lambda: callback(future))

    def run_done(self) -> None:
        """Call those whose futures are done by now; the I/O thread does, without the lock."""
        if self._callbacks:
            for future, callback in self._take_done():
                contained(partial(callback, future))

    def _take_done(self) -> list[tuple[RecordFuture, DoneCallback]]:
        taken = []
        with self._news:
            for batch in [batch for batch in self._callbacks if batch is None or batch.is_published]:
                for future, callback in self._callbacks.pop(batch):
                    if future.done():
                        taken.append((future, callback))
                    else:  # it was blocked, and may be in a batch now
                        self._callbacks.setdefault(future.batch, []).append((future, callback))
        return taken


def contained(call: Callable[[], None]) -> None:
    """What a callback raises is logged and harms nobody."""
    try:
        call()
    except Exception:
        logger.warning("a callback failed", exc_info=True)
