"""# throttle-ignored

## What it does

Looks for requests on a connection whose previous answers asked the client to hold back for a time that has
not passed.

## Why it is bad

A broker whose quota is exceeded answers at once and asks the client to wait (KIP-219). It mutes the
connection for the same time. Requests sent meanwhile wait unread and may time out, so the client gives up
requests that have nothing wrong with them.

## How it is judged per guarantee

- **all**: SHOULD; the Java client waits.

## What it needs

The witness's frames, the history, the log and the faults as they happened. Only answers of versions that ask
the client to wait count (Produce 6, Metadata 6, FindCoordinator, ApiVersions and InitProducerId 2, 2 and 1).
A request is too early if the client sent it after it had read the answer, and it arrived at the witness
before the throttle time had passed, counted from when the answer passed. The client certainly had the answer
if the request carries a record that is dated after the result of a record which this answer alone
acknowledges. Otherwise it certainly had the answer once a second more has passed than the faults on the path
can have delayed both: the answer to the client, and the request to the witness. An answer that a fault may
have lost is judged by results alone. Nothing is judged after an answer that arrived out of order on its
connection.

## References

NET-CON-12 (KIP-219). librdkafka issue 5592.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.exchanges import FOR_EVER, connections
from harness.model.rows import Finding, Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants
from suites.analysis.response_order import out_of_turn_ns
from suites.analysis.way import way
from suites.checks.wire.heard import made_after, read_by_ns

IGNORED = Anomaly(
    "throttle-ignored",
    "{count:request} sent although the broker had asked to hold back, up to {most_ms} ms too early",
    Level.SHOULD,
)
#: The first version of each API whose answer a broker sends before it mutes the connection.
SINCE = {"Produce": 6, "Metadata": 6, "FindCoordinator": 2, "ApiVersions": 2, "InitProducerId": 1}
#: The longest time that bytes without a fault take for both directions together, on a busy machine.
SLACK_NS = 1_000 * NS_PER_MS
#: Clients count whole milliseconds, and may start with the one in which they began to read.
EARLY_NS = 20 * NS_PER_MS


class Throttle(NamedTuple):
    """An answer that asks the client to hold back, and the requests on its connection that were sent too early."""

    answer: Frame
    early: tuple[Frame, ...]


class _Heard(NamedTuple):
    """By when the client had an answer, judged by its own results and by the faults. None if unknown."""

    told_ns: int | None
    reached_ns: int | None

    @grants("throttle-unheard")
    def is_before(self, at_ns: int) -> bool:
        """True if the client certainly had the answer some time before ``at_ns``."""
        told = self.told_ns is not None and self.told_ns < at_ns
        return told or (self.reached_ns is not None and self.reached_ns + SLACK_NS < at_ns)


@view
def throttles(evidence: Evidence) -> list[Throttle]:
    """Return the throttles that the client knew of before their time had passed."""
    faults, confused, known = way(evidence), out_of_turn_ns(evidence), connections(evidence)
    told, requests = read_by_ns(evidence), _requests(evidence)
    found = []
    for answer in filter(_asks_for_it, evidence.frames):
        heard = _Heard(
            told.get((answer.conn, answer.correlation_id)),
            faults.reached_ns(answer.broker, answer.t_ns, known[answer.conn].opened_ns),
        )
        over_ns = _over_ns(answer, confused.get(answer.conn, FOR_EVER))
        if heard.is_before(over_ns):
            early = _early(evidence, requests.get(answer.conn, []), answer.t_ns, over_ns - EARLY_NS, heard)
            found.append(Throttle(answer, early))
    return found


@grants("throttled-out-of-turn")
def _over_ns(answer: Frame, confused_ns: int) -> int:
    """Return until when the client certainly has to hold back. An answer out of order ends this."""
    return min(answer.t_ns + answer.throttle_ms * NS_PER_MS, confused_ns)


def _requests(evidence: Evidence) -> dict[int, list[Frame]]:
    """Map each connection to its requests, in order of arrival."""
    requests: dict[int, list[Frame]] = {}
    for frame in (*evidence.frames, *evidence.blocked_frames):
        if frame.kind is FrameKind.REQUEST:
            requests.setdefault(frame.conn, []).append(frame)
    for made in requests.values():
        made.sort(key=lambda frame: frame.arrived_ns)
    return requests


@grants("throttle-nearly-over")
def _early(
    evidence: Evidence, made: Sequence[Frame], since_ns: int, until_ns: int, heard: _Heard
) -> tuple[Frame, ...]:
    """Return the requests in this interval that the client can only have sent after it had the answer."""
    begin = bisect_right(made, since_ns, key=lambda frame: frame.arrived_ns)
    end = bisect_right(made, until_ns, key=lambda frame: frame.arrived_ns)
    return tuple([frame for frame in made[begin:end] if _knew(evidence, frame, heard)])


def _knew(evidence: Evidence, request: Frame, heard: _Heard) -> bool:
    if heard.told_ns is not None and made_after(evidence, request, heard.told_ns):
        return True
    sent_ns = way(evidence).sent_ns(request.broker, request.arrived_ns)
    return heard.reached_ns is not None and sent_ns > heard.reached_ns + SLACK_NS


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts requests."""
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


@grants("throttle-not-asked-for")
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
    summary="Requests to a broker that had asked the client to wait longer.",
    requirements=(Requirement("NET-CON-12", Level.SHOULD, arises=lambda evidence: len(throttles(evidence))),),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames", "history", "log", "faults"}),
    killed_mutant="ignores_throttling",
    run=run,
)
