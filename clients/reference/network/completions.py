"""Ends of requests that are still to be told, each once (NET-INF-06, -08)."""

from __future__ import annotations

from collections import deque

from clients.reference.common.requests import ClientRequest, ClientResponse
from clients.reference.telemetry.trace import Misbehaved, Trace
from harness.wire.apis import api_name


class Completions:
    """A ``queue`` of ends; callers are told by ``run``, never in the midst of what brought the end about."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.queue: deque[tuple[ClientRequest, ClientResponse]] = deque()

    def add(self, request: ClientRequest, response: ClientResponse) -> None:
        """Queue an end; nobody is told before the next ``run``."""
        self.queue.append((request, response))

    def run(self, now_ms: int) -> None:
        """Tell the callers; one that raises is told of and stops nobody else (NET-INF-08)."""
        while self.queue:
            request, response = self.queue.popleft()
            try:
                request.on_complete(response, now_ms)
            except Exception as error:
                who = f"completion of {api_name(request.api)}"
                self._trace(Misbehaved(at_ms=now_ms, who=who, what=f"{type(error).__name__}: {error}"))
