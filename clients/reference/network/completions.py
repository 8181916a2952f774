"""Completed requests whose callbacks have yet to run, once each (NET-INF-06, -08)."""

from __future__ import annotations

import logging
from collections import deque

from clients.reference.common.requests import ClientRequest, ClientResponse
from clients.reference.telemetry.trace import CallbackFailed, Trace
from harness.wire.apis import api_name

logger = logging.getLogger("kafka-trial.reference")


class Completions:
    """A ``queue`` of completed requests. ``run`` calls the callbacks, never the code that completed the request."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.queue: deque[tuple[ClientRequest, ClientResponse]] = deque()

    def add(self, request: ClientRequest, response: ClientResponse) -> None:
        """Queue a completed request. Its callback runs at the next ``run``."""
        self.queue.append((request, response))

    def run(self, now_ms: int) -> None:
        """Call the callbacks. One that raises is logged and traced, and does not prevent the others (NET-INF-08)."""
        while self.queue:
            request, response = self.queue.popleft()
            try:
                request.on_complete(response, now_ms)
            except Exception as error:
                logger.exception("the completion of a request failed")
                who = f"completion of {api_name(request.api)}"
                self._trace(CallbackFailed(at_ms=now_ms, who=who, what=f"{type(error).__name__}: {error}"))
