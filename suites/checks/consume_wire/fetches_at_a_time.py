"""# fetches-at-a-time

## What it does

Counts the Fetch requests that each process has in flight to a broker at the same time.

## Why it is bad

Each answer may be as large as fetch.max.bytes, so a client with several of them in flight takes several times the
memory that it was given. Two requests for the same partition bring the same records twice.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java has one Fetch in flight to a broker. A client with a connection
  or a request for each partition is right too, and takes more memory.

A request counts as in flight if the client had no answer, had not waited for request.timeout.ms, and kept the
connection. After a new assignment it may have given up what it fetched before. Requests of a process that closes do not
count, since it ends its sessions.

## What it needs

The witness's frames and the members' histories.

## References

CSM-FET-01 (``AbstractFetch#prepareFetchRequests``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.exchanges import FOR_EVER, connections
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.places import answered_ns
from suites.analysis.consuming.timing import REQUEST, setting_ms
from suites.analysis.consuming.tried import is_tried
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.response_order import out_of_turn_ns
from suites.analysis.way import SLACK_NS, way

FETCH: Final = "Fetch"
SEVERAL = Anomaly(
    "several-fetches",
    "{count:Fetch} sent to a broker while others were in flight, up to {most} at a time",
    Level.SHOULD,
)


class Next(NamedTuple):
    """A Fetch that followed others to its broker, and those of them that were certainly in flight."""

    fetch: Asked
    others: tuple[Asked, ...]


@view
def followers(evidence: Evidence) -> list[Next]:
    """Return each Fetch after the first one of its process to its broker, until the process was asked to close."""
    found = []
    for process, requests in of_group(evidence, FETCH).items():
        closing_ns = lives(evidence)[process].closing_ns
        before: dict[int, list[Asked]] = {}
        for each in requests if is_tried(evidence, process) else ():
            if closing_ns is not None and closing_ns <= each.request.arrived_ns:
                break
            earlier = before.get(each.request.broker)
            if earlier is not None:
                found.append(Next(each, tuple(one for one in earlier if _is_in_flight(evidence, one, each))))
            before[each.request.broker] = [each, *found[-1].others] if earlier is not None else [each]
    return found


def _is_in_flight(evidence: Evidence, fetch: Asked, later: Asked) -> bool:
    """Return whether the client was certainly waiting for an answer to ``fetch`` when it sent ``later``."""
    is_answered = fetch.answer is not None and fetch.answer.t_ns <= later.request.arrived_ns
    return not is_answered and not is_given_up(evidence, fetch, later)


@grants("fetch-given-up")
def is_given_up(evidence: Evidence, fetch: Asked, later: Asked) -> bool:
    """Return whether the client may have given up a Fetch: over other answers, by its time, or with its connection."""
    conn, at_ns = fetch.request.conn, later.request.arrived_ns
    if was_assigned(evidence, fetch, later):
        return True
    if at_ns - fetch.sent_ns >= setting_ms(evidence, REQUEST, min) * NS_PER_MS:
        return True
    if out_of_turn_ns(evidence).get(conn, FOR_EVER) <= at_ns:
        return True
    if conn == later.request.conn:
        return False
    known = connections(evidence).get(conn)
    closed_ns = at_ns if known is None else known.closed_ns
    return way(evidence).ended_ns(fetch.request.broker, closed_ns) <= at_ns + SLACK_NS


def was_assigned(evidence: Evidence, fetch: Asked, later: Asked) -> bool:
    """Return whether the process learned of an assignment in between. It may have given up what it fetched before."""
    moments_ns = answered_ns(evidence, fetch.process, "SyncGroup", "OffsetFetch")
    return any(fetch.sent_ns <= at_ns <= later.request.arrived_ns for at_ns in moments_ns)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the requests that were not alone."""
    cases = [each for each in followers(evidence) if each.others]
    if not cases:
        return []
    most = 1 + max(len(each.others) for each in cases)
    found = SEVERAL.found(len(cases), map(_sample, cases), most=most)
    doubt_if_unreadable(found, unread_of_members(evidence))
    return [found]


def _sample(case: Next) -> Sample:
    return {
        "member": case.fetch.process,
        "broker": case.fetch.request.broker,
        "conn": case.fetch.request.conn,
        "at_ns": case.fetch.request.arrived_ns,
        "since_ns": case.others[0].request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(followers(evidence))


CHECK = Check(
    name="fetches-at-a-time",
    summary="Fetch requests to a broker that has not answered the one before.",
    requirements=(Requirement("CSM-FET-01", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="asks_while_it_has_something",
    run=run,
    workloads=frozenset({"consume"}),
)
