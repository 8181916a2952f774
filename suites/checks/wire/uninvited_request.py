"""# uninvited-request

## What it does

Looks for Produce requests that no application can have asked for: requests to a topic other than the plan's,
or requests sent after the client had reported that it was closed.

## Why it is bad

A batch for another topic puts the records of one application into the data of another, and its own readers
miss them. An application that has closed its producer may hand the work to another process. Records that the
closed producer sends afterwards are mixed with the new ones, duplicated or out of order.

## How it is judged per guarantee

- **all**: forbidden.

## What it needs

The witness's frames, the history and the faults as they happened. A trial has one topic. If requests carry
topic ids, the witness knows the name from the Metadata answers that passed; an id without a name is not
judged. The client is closed when its close() returns successfully, or else when it reports its shutdown. A
request was sent afterwards if it arrived at the witness more than 500 ms later, and later than a fault can
have delayed it. Requests that arrive while a fault is on the path to their broker are not judged. Neither is
a request that asks for no answer (acks=0), because it may have been written before and have waited in a
buffer.

## References

E2E-DEL-06, PRD-CLS-03.
"""

from __future__ import annotations

from uuid import UUID

from harness.model.anomaly import Anomaly, Sample
from harness.model.contract import OpComplete, ShutdownComplete
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level, Outcome
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants
from suites.analysis.way import SLACK_NS, Way, way
from suites.checks.wire.sent import Sent, sent

OTHER_TOPIC = Anomaly("other-topic", "{count:batch part} sent to {topics}, which no record names")
AFTER_CLOSE = Anomaly(
    "sent-after-close", "{count:batch part} sent after the client was closed, by up to {most_ms} ms"
)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding per requirement, which counts batches."""
    found = []
    if strange := [each for each in _named(evidence) if each.part.topic != evidence.record.topic]:
        topics = tuple(sorted({each.part.topic for each in strange}))
        found.append(
            OTHER_TOPIC.found(len(strange), map(_sample, strange), requirement="E2E-DEL-06", topics=topics)
        )
    if late := _sent_after_close(evidence):
        closed_ns = closed_at_ns(evidence) or 0
        most_ms = max(each.asked_ns - closed_ns for each in late) // NS_PER_MS
        found.append(
            AFTER_CLOSE.found(len(late), map(_sample, late), requirement="PRD-CLS-03", most_ms=most_ms)
        )
    return found


@view
def closed_at_ns(evidence: Evidence) -> int | None:
    """Return when the client had reported that it was closed, or None if it never did."""
    for event in evidence.history:
        if isinstance(event, OpComplete) and event.op == "close" and event.outcome == [Outcome.OK.value]:
            return event.mono_ns
        if isinstance(event, ShutdownComplete):
            return event.mono_ns
    return None


@view
def _named(evidence: Evidence) -> list[Sent]:
    return [each for each in sent(evidence) if not _is_id(each.part.topic)]


def _is_id(topic: str) -> bool:
    """True if the witness knows only the topic's id."""
    try:
        return str(UUID(topic)) == topic
    except ValueError:
        return False


def _sent_after_close(evidence: Evidence) -> list[Sent]:
    closed_ns, faults = closed_at_ns(evidence), way(evidence)
    if closed_ns is None:
        return []
    return [each for each in sent(evidence) if not _may_be_from_before(each, closed_ns, faults)]


@grants("held-over-close", "buffered-over-close")
def _may_be_from_before(each: Sent, closed_ns: int, faults: Way) -> bool:
    """True if it may have been sent before the client was closed: delayed by a fault, or buffered with acks=0."""
    return (
        each.frame.acks == 0
        or faults.sent_ns(each.frame.broker, each.asked_ns) <= closed_ns + SLACK_NS
        or faults.during(each.frame.broker, each.asked_ns, each.asked_ns)
    )


def _sample(each: Sent) -> Sample:
    return {
        "topic": each.part.topic,
        "partition": each.part.partition,
        "conn": each.frame.conn,
        "correlation_id": each.frame.correlation_id,
        "at_ns": each.asked_ns,
    }


def _closed(evidence: Evidence) -> int:
    return closed_at_ns(evidence) is not None and len(sent(evidence)) > 0


CHECK = Check(
    name="uninvited-request",
    summary="Produce requests to a topic that no record names, or after the client was closed.",
    requirements=(
        Requirement("E2E-DEL-06", Level.MUST, arises=lambda evidence: len(_named(evidence))),
        Requirement("PRD-CLS-03", Level.MUST, arises=_closed),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames", "history", "faults"}),
    killed_mutant="sends_to_another_topic",
    run=run,
)
