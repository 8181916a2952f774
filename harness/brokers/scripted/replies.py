"""The response to a request that may have to wait for another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.brokers.scripted.agenda import Waiting
from harness.brokers.scripted.answer import Answer, Request, milliseconds
from harness.brokers.scripted.messages import maker
from harness.wire.apis import api_name
from harness.wire.messages import encode_response

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState


class Reply:
    """Makes the response once its content is known: at once, or later. Only the first content counts."""

    __slots__ = ("_frame", "_request", "_state", "_waiting")

    def __init__(self, state: ClusterState, request: Request) -> None:
        self._state = state
        self._request = request
        self._frame: bytes | None = None
        self._waiting: Waiting | None = None

    def send(self, **values: Any) -> None:
        """Give the content of the response. Fields that its version lacks are ignored."""
        if self._frame is not None:
            return
        header = self._request.header
        make = maker(header.api_key, header.api_version, f"{api_name(header.api_key)}Response")
        message = make(throttle_time=milliseconds(self._request.throttle_ms), **values)
        self._frame = encode_response(message, header.correlation_id)
        if self._waiting is not None:
            self._waiting.complete(self._frame, self._state.agenda.now_ns)

    def answer(self) -> Answer:
        """Return the answer to the request. Call it once, when the request was handled."""
        if self._frame is None:
            self._waiting = Waiting(self._state.agenda, self._request.node_id)
        return Answer(self._frame, self._request.now_ns, waiting=self._waiting)
