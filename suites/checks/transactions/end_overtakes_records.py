"""# end-overtakes-records

## What it does

Looks for EndTxn requests of commits that were sent while a Produce request of the client had no answer, and for Produce
requests that were sent between the EndTxn of a commit and the end of the call.

## Why it is bad

The coordinator commits what it knows of. A batch that arrives after the end is refused, or becomes part of the next
transaction, although the application was told that all of its records are stored.

## How it is judged per guarantee

- **transactional**: forbidden. Only the requests of commits are judged, by the calls of the application. An abort may
  leave batches behind.

A Produce request has no answer if none had passed the witness when EndTxn arrived there, so the client cannot have had
it. A request that the client may have given up does not count: its connection had ended, or it was older than
request.timeout.ms. A Produce request was sent later if no fault can have held it back since before EndTxn arrived.

## What it needs

The witness's frames and the history.

## References

PRD-TXN-05 (``TransactionManager#nextRequest``, ``RecordAccumulator#hasIncomplete``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.exchanges import Exchange, connections
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import TRANSACTIONAL
from suites.analysis.sending import REQUEST_TIMEOUT
from suites.analysis.transacting import commits
from suites.analysis.way import SLACK_NS, way

PRODUCE: Final = "Produce"
OVERTAKEN = Anomaly("end-overtakes-records", "{count:EndTxn} sent before the answers to Produce requests")
LATER = Anomaly("produced-after-end", "{count:EndTxn} sent before Produce requests of the same transaction")


class Overtaken(NamedTuple):
    """An EndTxn, and a Produce request that had no answer when it was sent, or that was sent later."""

    end: Exchange
    produce: Exchange


@view
def produces(evidence: Evidence) -> list[Exchange]:
    """Return the Produce requests with their answers, in the order in which they arrived."""
    asked = (
        exchange
        for connection in connections(evidence).values()
        for exchange in connection.exchanges
        if exchange.request.api == PRODUCE
    )
    return sorted(asked, key=lambda each: each.request.arrived_ns)


def overtaken(evidence: Evidence) -> Iterator[tuple[Anomaly, Overtaken]]:
    """Yield each commit's EndTxn that certainly did not wait, with the first request that it did not wait for."""
    for span, end in commits(evidence):
        for each in produces(evidence):
            if _is_in_flight(end, each) and not is_given_up(evidence, end, each):
                yield OVERTAKEN, Overtaken(end, each)
                break
            if is_later(evidence, end, each) and each.request.arrived_ns <= span.end_ns:
                yield LATER, Overtaken(end, each)
                break


def _is_in_flight(end: Exchange, each: Exchange) -> bool:
    at_ns = end.request.arrived_ns
    return each.request.arrived_ns < at_ns and (each.answer is None or each.answer.t_ns > at_ns)


@grants("produce-held-back")
def is_later(evidence: Evidence, end: Exchange, each: Exchange) -> bool:
    """Return whether a Produce request was certainly sent after EndTxn."""
    request = each.request
    return way(evidence).sent_ns(request.broker, request.arrived_ns) > end.request.arrived_ns


@grants("produce-given-up")
def is_given_up(evidence: Evidence, end: Exchange, each: Exchange) -> bool:
    """Return whether the client may have given a request up before EndTxn: by its time, or by its connection."""
    at_ns, broker = end.request.arrived_ns, each.request.broker
    config, not_set = evidence.record.spec.config, evidence.record.not_set
    if REQUEST_TIMEOUT in not_set:
        return True
    if (
        at_ns - way(evidence).sent_ns(broker, each.request.arrived_ns)
        >= int(config[REQUEST_TIMEOUT]) * NS_PER_MS
    ):
        return True
    closed_ns = connections(evidence)[each.request.conn].closed_ns
    return way(evidence).ended_ns(broker, closed_ns) <= at_ns + SLACK_NS


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind, which counts the EndTxn requests."""
    cases: dict[Anomaly, list[Overtaken]] = {}
    for anomaly, case in overtaken(evidence):
        cases.setdefault(anomaly, []).append(case)
    found = [anomaly.found(len(each), map(_sample, each)) for anomaly, each in cases.items()]
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(case: Overtaken) -> Sample:
    return {
        "at_ns": case.end.request.arrived_ns,
        "conn": case.end.request.conn,
        "produce_conn": case.produce.request.conn,
        "produce_ns": case.produce.request.arrived_ns,
        "answered_ns": None if case.produce.answer is None else case.produce.answer.t_ns,
    }


def _arises(evidence: Evidence) -> int:
    return len(commits(evidence))


CHECK = Check(
    name="end-overtakes-records",
    summary="Commits that do not wait for their records.",
    requirements=(Requirement("PRD-TXN-05", Level.MUST, arises=_arises),),
    guarantees=TRANSACTIONAL,
    requires=frozenset({"frames", "history"}),
    killed_mutant="ends_before_its_records",
    run=run,
    workloads=frozenset({"transactions"}),
)
