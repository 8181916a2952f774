"""RecordFuture: one record's result, for threads that wait for it and for callbacks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from clients.reference.errors import SendError
from clients.reference.producer.producer_batch import ProducerBatch, RecordMetadata
from clients.reference.producer.send_handle import Delivery
from clients.reference.transport.wakeup import WakeupCondition

logger = logging.getLogger("kafka-trial.reference")
DoneCallback = Callable[["RecordFuture"], None]


class RecordFuture(Delivery, eq=False):
    """The part of a batch's result for one record. A record that may have been sent cannot be cancelled.

    Its ``owner`` is the producer's Waiting.
    """

    def done(self) -> bool:
        """Return True once the result is known and the callbacks of ``send`` have run."""
        return self.is_done

    def exception(self, timeout_s: float | None = None) -> SendError | None:
        """Wait for the result. Return the error of a record that was not acknowledged, or None for a stored one.

        Raise the built-in TimeoutError if there is no result within ``timeout_s`` seconds.
        """
        self._wait(timeout_s)
        return self.error

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait for the result and return the record's metadata.

        Raise the SendError of a record that was not acknowledged, and the built-in TimeoutError if there is no result
        within ``timeout_s`` seconds.
        """
        error = self.exception(timeout_s)
        if error:
            raise error
        return self.metadata

    def add_done_callback(self, callback: DoneCallback) -> None:
        """Call ``callback(future)`` once it is done: on the I/O thread, or at once if it is done already.

        Exceptions from the callback are logged.
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
    """The threads and callbacks that wait for results. All futures of a producer share it.

    Threads wait on one condition. Callbacks are grouped by batch, so each round has one check per batch in progress.
    """

    def __init__(self, news: WakeupCondition) -> None:
        self._news = news
        self._callbacks: dict[ProducerBatch | None, list[tuple[RecordFuture, DoneCallback]]] = {}

    def wait_for(self, is_done: Callable[[], bool], timeout_s: float | None) -> bool:
        """Block until ``is_done``. Return False if it was not within ``timeout_s`` seconds."""
        with self._news:
            return self._news.wait_for(is_done, timeout_s)

    def add(self, future: RecordFuture, callback: DoneCallback) -> None:
        """Call the callback at once if the future is done, or else in a later ``run_done``."""
        with self._news:
            if not future.done():
                self._callbacks.setdefault(future.batch, []).append((future, callback))
                return
        contained(lambda: callback(future))

    def run_done(self) -> None:
        """Call the callbacks of futures that are done. The I/O thread calls this without the lock."""
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
                    else:  # it was blocked when it was added, and may be in a batch now
                        self._callbacks.setdefault(future.batch, []).append((future, callback))
        return taken


def contained(call: Callable[[], None]) -> None:
    """Run a callback. An exception from it is logged and goes no further."""
    try:
        call()
    except Exception:
        logger.warning("a callback failed", exc_info=True)
