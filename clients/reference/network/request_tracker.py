"""Exchanges: encodes requests as frames, and decodes frames as responses to requests.

A request gets a correlation id when it is written. A response must answer the oldest request of its connection, in
that request's version. Any other frame is invalid (NET-INF-01, -10).
"""

from __future__ import annotations

from clients.reference.common.requests import ClientRequest, Message
from clients.reference.config.client_config import ClientConfig
from clients.reference.network.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.network.sasl import RESERVED_CORRELATION_IDS
from clients.reference.network.throttling import throttle_time_ms
from clients.reference.ports import INT32_MAX, Selector
from clients.reference.telemetry.trace import RequestLost, RequestSent, ResponseReceived, Trace
from harness.wire.apis import api_name
from harness.wire.headers import read_response_header
from harness.wire.messages import WireError, decode_response, encode_request
from harness.wire.primitives import Data


class NoAnswerError(Exception):
    """A frame does not answer a request. The message is one sentence. The connection cannot be trusted any more."""


class RequestTracker:
    """Writes to ``selector`` and maintains ``in_flight``. Traces every request, and its response or its loss."""

    def __init__(
        self, config: ClientConfig, selector: Selector, in_flight: InFlightRequests, trace: Trace
    ) -> None:
        self._client_id = config.client_id
        self._selector = selector
        self._in_flight = in_flight
        self._trace = trace
        self.next_correlation_id = 0

    def write(self, request: ClientRequest, version: int, now_ms: int) -> bool | None:
        """Pass one request to the selector, in flight from ``now_ms`` on. Its node must have room for one more.

        Return True if the whole request has been written already.
        """
        correlation_id = self._take_correlation_id()
        data = encode_request(request.build(version), correlation_id, self._client_id)
        self._in_flight.add(InFlightRequest(request.node_id, request, version, correlation_id, now_ms))
        self._trace(
            RequestSent(
                at_ms=now_ms,
                node=request.node_id,
                api=api_name(request.api),
                version=version,
                correlation_id=correlation_id,
                size_bytes=len(data),
            )
        )
        return self._selector.send(request.node_id, data)

    def answered(self, node_id: int, payload: Data, now_ms: int) -> tuple[InFlightRequest, Message]:
        """Return the request that a frame answers, and the decoded response. Raise NoAnswerError if it answers none.

        The request is no longer in flight.
        """
        oldest = self._in_flight.oldest(node_id)
        if oldest is None:
            raise NoAnswerError("a response without a request in flight")
        body = self._read(oldest, payload)
        self._in_flight.complete_oldest(node_id)
        self._trace(
            ResponseReceived(
                at_ms=now_ms,
                node=node_id,
                api=api_name(oldest.request.api),
                correlation_id=oldest.correlation_id,
                latency_ms=now_ms - oldest.sent_ms,
                size_bytes=len(payload),
                throttle_ms=throttle_time_ms(body),
            )
        )
        return oldest, body

    def lost(self, node_id: int, now_ms: int, *, timed_out: bool) -> list[ClientRequest]:
        """Remove and return a node's requests, oldest first. Their responses will never be applied (NET-INF-06)."""
        lost = self._in_flight.clear(node_id)
        for each in lost:
            self._trace(
                RequestLost(
                    at_ms=now_ms,
                    node=node_id,
                    api=api_name(each.request.api),
                    correlation_id=each.correlation_id,
                    timed_out=timed_out,
                )
            )
        return [each.request for each in lost]

    def _read(self, oldest: InFlightRequest, payload: Data) -> Message:
        api = oldest.request.api
        try:
            correlation_id, _ = read_response_header(payload, api, oldest.api_version)
            if correlation_id == oldest.correlation_id:
                return decode_response(payload, api, oldest.api_version)[1]
        except WireError as error:
            raise NoAnswerError(f"unreadable {api_name(api)} response: {error}") from None
        raise NoAnswerError(f"correlation id {correlation_id}, expected {oldest.correlation_id}")

    def _take_correlation_id(self) -> int:
        """Return the next id: one int32 counter per client that wraps and skips the reserved ids (NET-INF-02)."""
        taken = self.next_correlation_id
        following = taken + 1
        if following in RESERVED_CORRELATION_IDS:
            following = -INT32_MAX - 1
        self.next_correlation_id = following
        return taken
