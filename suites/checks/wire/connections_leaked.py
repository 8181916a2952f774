"""# connections-leaked

## What it does

Counts the connections that a client has open to one broker at the same time, and those that never end.

## Why it is bad

Each open connection uses a file descriptor, buffers and a place in max.connections.per.ip on a broker. A
client that opens new connections and forgets old ones takes these resources from all other clients.

## How it is judged per guarantee

- **all**: SHOULD.

## What it needs

The witness's frames and the faults as they happened. franz-go opens up to five connections to a broker, one
for each kind of request; other clients open fewer. Each may be replaced by another before its end is seen,
and the limit doubles that again: 20. Connections that were opened while a network fault was on their path, or
within a second after it, may have ended unseen by the witness. They count only among those that never end,
because all connections end when the client's process does.

## References

NET-CON-05: a node is tried again when its connection is lost, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding, Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants
from suites.analysis.way import Fault, way

OPEN = Anomaly(
    "connections-open",
    "{count:connection} open to one broker at the same time; the limit is {limit}",
    Level.SHOULD,
)
ENDLESS = Anomaly(
    "connections-leaked", "{count:connection} to one broker never ended; the limit is {limit}", Level.SHOULD
)
#: Five per broker, each replaced before its end is seen, and then doubled.
LIMIT = 20
AFTER_NS = 1_000 * NS_PER_MS


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind, for the broker with the most connections."""
    ended = {frame.conn for frame in evidence.frames if frame.kind is FrameKind.CLOSE}
    endless: dict[int, list[Frame]] = {}
    for frame in _opened(evidence):
        if frame.conn not in ended:
            endless.setdefault(frame.broker, []).append(frame)
    found = []
    for anomaly, connections in (
        (OPEN, _most_open(evidence)),
        (ENDLESS, max(endless.values(), key=len, default=[])),
    ):
        if not _may_be_open(len(connections)):
            found.append(anomaly.found(len(connections), map(_sample, connections), limit=LIMIT))
    return found


def reconnections(evidence: Evidence) -> int:
    """Return how many connections to a broker were opened after an earlier one to it had ended."""
    ended: set[int] = set()
    count = 0
    for frame in sorted(evidence.frames, key=lambda frame: frame.t_ns):
        if frame.kind is FrameKind.CLOSE:
            ended.add(frame.broker)
        elif frame.kind is FrameKind.OPEN:
            count += frame.broker in ended
    return count


def _opened(evidence: Evidence) -> list[Frame]:
    return [frame for frame in evidence.frames if frame.kind is FrameKind.OPEN]


def _most_open(evidence: Evidence) -> list[Frame]:
    """Return the connections to one broker at the time when most were open, out of those opened without a fault."""
    # A rule of the witness for single frames does not affect connections.
    faults = [fault for fault in way(evidence).faults if fault.effects]
    is_open: dict[int, dict[int, Frame]] = {}
    most: list[Frame] = []
    for frame in sorted(evidence.frames, key=lambda frame: frame.t_ns):
        if frame.kind is FrameKind.CLOSE:
            is_open.get(frame.broker, {}).pop(frame.conn, None)
        elif frame.kind is FrameKind.OPEN and not _is_during(faults, frame):
            here = is_open.setdefault(frame.broker, {})
            here[frame.conn] = frame
            if len(here) > len(most):
                most = list(here.values())
    return most


@grants("several-connections")
def _may_be_open(connections: int) -> bool:
    return connections <= LIMIT


@grants("opened-beside-fault")
def _is_during(faults: Iterable[Fault], opened: Frame) -> bool:
    """True if it was opened during one of these faults on its path, or so soon after it that its end may be hidden."""
    return any(
        fault.is_on(opened.broker) and fault.begin_ns <= opened.t_ns <= fault.end_ns + AFTER_NS
        for fault in faults
    )


def _sample(frame: Frame) -> Sample:
    return {"broker": frame.broker, "conn": frame.conn, "opened_ns": frame.t_ns}


CHECK = Check(
    name="connections-leaked",
    summary="More connections to a broker than any client needs.",
    requirements=(Requirement("NET-CON-05", Level.SHOULD, arises=reconnections),),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames", "faults"}),
    killed_mutant="leaks_connections",
    run=run,
)
