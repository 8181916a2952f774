"""Brokers that record requests and edit answers, for answers that real brokers may give and scripted ones do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from harness.brokers.scripted.answer import Answer
from harness.wire.apis import Api
from harness.wire.messages import decode_request, decode_response, encode_response
from suites.properties.simulation import Simulation

SIZE_BYTES = 4


class Seen(NamedTuple):
    """A request as it reached a broker."""

    node_id: int
    api: Api
    version: int
    body: Any


Edit = Callable[[Seen, Any], Any]
"""Returns another answer, given a request and the answer to it."""


class Meddler:
    """Sits between the network and the brokers of ``simulation``. ``edits`` change the answers of their APIs.

    ``misnumbered`` is the number of answers to Produce requests that get a wrong correlation id.
    """

    def __init__(self, simulation: Simulation, edits: Mapping[Api, Edit] | None = None) -> None:
        self.edits = edits or {}
        self.misnumbered = 0
        self.seen: list[Seen] = []
        self._cluster = simulation.cluster
        simulation.network.broker = self

    def accepts(self, node_id: int) -> bool:
        return self._cluster.accepts(node_id)

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        header, body = decode_request(payload)
        seen = Seen(node_id, Api(header.api_key), header.api_version, body)
        self.seen.append(seen)
        answer = self._cluster.handle(node_id, conn, payload, now_ns)
        edit = self.edits.get(seen.api)
        if edit is None or answer.frame is None:
            return answer
        correlation_id, said = decode_response(answer.frame[SIZE_BYTES:], seen.api, seen.version)
        if seen.api is Api.PRODUCE and self.misnumbered:
            self.misnumbered -= 1
            correlation_id += 1
        return Answer(encode_response(edit(seen, said), correlation_id), answer.at_ns, answer.close)

    def of(self, api: Api) -> list[Seen]:
        """Return the requests of one API, in order of arrival."""
        return [seen for seen in self.seen if seen.api is api]
