"""# fetch-session-broken

## What it does

Follows the fetch sessions that each process has with each broker: the ids that brokers gave it, the epochs of its
requests, and what it did after a refusal or a lost answer.

## Why it is bad

In a session, both sides leave out what they believe the other one knows. If they count differently, the broker refuses
every request, or it answers for partitions that the client has given up, and leaves out those that it wants.

## How it is judged per guarantee

- **at-least-once, at-most-once**: in a session, each request has the epoch after that of the request before it,
  beginning with 1. A session has an id that the broker gave to this process. After a refusal (unknown session, wrong
  epoch, other topic ids) the next request is a full one.
- A difference: to go on with a session after an answer in it was lost with its connection, as Java begins a new one.
  This holds for the next request and for the same one again, which the broker refuses if it has answered it.

A client that uses no sessions is right. The epoch is not judged if requests may have been lost before the witness: if a
fault acted on the network or the brokers since the last one.

## What it needs

The witness's frames and the members' histories.

## References

CSM-FET-10 (KIP-227, ``FetchSessionHandler``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_rows import FetchPart
from harness.model.evidence import Evidence, view
from harness.model.exchanges import connections
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

FETCH: Final = "Fetch"
NO_SESSION, LAST_EPOCH = 0, 2**31 - 1
REFUSALS: Final = tuple(
    BY_NAME[name].code
    for name in ("FETCH_SESSION_ID_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH", "FETCH_SESSION_TOPIC_ID_ERROR")
)
NOT_GIVEN = Anomaly(
    "fetch-session-not-given", "{count:Fetch} in a session that no answer had given to the client"
)
WRONG_EPOCH = Anomaly(
    "fetch-session-epoch", "{count:Fetch} with another epoch than the next one of its session"
)
REFUSED = Anomaly("fetch-session-refused", "{count:Fetch} in a session that the broker had refused before")
LOST = Anomaly(
    "fetch-session-after-loss", "{count:Fetch} in a session of which an answer was lost", Level.SHOULD
)


class Step(NamedTuple):
    """A request within a session. ``before`` is the one before it in the session, or None if there is none."""

    fetch: Asked
    before: Asked | None


@view
def steps(evidence: Evidence) -> list[Step]:
    """Return the requests that go on with a session, each with the request before it."""
    return [
        step
        for requests in of_group(evidence, FETCH).values()
        for broker in sorted({each.request.broker for each in requests})
        for step in _with_broker([each for each in requests if each.request.broker == broker])
    ]


def _with_broker(requests: list[Asked]) -> Iterator[Step]:
    for at, each in enumerate(requests):
        session = _said(each)
        if session.session_id and (session.session_epoch or 0) > 0:
            yield Step(each, _before(requests[:at], session.session_id))


def _before(earlier: list[Asked], session_id: int) -> Asked | None:
    """Return the last request that was in the session, or that began it."""
    for each in reversed(earlier):
        is_in = _said(each).session_id == session_id and (_said(each).session_epoch or 0) > 0
        if is_in or (_given(each) == session_id and _said(each).session_epoch == 0):
            return each
    return None


def _said(each: Asked) -> FetchPart:
    return each.request.fetch or FetchPart()


def _given(each: Asked) -> int:
    answer = each.answer.fetch if each.answer is not None else None
    return NO_SESSION if answer is None else answer.session_id or NO_SESSION


def broken(evidence: Evidence) -> Iterator[tuple[Anomaly, Step]]:
    """Yield each request that breaks a rule of its session."""
    for step in steps(evidence):
        anomaly = _rule(evidence, step)
        is_excused = anomaly is WRONG_EPOCH and may_lack_some(evidence, step)
        if anomaly is not None and not is_excused:
            yield anomaly, step


def _rule(evidence: Evidence, step: Step) -> Anomaly | None:
    fetch, before = step
    if before is None:
        return NOT_GIVEN
    epoch = _said(before).session_epoch or 0
    if _said(fetch).session_epoch == epoch and _may_be_lost(evidence, step):
        return LOST
    if _said(fetch).session_epoch != (1 if epoch >= LAST_EPOCH else epoch + 1):
        return WRONG_EPOCH
    answer = before.answer.fetch if before.answer is not None else None
    if answer is not None and answer.error_code in REFUSALS and _is_read(before, fetch):
        return REFUSED
    closed_ns = connections(evidence)[before.request.conn].closed_ns if before.answer is None else None
    return LOST if closed_ns is not None and closed_ns < fetch.sent_ns else None


@grants("fetched-again-after-loss")
def _may_be_lost(evidence: Evidence, step: Step) -> bool:
    """Return whether the connection ended before the client had certainly read the answer to the request before."""
    before = step.before
    if before is None or before.received_ns is not None:
        return False
    return connections(evidence)[before.request.conn].closed_ns < step.fetch.request.arrived_ns


def _is_read(before: Asked, fetch: Asked) -> bool:
    return before.reached_ns is not None and before.reached_ns <= fetch.sent_ns


@grants("fetches-lost-on-the-way")
def may_lack_some(evidence: Evidence, step: Step) -> bool:
    """Return whether the witness may not have seen all requests of the session."""
    since_ns = (step.before or step.fetch).request.arrived_ns
    return during_cut(evidence, Span(since_ns, step.fetch.request.arrived_ns), lasts=False)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    cases: dict[Anomaly, list[Step]] = {}
    for anomaly, step in broken(evidence):
        cases.setdefault(anomaly, []).append(step)
    found = [anomaly.found(len(each), map(_sample, each)) for anomaly, each in cases.items()]
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(step: Step) -> Sample:
    session = _said(step.fetch)
    return {
        "member": step.fetch.process,
        "session": session.session_id,
        "epoch": session.session_epoch,
        "epoch_before": None if step.before is None else _said(step.before).session_epoch,
        "conn": step.fetch.request.conn,
        "at_ns": step.fetch.request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(steps(evidence))


CHECK = Check(
    name="fetch-session-broken",
    summary="Fetch requests that do not fit their session.",
    requirements=(Requirement("CSM-FET-10", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="skips_session_epochs",
    run=run,
    workloads=frozenset({"consume"}),
)
