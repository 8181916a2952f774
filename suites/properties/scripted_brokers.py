"""Scripted brokers under a script that decides about single requests: their answers, and whether they are answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from harness.brokers.scripted.cluster import Answer, ScriptedCluster
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.frames import frame
from harness.wire.messages import decode_request, decode_response, encode_response

#: What happens to a request. None: the normal response; a number: that error code; bytes: that response; a function:
#: the response's payload, changed. "hold": processed, but without a response, also to what follows on the connection;
#: "lose": it never arrives, nor does what follows; "late": processed two seconds later; "close-after", "close-before":
#: processed, or not processed, and then the connection ends.
Disposition = str | int | bytes | Callable[[bytes], bytes] | None


class Seen(NamedTuple):
    """One request as a broker received it."""

    at_ms: int
    node_id: int
    api: Api
    version: int
    correlation_id: int
    body: Any

    def edit(self, change: Callable[[Any], Any]) -> Disposition:
        """Return a fate: the normal response with a changed message."""

        def edited(payload: bytes) -> bytes:
            correlation_id, body = decode_response(payload, self.api, self.version)
            return encode_response(change(body), correlation_id)[4:]

        return edited


class Brokers:
    """A ``cluster`` with a ``script`` that sets each request's disposition. ``seen`` are all requests that arrived."""

    seen_as: type[Seen] = Seen

    def __init__(self, cluster: ScriptedCluster) -> None:
        self.cluster, self.accepts = cluster, cluster.accepts
        self.script: Callable[[Seen], Disposition] = lambda seen: None
        self.seen: list[Seen] = []
        self._offered: dict[int, dict[str, int]] = {}
        self._late, self._lost, self._unheard = set[int](), set[int](), set[int]()

    def fates(self, *fates: Disposition, then: Disposition = None, api: Api) -> None:
        """Set the fates of the next requests of ``api``, in turn, and ``then`` for all after them."""
        left = iter(fates)
        self.script = lambda seen: next(left, then) if seen.api is api else None

    def offer(self, api: Api, lowest: int, highest: int) -> None:
        """Make the brokers offer these versions of an API and no others."""
        self._offered[api] = {"min_version": lowest, "max_version": highest}

    def _narrow(self, body: Any) -> Any:
        keys = [replace(key, **self._offered.get(key.api_key, {})) for key in body.api_keys]
        return replace(body, api_keys=tuple(keys))

    def requests(self, api: Api) -> list[Seen]:
        """Return the requests of one API, in order of arrival."""
        return [seen for seen in self.seen if seen.api is api]

    def handle(self, node_id: int, conn: int, payload: bytes, now_ns: int) -> Answer:
        """Answer a request as ``script`` says."""
        head, body = decode_request(payload)
        known = (now_ns // NS_PER_MS, node_id, Api(head.api_key), head.api_version, head.correlation_id)
        seen, disposition = self.seen_as(*known, body), None
        if conn not in self._late:
            self.seen.append(seen)
            disposition = self.script(seen)
            if disposition is None and seen.api is Api.API_VERSIONS:
                disposition = seen.edit(self._narrow)
        self._late.discard(conn)
        if disposition == "late":
            self._late.add(conn)
            return Answer(None, now_ns + 2_000 * NS_PER_MS, again=True)
        if disposition == "lose" or conn in self._lost:
            self._lost.add(conn)
            return Answer(None, now_ns)
        if disposition == "close-before":
            return Answer(None, now_ns, close=True)
        if isinstance(disposition, bytes):
            return Answer(frame(disposition), now_ns)
        if isinstance(disposition, int):
            self.cluster.inject_error(seen.api, disposition, 1)
        return self._changed(self.cluster.handle(node_id, conn, payload, now_ns), conn, disposition)

    def _changed(self, answer: Answer, conn: int, disposition: Disposition) -> Answer:
        if disposition == "hold":
            self._unheard.add(conn)
        if conn in self._unheard or disposition == "close-after":
            return replace(
                answer, frame=None, waiting=None, close=answer.close or disposition == "close-after"
            )
        if callable(disposition) and answer.frame is not None:
            return replace(answer, frame=frame(disposition(answer.frame[4:])))
        return answer
