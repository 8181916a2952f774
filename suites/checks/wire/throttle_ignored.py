"""# throttle-ignored

## What it does

Looks for requests on a connection whose last answers asked the client to hold back for a time that is not over.

## Why it is bad

A broker that is over its quota answers at once and asks the client to wait (KIP-219). It mutes the connection for the
same time, so what is sent meanwhile waits unread, and may time out: the client gives up requests that nothing is
wrong with.

## How it is judged per guarantee

- **all**: SHOULD; the Java client waits.

## What it needs

The witness's frames and the faults as they were. Only answers of versions that ask for it count (Produce 6, Metadata 6,
FindCoordinator, ApiVersions and InitProducerId 2, 2 and 1). What the client had sent before it had the answer is on its
way for at most a second, and as long as a `latency` fault, in effect or just over, delays both ways; later requests are
too early if they come to the witness before the time is over that began when the answer passed. While any other fault
is in effect that may keep bytes on their way, nothing is said.

## References

NET-CON-12 (KIP-219). librdkafka issue 5592.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from harness.anomaly import Anomaly, Sample
from harness.check import Check, Requirement
from harness.evidence import Evidence, view
from harness.outcome import Guarantee, Level
from harness.rows import FaultRow, Finding, Frame, FrameKind
from harness.units import NS_PER_MS

IGNORED = Anomaly(
    "throttle-ignored",
    "{count:request} sent though the broker had asked to hold back, by up to {most_ms} ms",
    Level.SHOULD,
)
#: The first version of each API that a broker answers before it mutes the connection.
SINCE = {"Produce": 6, "Metadata": 6, "FindCoordinator": 2, "ApiVersions": 2, "InitProducerId": 1}
SLACK_NS = 1_000 * NS_PER_MS
#: Clients count whole milliseconds, and may begin with the one in which they began to read.
EARLY_NS = 20 * NS_PER_MS
LATENCY = "latency"
#: Faults that change, stop or end what passes, and keep no byte on its way.
KEEPS_NOTHING = frozenset(
    {"throttle", "quota", "disconnect", "reset", "refuse", "error_response", "log_trim", "topic_growth"}
)


class Throttle(NamedTuple):
    """An answer that asks to hold back, and the requests on its connection that came too early."""

    answer: Frame
    early: tuple[Frame, ...]


@view
def throttles(evidence: Evidence) -> list[Throttle]:
    """Those whose time is longer than what may be on its way."""
    requests: dict[int, list[Frame]] = {}
    for frame in (*evidence.frames, *evidence.stopped):
        if frame.kind is FrameKind.REQUEST:
            requests.setdefault(frame.conn, []).append(frame)
    for made in requests.values():
        made.sort(key=lambda frame: frame.arrived_ns)
    found = []
    for answer in evidence.frames:
        over_ns = answer.t_ns + answer.throttle_ms * NS_PER_MS
        transit_ns = _transit_ns(evidence, answer.t_ns, over_ns) if _asks_for_it(answer) else None
        if transit_ns is not None and answer.t_ns + transit_ns < over_ns:
            made = requests.get(answer.conn, [])
            begin = bisect_right(made, answer.t_ns + transit_ns, key=lambda frame: frame.arrived_ns)
            end = bisect_right(made, over_ns - EARLY_NS, key=lambda frame: frame.arrived_ns)
            found.append(Throttle(answer, tuple(made[begin:end])))
    return found


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting requests."""
    early: dict[int, tuple[int, Frame, Frame]] = {}
    for throttle in throttles(evidence):
        over_ns = throttle.answer.t_ns + throttle.answer.throttle_ms * NS_PER_MS
        for frame in throttle.early:
            left_ms = (over_ns - frame.arrived_ns) // NS_PER_MS
            if left_ms > early.get(id(frame), (0,))[0]:
                early[id(frame)] = (left_ms, frame, throttle.answer)
    if not early:
        return []
    most_ms = max(left_ms for left_ms, _, _ in early.values())
    return [IGNORED.found(len(early), (_sample(*each) for each in early.values()), most_ms=most_ms)]


def _asks_for_it(answer: Frame) -> bool:
    since = SINCE.get(answer.api or "")
    return (
        answer.kind is FrameKind.RESPONSE
        and answer.throttle_ms > 0
        and since is not None
        and (answer.api_version or 0) >= since
    )


def _transit_ns(evidence: Evidence, begin_ns: int, end_ns: int) -> int | None:
    """How long something may be on its way both ways in that time; None where nobody knows."""
    transit_ns = SLACK_NS
    for row in evidence.faults:
        if not _touches(row, begin_ns, end_ns) or row.spec.kind in KEEPS_NOTHING:
            continue
        if row.spec.kind != LATENCY:
            return None
        transit_ns += NS_PER_MS * sum(row.spec.params.values())
    return transit_ns


def _touches(row: FaultRow, begin_ns: int, end_ns: int) -> bool:
    return row.effective_ns is not None and row.effective_ns[0] <= end_ns and begin_ns <= row.effective_ns[1]


def _sample(left_ms: int, frame: Frame, answer: Frame) -> Sample:
    return {
        "conn": frame.conn,
        "api": frame.api,
        "correlation_id": frame.correlation_id,
        "at_ns": frame.arrived_ns,
        "answered_ns": answer.t_ns,
        "throttle_ms": answer.throttle_ms,
        "too_early_ms": left_ms,
    }


CHECK = Check(
    name="throttle-ignored",
    summary="Requests to a broker that has asked to be left alone for longer.",
    requirements=(Requirement("NET-CON-12", Level.SHOULD, arises=lambda evidence: len(throttles(evidence))),),
    guarantees=frozenset(Guarantee),
    channels=frozenset({"frames", "faults"}),
    mutant="ignores_throttling",
    find=find,
)
