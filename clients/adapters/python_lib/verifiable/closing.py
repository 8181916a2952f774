"""The answer to a close of a consumer, in time even if the application is stuck in a call of its client."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from .output import complete, invoke

if TYPE_CHECKING:
    from .output import Output


class Closing:
    """The first request to close decides. The first of application and timer writes the last events."""

    def __init__(self, output: Output) -> None:
        self._output = output
        #: Set once a close is requested.
        self.requested = threading.Event()
        self._lock = threading.Lock()
        self._ended = False
        self._id = -1
        self._invoke_ns: int | None = None

    def within(self, id: int, timeout_s: float) -> None:
        """Answer the close ``id`` after ``timeout_s``, and end the process, unless the application does so before."""
        if self.requested.is_set():
            return
        self._id = id
        self.requested.set()
        timer = threading.Timer(timeout_s, self._give_up)
        timer.daemon = True
        timer.start()

    def begin(self) -> None:
        """Write that the close begins, unless that is written."""
        with self._lock:
            self._begin()

    def end(self, error: str | None) -> None:
        """Write the answer and the last event, unless they are written."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            complete(self._output, "close", self._id, self._begin(), error)
            self._output.event("shutdown_complete", {}, last=True)

    def _begin(self) -> int:
        if self._invoke_ns is None:
            self._invoke_ns = invoke(self._output, "close", self._id)
        return self._invoke_ns

    def _give_up(self) -> None:
        self.end("the client is not done")
        sys.stderr.flush()
        os._exit(0)  # the application cannot be interrupted
