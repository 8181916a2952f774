"""Match the connections of the capture to those of the witness. Pure.

Neither observer knows the other's connections, because the proxy opens a new connection for each one that it accepts.
But the correct pairs have the most frames in common: every frame that reached the witness was sent by the client, and
every frame that reached the client was passed on by the witness, so no other pairing agrees on more frames. The proxy
also accepts connections one after the other, so pairs do not cross, except that two connections opened at the same time
may be swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

from harness.model.rows import Frame, FrameKind
from harness.model.tcp_facts import By, TcpFact, What

Key = tuple[int, int]
"""Correlation id and size: the facts about a frame that both observers know."""

Gain = tuple[int, int, int]
"""The number of common frames, the number of pairs whose requests have no gap, the distance of starts (negative)."""


@dataclass
class Witnessed:
    """One connection according to the witness, with its frames in the order in which they were passed on."""

    broker: int
    conn: int
    begun_ns: int
    requests: list[Frame] = field(default_factory=list)
    responses: list[Frame] = field(default_factory=list)
    #: Only the client ended it.
    is_ended_by_client: bool = False
    #: It ended, and everything that passed before was read as frames.
    is_told_whole: bool = False


@dataclass
class Captured:
    """One connection according to the capture."""

    broker: int
    client_port: int
    begun_ns: int
    requests: list[TcpFact] = field(default_factory=list)
    responses: list[TcpFact] = field(default_factory=list)
    ends: list[TcpFact] = field(default_factory=list)

    @property
    def ended_ns(self) -> float:
        """The time of its last end."""
        return max((end.t_ns for end in self.ends), default=inf)

    @property
    def was_cut(self) -> bool:
        """True unless the client ended the connection in an orderly way, or it did not end."""
        return any(end.what is not What.FIN for end in self.ends) or any(
            end.by is By.PROXY for end in self.ends[:1]
        )


Pair = tuple[Witnessed | None, Captured | None]
_Best = tuple[Gain, tuple[int, int], tuple[tuple[int, int], ...]]
Row = TypeVar("Row", Frame, TcpFact)
"""A frame, in the rows of either observer."""


def witnessed(frames: Iterable[Frame]) -> list[Witnessed]:
    """Return the connections of the witness's rows, including stopped frames, that began during the trial."""
    found: dict[int, Witnessed] = {}
    ended: set[int] = set()
    opaque: set[int] = set()
    for row in sorted(frames, key=lambda row: row.t_ns):
        if row.kind is FrameKind.OPEN:
            found[row.conn] = Witnessed(row.broker, row.conn, row.t_ns)
        elif (one := found.get(row.conn)) is None:
            continue
        elif row.kind is FrameKind.REQUEST:
            one.requests.append(row)
        elif row.kind is FrameKind.RESPONSE:
            one.responses.append(row)
        elif row.kind is FrameKind.CLOSE:
            one.is_ended_by_client = row.closed_by == "client"
            ended.add(row.conn)
        else:
            opaque.add(row.conn)
    for conn in ended - opaque & found.keys():
        found[conn].is_told_whole = True
    return list(found.values())


def captured(rows: Iterable[TcpFact]) -> list[Captured]:
    """Return the connections of the capture's rows."""
    found: dict[int, Captured] = {}
    for row in rows:
        one = found.setdefault(row.conn, Captured(row.broker, row.client_port, row.t_ns))
        if row.what is What.FRAME:
            (one.requests if row.by is By.CLIENT else one.responses).append(row)
        elif row.what in (What.FIN, What.RST, What.REFUSED):
            one.ends.append(row)
        elif row.what is What.SYN:
            one.begun_ns = row.t_ns  # the last one is the proxy's, when the connection was established
    return list(found.values())


def pairs(ones: Sequence[Witnessed], others: Sequence[Captured]) -> list[Pair]:
    """Return every connection once. It is alone if only one observer saw it, or if it shares no frames with another."""
    found: list[Pair] = []
    for broker in sorted({one.broker for one in ones} | {other.broker for other in others}):
        found += _aligned(
            sorted((one for one in ones if one.broker == broker), key=lambda one: one.begun_ns),
            sorted((other for other in others if other.broker == broker), key=lambda other: other.begun_ns),
        )
    return found


def key(row: Frame | TcpFact) -> Key:
    """Return the facts about a frame that both observers know."""
    return (-1 if row.correlation_id is None else row.correlation_id, row.size_bytes or 0)


def _aligned(ones: list[Witnessed], others: list[Captured]) -> list[Pair]:
    """Pair the connections of one broker by dynamic programming.

    ``best[i][j]`` holds the greatest gain from the i-th and the j-th connection on, the next position, and the pairs
    made there.
    """
    gains = _gains(ones, others)
    rows, columns = len(ones), len(others)
    nothing: _Best = (0, 0, 0), (rows, columns), ()
    best = [[nothing] * (columns + 2) for _ in range(rows + 2)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            ways: list[_Best] = [(best[i + 1][j][0], (i + 1, j), ()), (best[i][j + 1][0], (i, j + 1), ())]
            if gains[i][j][0]:
                gain = _plus(gains[i][j], best[i + 1][j + 1][0])
                ways.append((gain, (i + 1, j + 1), ((i, j),)))
            if i + 1 < rows and j + 1 < columns and gains[i][j + 1][0] and gains[i + 1][j][0]:
                gain = _plus(_plus(gains[i][j + 1], gains[i + 1][j]), best[i + 2][j + 2][0])
                ways.append((gain, (i + 2, j + 2), ((i, j + 1), (i + 1, j))))
            best[i][j] = max(ways)
    paired: dict[int, int] = {}
    i = j = 0
    while i < rows and j < columns:
        _, (i, j), more = best[i][j]
        paired.update(more)
    alone = set(range(columns)).difference(paired.values())
    return [
        *((one, others[paired[i]] if i in paired else None) for i, one in enumerate(ones)),
        *((None, others[j]) for j in sorted(alone)),
    ]


def _gains(ones: Iterable[Witnessed], others: Iterable[Captured]) -> list[list[Gain]]:
    theirs = [(_carried(other), list(map(key, other.requests)), other.begun_ns) for other in others]
    return [
        [
            (len(carried & their), asked == their_asked[: len(asked)], -abs(one.begun_ns - begun_ns))
            for their, their_asked, begun_ns in theirs
        ]
        for one in ones
        for carried, asked in [(_carried(one), list(map(key, one.requests)))]
    ]


def _carried(one: Witnessed | Captured) -> frozenset[tuple[str, Key, int]]:
    """Return the frames of a connection. Equal frames differ by their direction and number."""
    counted = Counter(("request", key(row)) for row in one.requests)
    counted.update(("response", key(row)) for row in one.responses)
    return frozenset((*frame, n) for frame, count in counted.items() for n in range(count))


def _plus(one: Gain, other: Gain) -> Gain:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
