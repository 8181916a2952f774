"""The account of one connection: bytes as they pass, in; rows of evidence, out. No I/O, no clock.

Requests are paired with responses through a queue: a broker answers in the order in which it was asked, so a
response belongs to the oldest request with its correlation id, and requests that stand before that one will never
be answered. Only the request says how to read its response.

The account never fails. A frame whose body cannot be read keeps its header and says so in its note. Where not even
the framing makes sense, the connection turns *opaque*: one row for what could not be read, one at the end for all
that passed unread behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from harness.rows import Frame, FrameKind
from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.headers import RequestHeader, read_request_header
from harness.witness.contents import Contents, TopicNames, request_contents, response_contents
from harness.witness.splitter import WHOLE_LIMIT_BYTES, FrameSplitter, NotAFrame, Piece

#: API keys count up from 0 and have not reached 100 yet; far above, the bytes are no Kafka request.
API_KEY_LIMIT = 512

CLIENT, BROKER = "client", "broker"


class Asked(NamedTuple):
    """What must be remembered of a request until it is answered."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


class Transcript:
    """Both directions of connection ``conn`` of ``lane`` to ``broker``. Times are monotonic nanoseconds.

    ``names`` is shared by the connections of a lane, since a client may learn a topic's id on one of them and use
    it on another.
    """

    def __init__(
        self, lane: int, broker: int, conn: int, names: TopicNames, whole_limit_bytes: int = WHOLE_LIMIT_BYTES
    ) -> None:
        self._lane, self._broker, self._conn = lane, broker, conn
        self._names = names
        self._requests = FrameSplitter(whole_limit_bytes)
        self._responses = FrameSplitter(whole_limit_bytes)
        self._asked: deque[Asked] = deque()
        self._closed_by: str | None = None
        self._is_opaque = False
        self._unread_bytes = 0

    def opened(self, t_ns: int) -> Frame:
        """A client has connected."""
        return self._row(t_ns, FrameKind.OPEN)

    def sent(self, t_ns: int, data: bytes) -> Iterator[Frame]:
        """``data`` went from the client to the broker: the rows of the requests that it completes."""
        return self._read(t_ns, self._requests, data, is_request=True)

    def answered(self, t_ns: int, data: bytes) -> Iterator[Frame]:
        """``data`` went from the broker to the client: the rows of the responses that it completes."""
        return self._read(t_ns, self._responses, data, is_request=False)

    def closed(self, t_ns: int, by: str | None, note: str | None = None) -> Iterator[Frame]:
        """The first sign that the connection ends, from ``client`` or ``broker`` (None: neither, but we ourselves).

        Frames may still pass the other way afterwards; a response that does has nobody to receive it.
        """
        if self._closed_by is None:
            self._closed_by = by or "witness"
            yield self._row(t_ns, FrameKind.CLOSE, closed_by=by, note=note)

    def ended(self, t_ns: int) -> Iterator[Frame]:
        """Nothing can pass any more: what was left unread or unfinished."""
        if self._unread_bytes:
            yield self._row(t_ns, FrameKind.OPAQUE, size_bytes=self._unread_bytes, note="passed on unread")
        elif not self._is_opaque:
            for splitter, what in ((self._requests, "request"), (self._responses, "response")):
                if splitter.pending_bytes:
                    note = f"the beginning of a {what} that never ended"
                    yield self._row(t_ns, FrameKind.OPAQUE, size_bytes=splitter.pending_bytes, note=note)

    def _read(self, t_ns: int, splitter: FrameSplitter, data: bytes, is_request: bool) -> Iterator[Frame]:
        if self._is_opaque:
            self._unread_bytes += len(data)
            return
        begun, read = splitter.pending_bytes, 0
        try:
            for piece in splitter.feed(data):
                yield self._request(t_ns, piece) if is_request else self._response(t_ns, piece)
                read += piece.size_bytes
        except NotAFrame as error:
            # Both directions: without the requests nobody can tell what the responses mean.
            self._is_opaque = True
            other = self._responses if is_request else self._requests
            self._unread_bytes = other.pending_bytes
            yield self._row(t_ns, FrameKind.OPAQUE, size_bytes=begun + len(data) - read, note=str(error))

    def _request(self, t_ns: int, piece: Piece) -> Frame:
        try:
            header, at = read_request_header(piece.payload)
        except WireError as error:
            raise NotAFrame(f"no request header: {error}") from None
        if not 0 <= header.api_key < API_KEY_LIMIT or header.api_version < 0:
            raise NotAFrame(f"no request: API key {header.api_key}, version {header.api_version}")
        contents, note = self._contents(piece, header, at)
        asked = Asked(header.api_key, header.api_version, header.correlation_id, header.client_id)
        if contents.answered:
            self._asked.append(asked)
        return self._frame(t_ns, FrameKind.REQUEST, piece, asked, contents, note)

    def _response(self, t_ns: int, piece: Piece) -> Frame:
        correlation_id = int.from_bytes(piece.payload[:4], signed=True)
        asked = self._asked_with(correlation_id)
        if asked is None:
            astray = "answers no request that is waiting"
            return self._row(
                t_ns, FrameKind.RESPONSE, piece.size_bytes, correlation_id=correlation_id, note=astray
            )
        contents, note = self._contents(piece, asked)
        if self._closed_by == CLIENT:
            note = "; ".join(filter(None, ("after the client had closed", note)))
        return self._frame(t_ns, FrameKind.RESPONSE, piece, asked, contents, note)

    def _asked_with(self, correlation_id: int) -> Asked | None:
        if self._asked and self._asked[0].correlation_id == correlation_id:
            return self._asked.popleft()
        if not any(asked.correlation_id == correlation_id for asked in self._asked):
            return None
        while (asked := self._asked.popleft()).correlation_id != correlation_id:
            pass
        return asked

    def _contents(
        self, piece: Piece, asked: Asked | RequestHeader, at: int = 0
    ) -> tuple[Contents, str | None]:
        """Of a request, whose header ends at ``at``, or of the response to what was asked."""
        if not piece.whole:
            return Contents(), "too large to be read"
        if asked.api_key not in _KNOWN:
            return Contents(), "an API that is not known here"
        try:
            if isinstance(asked, RequestHeader):
                return request_contents(piece.payload, asked, at, self._names), None
            return response_contents(piece.payload, asked.api_key, asked.api_version, self._names), None
        except WireError as error:
            return Contents(), f"body not read: {error}"

    def _frame(
        self, t_ns: int, kind: FrameKind, piece: Piece, asked: Asked, contents: Contents, note: str | None
    ) -> Frame:
        return Frame(
            t_ns=t_ns,
            lane=self._lane,
            broker=self._broker,
            conn=self._conn,
            kind=kind,
            size_bytes=piece.size_bytes,
            api_key=asked.api_key,
            api=api_name(asked.api_key),
            api_version=asked.api_version,
            correlation_id=asked.correlation_id,
            client_id=asked.client_id,
            error_codes=contents.error_codes,
            produce=contents.produce,
            note=note,
        )

    def _row(
        self,
        t_ns: int,
        kind: FrameKind,
        size_bytes: int = 0,
        *,
        correlation_id: int | None = None,
        closed_by: str | None = None,
        note: str | None = None,
    ) -> Frame:
        return Frame(
            t_ns=t_ns,
            lane=self._lane,
            broker=self._broker,
            conn=self._conn,
            kind=kind,
            size_bytes=size_bytes,
            correlation_id=correlation_id,
            closed_by=closed_by,
            note=note,
        )


_KNOWN = frozenset(int(api) for api in Api)
