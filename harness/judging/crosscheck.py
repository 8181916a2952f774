"""Compare the witness with the capture: they saw the same trial from both ends of the proxy. Pure.

Everything that one side received, the other side must have sent. A frame that was sent may be missing at the receiver
in two cases: a rule of the witness acted on it, as its row says; or it is at the very end of a connection, since no
connection continues with a hole in its stream. For a request the second case also needs another cause than its client:
the proxy, the broker, a rule, or a fault that was in effect. (If a fault swallows frames and the client then gives up,
the connection ends like any other.) A response can always be cut off by the end of its connection.

A frame that only one observer has, and that none of this explains, is an error of the harness: it lost or invented a
frame. Such evidence gives no verdict about a client.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from harness.capture.pairing import Captured, Key, Row, Witnessed, captured, key, pairs, witnessed
from harness.model.evidence import Evidence
from harness.model.rows import Disposition, Frame, FrameKind
from harness.model.tcp_facts import TcpFact

Window = tuple[int, int]

#: The maximum difference of the two clocks, besides the error that the capture reports. It includes the time of a
#: packet on its way.
CLOCKS_NS = 100_000_000


class Disagreement(msgspec.Struct, frozen=True):
    """A frame that one observer saw completely and the other did not.

    ``conn`` is the witness's number of its connection.
    """

    broker: int
    client_port: int | None
    conn: int | None
    kind: FrameKind
    correlation_id: int
    size_bytes: int
    seen_by: str

    def __str__(self) -> str:
        port = "no port" if self.client_port is None else f"port {self.client_port}"
        conn = "no connection" if self.conn is None else f"connection {self.conn}"
        return (
            f"only the {self.seen_by} has the {self.kind} with correlation id {self.correlation_id} "
            f"({self.size_bytes} bytes; {port} of the client, {conn} of the witness, broker {self.broker})"
        )


class Comparison(msgspec.Struct, frozen=True):
    """The result.

    ``ruled`` frames differ because of a rule of the witness; ``cut_off`` ones were cut by the end of their connection.
    """

    connections: int
    agreed: int
    ruled: int
    cut_off: int
    disagreements: tuple[Disagreement, ...]


@dataclass
class _Tally:
    agreed: int = 0
    ruled: int = 0
    cut_off: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)


def crosscheck(evidence: Evidence) -> Comparison | None:
    """Compare the two observers. Return None if no capture was requested, or if it is incomplete."""
    capture = evidence.record.capture
    if capture is None or not capture.is_whole:
        return None
    slack_ns = CLOCKS_NS + abs(capture.clock_moved_ns)
    known = (fault.effective_ns or fault.requested_ns for fault in evidence.faults)
    windows = [(window[0] - slack_ns, window[1] + slack_ns) for window in known if window is not None]
    return compare((*evidence.frames, *evidence.blocked_frames), evidence.tcp, windows)


def compare(frames: Iterable[Frame], tcp: Iterable[TcpFact], windows: Sequence[Window] = ()) -> Comparison:
    """Compare the witness's rows, including stopped frames, with the capture's.

    Faults were in effect in ``windows``.
    """
    found = pairs(witnessed(frames), captured(tcp))
    tally = _Tally()
    for one, other in found:
        _requests(tally, one, other, windows)
        _responses(tally, one, other)
    return Comparison(
        connections=sum(one is not None and other is not None for one, other in found),
        agreed=tally.agreed,
        ruled=tally.ruled,
        cut_off=tally.cut_off,
        disagreements=tuple(tally.disagreements),
    )


def _requests(
    tally: _Tally, one: Witnessed | None, other: Captured | None, windows: Sequence[Window]
) -> None:
    """Compare what the client sent with what the witness received, including frames that its rules then stopped."""
    sent = other.requests if other else []
    received = one.requests if one else []
    missing, surplus = _differences(tally, sent, received)
    tail = _tail(sent, missing)
    if other is not None and tail and _may_be_cut(one, other, tail[0].t_ns, windows):
        missing = _without(tally, missing, tail)
    tally.ruled += sum((Counter(_stopped(received)) - surplus).values())
    _tell(tally, FrameKind.REQUEST, one, other, missing, "capture")
    _tell(tally, FrameKind.REQUEST, one, other, surplus, "witness")


def _responses(tally: _Tally, one: Witnessed | None, other: Captured | None) -> None:
    """Compare what the witness passed on with what the client received."""
    rows = one.responses if one else []
    sent = [row for row in rows if row.disposition is not Disposition.BLOCKED]
    received = other.responses if other else []
    missing, surplus = _differences(tally, sent, received)
    tally.ruled += sum((Counter(_stopped(rows)) - surplus).values())
    for doubled in (key(row) for row in sent if row.disposition is Disposition.ANNOTATED):
        if surplus[doubled]:
            surplus[doubled] -= 1
            tally.ruled += 1
    if other is not None:
        missing = _without(tally, missing, _tail(sent, missing))
    if one is not None and not one.is_told_whole:
        surplus = _without(tally, surplus, _tail(received, surplus))
    _tell(tally, FrameKind.RESPONSE, one, other, missing, "witness")
    _tell(tally, FrameKind.RESPONSE, one, other, surplus, "capture")


def _may_be_cut(one: Witnessed | None, other: Captured, since_ns: int, windows: Iterable[Window]) -> bool:
    """True if something other than the client may have cut off what it sent since then."""
    if other.was_cut or (one is not None and not (one.is_ended_by_client and one.is_told_whole)):
        return True
    return any(begin_ns <= other.ended_ns and since_ns <= end_ns for begin_ns, end_ns in windows)


def _differences(
    tally: _Tally, sent: Iterable[Frame | TcpFact], received: Iterable[Frame | TcpFact]
) -> tuple[Counter[Key], Counter[Key]]:
    """Return what is missing at the receiver, and what the receiver has although it was not sent."""
    all_sent, all_received = Counter(map(key, sent)), Counter(map(key, received))
    tally.agreed += (all_sent & all_received).total()
    return all_sent - all_received, all_received - all_sent


def _tail(rows: Sequence[Row], missing: Counter[Key]) -> list[Row]:
    """Return the rows from the first missing frame of the end of a connection."""
    left = Counter(missing)
    at = len(rows)
    while at and left[key(rows[at - 1])] > 0:
        at -= 1
        left[key(rows[at])] -= 1
    return list(rows[at:])


def _without(tally: _Tally, missing: Counter[Key], tail: Sequence[Row]) -> Counter[Key]:
    tally.cut_off += len(tail)
    return missing - Counter(map(key, tail))


def _stopped(rows: Iterable[Frame]) -> Iterator[Key]:
    return (key(row) for row in rows if row.disposition is Disposition.BLOCKED)


def _tell(
    tally: _Tally,
    kind: FrameKind,
    one: Witnessed | None,
    other: Captured | None,
    keys: Counter[Key],
    seen_by: str,
) -> None:
    broker = other.broker if other else one.broker if one else -1
    port, conn = other.client_port if other else None, one.conn if one else None
    for correlation_id, size_bytes in keys.elements():
        tally.disagreements.append(
            Disagreement(broker, port, conn, kind, correlation_id, size_bytes, seen_by)
        )
