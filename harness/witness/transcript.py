"""The transcript of one connection: takes the bytes as they pass and returns rows of evidence. No I/O, no clock.

Requests and responses are paired through a queue. A broker responds in the order of the requests, so a response belongs
to the oldest request with its correlation id, and older requests than that will never be answered. Only the request
says how to read its response.

A transcript never fails. A frame whose body cannot be read keeps its header, and its note says so. If even the framing
is invalid, the connection becomes *opaque*: it gets one row for the unreadable bytes, and one at the end for all bytes
that passed unread after them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from harness.limits.frames import MAX_WAITING, WHOLE_LIMIT_BYTES
from harness.model.rows import Disposition, Frame, FrameKind
from harness.wire.apis import Api, api_name
from harness.wire.errors import WireError
from harness.wire.frames import SIZE_BYTES
from harness.wire.headers import RequestHeader, read_request_header
from harness.wire.primitives import Data
from harness.witness.consumer_contents import NO_PARTS
from harness.witness.contents import (
    NOTHING,
    Contents,
    Count,
    TopicNames,
    request_contents,
    response_contents,
    uncounted,
)
from harness.witness.splitter import FrameSplitter, NotAFrame

#: API keys count up from 0 and are still below 100. A much higher one means that the bytes are not a Kafka request.
API_KEY_LIMIT = 512

CLIENT, BROKER = "client", "broker"

_TO_NOBODY = "after the client had closed"


class Transcript:
    """Both directions of connection ``conn`` of ``lane`` to ``broker``. Times are monotonic nanoseconds.

    ``names`` is shared by all connections of a lane, since a client may learn a topic's id on one connection and use it
    on another. ``count`` is called with the number of elements decoded in each frame, even if it cannot be read.
    """

    def __init__(
        self,
        lane: int,
        broker: int,
        conn: int,
        names: TopicNames,
        whole_limit_bytes: int = WHOLE_LIMIT_BYTES,
        max_waiting: int = MAX_WAITING,
        count: Count = uncounted,
    ) -> None:
        self._lane, self._broker, self._conn = lane, broker, conn
        self._names, self._max_waiting, self._count = names, max_waiting, count
        self._requests = FrameSplitter(whole_limit_bytes)
        self._responses = FrameSplitter(whole_limit_bytes)
        self._asked: deque[RequestHeader] = deque()
        #: The number of waiting requests per correlation id, so that an unmatched response needs no search.
        self._waiting: Counter[int] = Counter()
        self._closed_by: str | None = None
        #: True once bytes passed that are not a frame. Nothing after them, in either direction, can be read.
        self.is_opaque = False
        self._unread_bytes = 0

    def opened(self, t_ns: int) -> Frame:
        """Return the row for a client's connection."""
        return self._row(t_ns, FrameKind.OPEN)

    @property
    def partial_request_bytes(self) -> int:
        """The number of bytes of a request that is not complete."""
        return self._requests.pending_bytes

    def sent(self, t_ns: int, data: bytes, payload: bytes | None = None) -> Iterable[Frame]:
        """Return the rows of the requests that ``data``, sent from the client to the broker, completes.

        ``payload`` may be given if the caller knows that ``data`` is exactly one frame.
        """
        whole = self._whole(self._requests, data, payload)
        if whole is not None:
            try:
                return (self._request(t_ns, len(data), whole, is_whole=True),)
            except NotAFrame:
                pass  # found and reported again below
        return self._read(t_ns, self._requests, data, is_request=True)

    def answered(self, t_ns: int, data: bytes, payload: bytes | None = None) -> Iterable[Frame]:
        """Return the rows of the responses that ``data``, sent from the broker to the client, completes.

        ``payload`` is as in :meth:`sent`.
        """
        whole = self._whole(self._responses, data, payload)
        if whole is not None:
            return (self._response(t_ns, len(data), whole, is_whole=True),)
        return self._read(t_ns, self._responses, data, is_request=False)

    def rest_bytes(self, by: str, data: bytes) -> int | None:
        """Return how many bytes, from the start of ``data``, belong to a frame that ``by`` has already begun to send.

        ``data`` is what ``by`` sends next. Returns None if the number is not known yet.
        """
        return (self._requests if by == CLIENT else self._responses).rest_bytes(data)

    def changed(self, row: Frame, payload: bytes) -> Frame:
        """Return the row of a response that was replaced by another payload."""
        contents, note = NOTHING, row.note
        try:
            contents = response_contents(
                payload, row.api_key or 0, row.api_version or 0, self._names, is_changed=True
            )
        except WireError as error:
            note = f"body not read: {error}"
        return replace(
            row,
            size_bytes=SIZE_BYTES + len(payload),
            correlation_id=_correlation_id(payload),
            error_codes=contents.error_codes,
            produce=contents.produce,
            note=note,
            throttle_ms=contents.throttle_ms,
            **_consumer(contents),
        )

    def passed(self, row: Frame, t_ns: int) -> Frame:
        """Return the row of a frame that was read on arrival and is passed on at ``t_ns``."""
        is_answer = row.kind is FrameKind.RESPONSE and row.api_key is not None
        return _left(row, t_ns, note=self._noted(row.note) if is_answer else row.note)

    def stopped(self, row: Frame, t_ns: int) -> Frame:
        """Return the row of a frame that still waited at ``t_ns``, when the connection ended."""
        return _left(row, t_ns, disposition=Disposition.BLOCKED)

    def closed(self, t_ns: int, by: str | None, note: str | None = None) -> Iterator[Frame]:
        """Yield a row for the first sign of the connection's end, from ``client`` or ``broker`` (None: the witness).

        Frames may still pass in the other direction afterwards. A response that does has no recipient.
        """
        if self._closed_by is None:
            self._closed_by = by or "witness"
            yield self._row(t_ns, FrameKind.CLOSE, closed_by=by, note=note)

    def ended(self, t_ns: int) -> Iterator[Frame]:
        """Yield the rows of bytes that were left unread or incomplete at the end of the connection."""
        if self._unread_bytes:
            yield self._row(t_ns, FrameKind.OPAQUE, size_bytes=self._unread_bytes, note="passed on unread")
        elif not self.is_opaque:
            for splitter, what in ((self._requests, "request"), (self._responses, "response")):
                if splitter.pending_bytes:
                    note = f"the beginning of a {what} that never ended"
                    yield self._row(t_ns, FrameKind.OPAQUE, size_bytes=splitter.pending_bytes, note=note)

    def _whole(self, splitter: FrameSplitter, data: bytes, payload: bytes | None) -> Data | None:
        """Return the payload if ``data`` is one whole frame and can be read directly, else None."""
        if self.is_opaque:
            return None
        if payload is None:
            return splitter.only_frame(data)
        return payload if splitter.may_skip(payload) else None

    def _read(self, t_ns: int, splitter: FrameSplitter, data: bytes, is_request: bool) -> Iterator[Frame]:
        if self.is_opaque:
            self._unread_bytes += len(data)
            return
        begun, read = splitter.pending_bytes, 0
        try:
            read_one = self._request if is_request else self._response
            for size_bytes, payload, is_whole in splitter.feed(data):
                yield read_one(t_ns, size_bytes, payload, is_whole=is_whole)
                read += size_bytes
        except NotAFrame as error:
            # This affects both directions: without the requests, the responses cannot be interpreted.
            self.is_opaque = True
            other = self._responses if is_request else self._requests
            self._unread_bytes = other.pending_bytes
            yield self._row(t_ns, FrameKind.OPAQUE, size_bytes=begun + len(data) - read, note=str(error))

    def _request(self, t_ns: int, size_bytes: int, payload: Data, *, is_whole: bool) -> Frame:
        try:
            header, at = read_request_header(payload)
        except WireError as error:
            raise NotAFrame("not-a-request-header", "no request header: {why}", why=error) from None
        if not 0 <= header.api_key < API_KEY_LIMIT or header.api_version < 0:
            raise NotAFrame(
                "not-a-request",
                "no request: API key {api_key}, version {api_version}",
                api_key=header.api_key,
                api_version=header.api_version,
            )
        contents, note = NOTHING, _why_unread(header.api_key, is_whole=is_whole)
        if note is None:
            try:
                contents = request_contents(payload, header, at, self._names, self._count)
            except WireError as error:
                note = f"body not read: {error}"
        if contents.answered:
            self._asked.append(header)
            self._waiting[header.correlation_id] += 1
            if len(self._asked) > self._max_waiting:
                self._oldest()
        return self._frame(t_ns, FrameKind.REQUEST, size_bytes, header, contents, note)

    def _response(self, t_ns: int, size_bytes: int, payload: Data, *, is_whole: bool) -> Frame:
        correlation_id = _correlation_id(payload)
        asked = self._asked_with(correlation_id)
        if asked is None:
            astray = "answers no request that is waiting"
            return self._row(t_ns, FrameKind.RESPONSE, size_bytes, correlation_id=correlation_id, note=astray)
        contents, note = NOTHING, _why_unread(asked.api_key, is_whole=is_whole)
        if note is None:
            try:
                key, version = asked.api_key, asked.api_version
                contents = response_contents(payload, key, version, self._names, self._count)
            except WireError as error:
                note = f"body not read: {error}"
        return self._frame(t_ns, FrameKind.RESPONSE, size_bytes, asked, contents, self._noted(note))

    def _noted(self, note: str | None) -> str | None:
        """Return the note of a response that passes now. It may already contain the remark if it also arrived now."""
        if self._closed_by != CLIENT or (note or "").startswith(_TO_NOBODY):
            return note
        return "; ".join(filter(None, (_TO_NOBODY, note)))

    def _asked_with(self, correlation_id: int) -> RequestHeader | None:
        if correlation_id not in self._waiting:
            return None
        while (asked := self._oldest()).correlation_id != correlation_id:
            pass
        return asked

    def _oldest(self) -> RequestHeader:
        """Remove and return the request that has waited longest."""
        asked = self._asked.popleft()
        left = self._waiting[asked.correlation_id] - 1
        if left:
            self._waiting[asked.correlation_id] = left
        else:
            del self._waiting[asked.correlation_id]
        return asked

    def _frame(
        self,
        t_ns: int,
        kind: FrameKind,
        size_bytes: int,
        asked: RequestHeader,
        contents: Contents,
        note: str | None,
    ) -> Frame:
        return Frame(
            t_ns,
            self._lane,
            self._broker,
            self._conn,
            kind,
            size_bytes,
            asked.api_key,
            api_name(asked.api_key),
            asked.api_version,
            asked.correlation_id,
            asked.client_id,
            contents.error_codes,
            contents.produce,
            note=note,
            throttle_ms=contents.throttle_ms,
            acks=contents.acks,
            timeout_ms=contents.timeout_ms,
            **_consumer(contents),
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


def _consumer(contents: Contents) -> dict[str, Any]:
    """Return the fields of a row that an API of a consumer has."""
    parts = contents.consumer
    if parts is NO_PARTS:
        return {}
    return {
        "members": parts.members,
        "coordinators": parts.coordinators,
        "fetch": parts.fetch,
        "offsets": parts.offsets,
        "is_cut": parts.is_cut,
    }


def _left(row: Frame, t_ns: int, **changes: Disposition | str | None) -> Frame:
    """Return the row as of ``t_ns``, with its arrival time if that was another."""
    return replace(row, t_ns=t_ns, received_ns=None if t_ns == row.t_ns else row.t_ns, **changes)


def _correlation_id(response: Data) -> int:
    return int.from_bytes(response[:4], signed=True)


_KNOWN = frozenset(int(api) for api in Api)


def _why_unread(api_key: int, *, is_whole: bool) -> str | None:
    """Return the reason why a body is not read at all, or None if it is read."""
    if not is_whole:
        return "too large to be read"
    return None if api_key in _KNOWN else "an API that is not known here"
