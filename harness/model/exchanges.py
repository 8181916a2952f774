"""Connections, requests with their responses, and the ways of batches, reconstructed from the evidence.

Each of the three views is made once. They need only evidence that every client leaves: the witness's rows, the log, and
the results that the client reported. Faults use them to show their effect
(:meth:`harness.plugins.fault.FaultKind.effect`).
"""

from __future__ import annotations

import msgspec

from harness.model.evidence import Evidence, Operation, view
from harness.model.rows import Frame, FrameKind

PRODUCE = "Produce"
FOR_EVER = 2**63


class Exchange(msgspec.Struct, gc=False):
    """A request that passed the witness, with its response; None if no response passed."""

    request: Frame
    answer: Frame | None = None


class Connection(msgspec.Struct):
    """One connection, from its first row to its end; ``closed_ns`` is ``FOR_EVER`` if no row shows the end.

    ``closed_by`` is the side that closed it, or None if a rule of the witness did. ``torn`` are its bytes that were not
    a whole frame.
    """

    number: int
    broker: int
    opened_ns: int
    closed_ns: int = FOR_EVER
    closed_by: str | None = None
    exchanges: list[Exchange] = []
    torn: list[Frame] = []


class Way(msgspec.Struct, gc=False):
    """The way of one batch in the log to the broker and back, by the first request whose response gives its offset.

    ``called_ns`` is when the last of its records was passed to the client, and ``told_ns`` when the client reported the
    first result; it is ``FOR_EVER`` if the client reported none. ``acknowledged`` is True if at least one record was
    ok.
    """

    connection: Connection
    exchange: Exchange
    answered_ns: int
    called_ns: int
    told_ns: int
    acknowledged: bool


@view
def connections(evidence: Evidence) -> dict[int, Connection]:
    """Return all connections by their number, in the order in which the witness saw them."""
    seen: dict[int, Connection] = {}
    open_requests: dict[tuple[int, int | None], Exchange] = {}
    for frame in evidence.frames:
        number, kind = frame.conn, frame.kind
        connection = seen.get(number)
        if connection is None:
            connection = seen[number] = Connection(number, frame.broker, frame.t_ns)
        if kind is FrameKind.REQUEST:
            exchange = open_requests[number, frame.correlation_id] = Exchange(frame)
            connection.exchanges.append(exchange)
        elif kind is FrameKind.RESPONSE:
            answered = open_requests.pop((number, frame.correlation_id), None)
            if answered is not None:
                answered.answer = frame
        elif kind is FrameKind.CLOSE:
            if connection.closed_ns == FOR_EVER:
                connection.closed_ns, connection.closed_by = frame.t_ns, frame.closed_by
        elif kind is FrameKind.OPAQUE:
            connection.torn.append(frame)
    return seen


@view
def ways(evidence: Evidence) -> list[Way]:
    """Return the batches of the log whose response passed, in the order of their requests."""
    records = _records_at(evidence)
    found: list[Way] = []
    for connection in connections(evidence).values():
        for exchange in connection.exchanges:
            answer = exchange.answer
            if answer is None or exchange.request.api != PRODUCE:
                continue
            for part in answer.produce:
                sends = records.pop((part.partition, part.base_offset), None)
                if sends:
                    found.append(_way(connection, exchange, answer.t_ns, sends))
    return found


@view
def first_passed(evidence: Evidence) -> dict[int, int]:
    """Return record number -> when a request with it first reached the witness.

    The time is ``FOR_EVER`` if no response links a batch of the log with its request.
    """
    came: dict[tuple[int, int | None], int] = {}
    for connection in connections(evidence).values():
        for exchange in connection.exchanges:
            if exchange.answer is not None and exchange.request.api == PRODUCE:
                for part in exchange.answer.produce:
                    place = (part.partition, part.base_offset)
                    came[place] = min(came.get(place, FOR_EVER), exchange.request.arrived_ns)
    passed: dict[int, int] = {}
    for n, copies in evidence.copies.items():
        passed[n] = min(came.get((copy.partition, copy.base_offset), FOR_EVER) for copy in copies)
    return passed


def _records_at(evidence: Evidence) -> dict[tuple[int, int | None], list[Operation]]:
    """Return the records of each batch of the log, by its partition and base offset."""
    places: dict[tuple[int, int | None], list[Operation]] = {}
    sends = evidence.operations
    for n, copies in evidence.copies.items():
        send = sends.get(n)
        if send is not None:
            for copy in copies:
                places.setdefault((copy.partition, copy.base_offset), []).append(send)
    return places


def _way(connection: Connection, exchange: Exchange, answered_ns: int, sends: list[Operation]) -> Way:
    told = [send.complete_ns for send in sends if send.complete_ns is not None]
    return Way(
        connection,
        exchange,
        answered_ns,
        max([send.invoke_ns for send in sends]),
        min(told) if told else FOR_EVER,
        any(send.outcome == "ok" for send in sends),
    )
