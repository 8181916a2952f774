"""The witness and the capture saw the same trial from both ends of the proxy: do they tell the same? Pure.

Neither knows the other's connections, for the proxy opens one of its own; two belong together if most of their frames
do. What a side received, the other side must have sent. What it sent may be missing at the receiver only where the
connection was cut, and then at the very end; or where a rule of the witness acted on it, which the witness tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import msgspec

from harness.capture.connections import CapturedFrame, Connection
from harness.rows import Fate, Frame, FrameKind

Key = tuple[int, int]
"""Correlation id and size."""


class Disagreement(msgspec.Struct, frozen=True):
    """A frame that one observer saw whole and the other did not; ``conn`` is the witness's number."""

    broker: int
    client_port: int | None
    conn: int | None
    kind: FrameKind
    correlation_id: int
    size_bytes: int
    seen_by: str


class Comparison(msgspec.Struct, frozen=True):
    """``ruled`` frames differ by a rule of the witness, ``cut_off`` ones were under way when their connection ended.

    With a ``gap`` in the capture a disagreement says nothing.
    """

    connections: int
    agreed: int
    ruled: int
    cut_off: int
    gaps: int
    disagreements: tuple[Disagreement, ...]


@dataclass
class _Witnessed:
    broker: int
    conn: int
    opened_ns: int
    requests: list[Frame] = field(default_factory=list)
    responses: list[Frame] = field(default_factory=list)


@dataclass
class _Tally:
    agreed: int = 0
    ruled: int = 0
    cut_off: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)


def compare(frames: Iterable[Frame], captured: Sequence[Connection]) -> Comparison:
    """Hold the witness's rows, of stopped frames too, against the capture's connections."""
    witnessed = _by_connection(frames)
    pairs = _pairs(witnessed, captured)
    conns, theirs = {one.conn for one, _ in pairs}, {id(other) for _, other in pairs}
    alone = [(one, None) for one in witnessed if one.conn not in conns]
    alone_there = [(None, other) for other in captured if id(other) not in theirs]
    tally = _Tally()
    for one, other in (*pairs, *alone, *alone_there):
        _requests(tally, one, other)
        _responses(tally, one, other)
    return Comparison(
        connections=len(pairs),
        agreed=tally.agreed,
        ruled=tally.ruled,
        cut_off=tally.cut_off,
        gaps=sum(other.is_gapped for other in captured),
        disagreements=tuple(tally.disagreements),
    )


def _by_connection(frames: Iterable[Frame]) -> list[_Witnessed]:
    found: dict[int, _Witnessed] = {}
    for row in sorted(frames, key=lambda row: row.t_ns):
        one = found.setdefault(row.conn, _Witnessed(row.broker, row.conn, row.t_ns))
        if row.kind is FrameKind.REQUEST:
            one.requests.append(row)
        elif row.kind is FrameKind.RESPONSE:
            one.responses.append(row)
    return list(found.values())


def _pairs(
    witnessed: Sequence[_Witnessed], captured: Sequence[Connection]
) -> list[tuple[_Witnessed, Connection]]:
    """Those with the most frames in common first; of equals those that began closest to each other."""
    theirs = [Counter(_seen(other.requests)) + Counter(_seen(other.responses)) for other in captured]
    candidates = []
    for one in witnessed:
        ours = Counter(map(_key, one.requests)) + Counter(map(_key, one.responses))
        for at, other in enumerate(captured):
            in_common = (ours & theirs[at]).total()
            if one.broker == other.broker and (in_common or not ours):
                candidates.append((-in_common, abs(one.opened_ns - other.begun_ns), one.conn, at, one))
    pairs: list[tuple[_Witnessed, Connection]] = []
    taken: set[tuple[str, int]] = set()
    for _, _, conn, at, one in sorted(candidates, key=lambda candidate: candidate[:4]):
        if taken.isdisjoint({("witness", conn), ("capture", at)}):
            taken |= {("witness", conn), ("capture", at)}
            pairs.append((one, captured[at]))
    return pairs


def _requests(tally: _Tally, one: _Witnessed | None, other: Connection | None) -> None:
    """What the client sent, and what came to the witness: also what its rules then stopped."""
    sent = _seen(other.requests) if other else []
    rows = one.requests if one else []
    received = list(map(_key, rows))
    ruled = {_key(row) for row in rows if row.fate is Fate.STOPPED}
    missing, surplus = _differences(tally, sent, received)
    if other is not None and other.was_cut:
        missing = _without_tail(tally, sent, missing)
    common = Counter(sent) & Counter(received)
    tally.ruled += sum(common[key] for key in ruled)
    _tell(tally, FrameKind.REQUEST, one, other, missing, "capture")
    _tell(tally, FrameKind.REQUEST, one, other, surplus, "witness")


def _responses(tally: _Tally, one: _Witnessed | None, other: Connection | None) -> None:
    """What the witness passed on, and what came to the client; any end may overtake an answer that is under way."""
    rows = one.responses if one else []
    passed = [row for row in rows if row.fate is not Fate.STOPPED]
    sent = list(map(_key, passed))
    received = _seen(other.responses) if other else []
    missing, surplus = _differences(tally, sent, received)
    stopped = Counter(_key(row) for row in rows if row.fate is Fate.STOPPED)
    tally.ruled += (stopped - surplus).total()
    for row in passed:
        _forgive(tally, row, missing, surplus)
    if other is not None:
        missing = _without_tail(tally, sent, missing)
    _tell(tally, FrameKind.RESPONSE, one, other, missing, "witness")
    _tell(tally, FrameKind.RESPONSE, one, other, surplus, "capture")


def _differences(tally: _Tally, sent: list[Key], received: list[Key]) -> tuple[Counter[Key], Counter[Key]]:
    """What is missing at the receiver, and what nobody sent."""
    tally.agreed += (Counter(sent) & Counter(received)).total()
    return Counter(sent) - Counter(received), Counter(received) - Counter(sent)


def _without_tail(tally: _Tally, sent: list[Key], missing: Counter[Key]) -> Counter[Key]:
    """What is missing elsewhere than at the end: what was last under way may have been cut off."""
    tail = Counter(takewhile(lambda key: missing[key] > 0, reversed(sent))) & missing
    tally.cut_off += tail.total()
    return missing - tail


def _forgive(tally: _Tally, row: Frame, missing: Counter[Key], surplus: Counter[Key]) -> None:
    """A rule may pass on a frame twice, or another one of the same size in its place."""
    key = _key(row)
    if row.fate is Fate.MARKED and surplus[key]:
        surplus[key] -= 1
        tally.ruled += 1
    elif row.fate is Fate.CHANGED and missing[key]:
        instead = next((other for other, count in surplus.items() if count and other[1] == key[1]), None)
        if instead is not None:
            missing[key] -= 1
            surplus[instead] -= 1
            tally.ruled += 1


def _tell(
    tally: _Tally,
    kind: FrameKind,
    one: _Witnessed | None,
    other: Connection | None,
    keys: Counter[Key],
    seen_by: str,
) -> None:
    broker = other.broker if other else one.broker if one else -1
    port, conn = other.client_port if other else None, one.conn if one else None
    for correlation_id, size_bytes in keys.elements():
        tally.disagreements.append(
            Disagreement(broker, port, conn, kind, correlation_id, size_bytes, seen_by)
        )


def _key(row: Frame) -> Key:
    return (-1 if row.correlation_id is None else row.correlation_id, row.size_bytes)


def _seen(frames: Iterable[CapturedFrame]) -> list[Key]:
    return [(frame.correlation_id, frame.size_bytes) for frame in frames]
