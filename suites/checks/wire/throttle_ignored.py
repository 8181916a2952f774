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

The witness's frames and the faults as they were. Only answers of versions that ask for it count (Produce 6, Metadata
6, FindCoordinator, ApiVersions and InitProducerId 2, 2 and 1). A request is too early if the client sent it with the
answer in its hands, and it came to the witness before the time was over that began when the answer passed. When the
client had the answer at the latest, and when it sent the request at the earliest, follows from the faults on the way to
that broker at these two moments; 250 ms more are allowed. An answer that a fault may have lost is not judged, and
neither is what follows on a connection on which an answer came out of turn.

## References

NET-CON-12 (KIP-219). librdkafka issue 5592.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from harness.anomaly import Anomaly, Sample
from harness.check import Check, Requirement
from harness.evidence import Evidence, view
from harness.exchanges import FOR_EVER, connections
from harness.outcome import Guarantee, Level
from harness.rows import Finding, Frame, FrameKind
from harness.units import NS_PER_MS
from suites.checks.analysis.way import Way, way
from suites.checks.turns import out_of_turn_ns

IGNORED = Anomaly(
    "throttle-ignored",
    "{count:request} sent though the broker had asked to hold back, by up to {most_ms} ms",
    Level.SHOULD,
)
#: The first version of each API that a broker answers before it mutes the connection.
SINCE = {"Produce": 6, "Metadata": 6, "FindCoordinator": 2, "ApiVersions": 2, "InitProducerId": 1}
#: What no fault holds takes no longer, both ways together, on a machine that is busy.
SLACK_NS = 250 * NS_PER_MS
#: Clients count whole milliseconds, and may begin with the one in which they began to read.
EARLY_NS = 20 * NS_PER_MS


class Throttle(NamedTuple):
    """An answer that asks to hold back, and the requests on its connection that came too early."""

    answer: Frame
    early: tuple[Frame, ...]


@view
def throttles(evidence: Evidence) -> list[Throttle]:
    """Those of which the client had heard before their time was over."""
    faults, confused, known = way(evidence), out_of_turn_ns(evidence), connections(evidence)
    requests = _requests(evidence)
    found = []
    for answer in filter(_asks_for_it, evidence.frames):
        had_ns = faults.reached_ns(answer.broker, answer.t_ns, known[answer.conn].opened_ns)
        over_ns = min(answer.t_ns + answer.throttle_ms * NS_PER_MS, confused.get(answer.conn, FOR_EVER))
        if had_ns is not None and had_ns + SLACK_NS < over_ns:
            made = requests.get(answer.conn, [])
            found.append(Throttle(answer, _early(faults, made, had_ns, over_ns - EARLY_NS)))
    return found


def _requests(evidence: Evidence) -> dict[int, list[Frame]]:
    """Connection -> its requests, as they came."""
    requests: dict[int, list[Frame]] = {}
    for frame in (*evidence.frames, *evidence.stopped):
        if frame.kind is FrameKind.REQUEST:
            requests.setdefault(frame.conn, []).append(frame)
    for made in requests.values():
        made.sort(key=lambda frame: frame.arrived_ns)
    return requests


def _early(faults: Way, made: Sequence[Frame], had_ns: int, until_ns: int) -> tuple[Frame, ...]:
    """The requests that came by ``until_ns``, and that the client can only have sent when it had the answer."""
    begin = bisect_right(made, had_ns + SLACK_NS, key=lambda frame: frame.arrived_ns)
    end = bisect_right(made, until_ns, key=lambda frame: frame.arrived_ns)
    return tuple(
        [
            frame
            for frame in made[begin:end]
            if faults.sent_ns(frame.broker, frame.arrived_ns) > had_ns + SLACK_NS
        ]
    )


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
