"""# commit-without-position

## What it does

Looks for automatic commits (``enable.auto.commit``) of partitions for which the member has no position: it has learned
none since it began (``commit-without-position``), or it is just finding out another one (``commit-in-doubt``).

## Why it is bad

What such a commit holds is made up. It replaces the offset that the group has stored, so that its next owner reads
everything again, or passes over records.

## How it is judged per guarantee

- **at-least-once**: forbidden without any position. A difference: to commit a partition while its position is being
  reset or compared with the leader's log, since a client may commit what it had read before.

A member has a position if a broker has given it an offset of the partition, stored or listed, or if it has fetched
from it. A position is in doubt from half a second after the answer that it is out of range until offsets are listed,
and from half a second after OffsetForLeaderEpoch was asked until it is answered.

## What it needs

The witness's frames and the members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-ACM-04 (``SubscriptionState#allConsumed``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from suites.analysis.consuming.asked import Asked, asked, unread_of_members
from suites.analysis.consuming.committing import Sent, automatic, is_automatic, sent
from suites.analysis.consuming.resets import OUT_OF_RANGE
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import AT_LEAST_ONCE
from suites.analysis.way import SLACK_NS

WITHOUT = Anomaly(
    "commit-without-position",
    "{count:automatic commit} of partitions of which the process knew no offset",
)
IN_DOUBT = Anomaly(
    "commit-in-doubt",
    "{count:automatic commit} of partitions whose position was being found out",
    Level.SHOULD,
)
#: Answers that give a client an offset of a partition.
GIVING: Final = ("OffsetFetch", "ListOffsets")
FETCH, LIST, COMPARE = "Fetch", "ListOffsets", "OffsetForLeaderEpoch"


class Case(NamedTuple):
    """A partition of a commit, and since when its process was without a position."""

    commit: Sent
    partition: int
    since_ns: int


def _names(evidence: Evidence, each: Asked, partition: int, *, answer: bool = False) -> bool:
    """Return whether a request, or its answer, names a partition; an answer only if it has an offset."""
    frame = each.answer if answer else each.request
    return frame is not None and any(
        at.topic == evidence.record.topic
        and at.partition == partition
        and (not answer or (at.offset is not None and at.offset >= 0 and not at.error_code))
        for at in frame.offsets
    )


@grants("position-known")
def knows(evidence: Evidence, process: str, partition: int, at_ns: int) -> bool:
    """Return whether a process may know an offset of a partition at that time."""
    got = accounting.deliveries(evidence)
    if any(
        each.member == process and each.partition == partition and each.polled_ns <= at_ns for each in got
    ):
        return True
    for each in asked(evidence)[process]:
        if each.request.arrived_ns > at_ns:
            return False
        if each.api == FETCH and _names(evidence, each, partition):
            return True
        if (
            each.api in GIVING
            and each.answer is not None
            and each.answer.t_ns <= at_ns
            and _names(evidence, each, partition, answer=True)
        ):
            return True
    return False


def without(evidence: Evidence) -> Iterator[Case]:
    """Yield each partition of a commit of which the process knew no offset."""
    for commit in automatic(evidence):
        for partition in commit.offsets:
            if not knows(evidence, commit.asked.process, partition, commit.arrived_ns):
                yield Case(commit, partition, commit.arrived_ns)


def in_doubt(evidence: Evidence) -> Iterator[Case]:
    """Yield each partition of a commit whose position was certainly being found out when the client sent it."""
    for commit in automatic(evidence):
        for partition in commit.offsets:
            for span in doubts(evidence, commit.asked.process, partition):
                if span.begin_ns + SLACK_NS < commit.asked.sent_ns and commit.arrived_ns < span.end_ns:
                    yield Case(commit, partition, span.begin_ns)
                    break


def doubts(evidence: Evidence, process: str, partition: int) -> Iterator[Span]:
    """Yield when a process is finding out the position of a partition, as far as the wire shows when that ends."""
    requests = asked(evidence)[process]
    for at, each in enumerate(requests):
        if each.api == COMPARE and each.answer is not None and _names(evidence, each, partition):
            yield Span(each.request.arrived_ns, each.answer.t_ns)
        if each.reached_ns is not None and _is_out_of_range(evidence, each, partition):
            listed = (
                later.answer.t_ns
                for later in requests[at + 1 :]
                if later.api == LIST and later.answer is not None and _names(evidence, later, partition)
            )
            yield Span(each.reached_ns, next(listed, each.reached_ns))


def _is_out_of_range(evidence: Evidence, each: Asked, partition: int) -> bool:
    return each.api == FETCH and any(
        part.topic == evidence.record.topic
        and part.partition == partition
        and part.error_code == OUT_OF_RANGE
        for part in (each.answer.offsets if each.answer is not None else ())
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    found = []
    for anomaly, search in {WITHOUT: without, IN_DOUBT: in_doubt}.items():
        cases = list(search(evidence))
        if not cases:
            continue
        finding = anomaly.found(len(cases), map(_sample, cases))
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for each in cases:
            doubt_if_stalled(evidence, finding, each.since_ns, each.commit.arrived_ns)
        found.append(finding)
    return found


def _sample(case: Case) -> Sample:
    return {
        "member": case.commit.asked.process,
        "partition": case.partition,
        "offset": case.commit.offsets[case.partition],
        "since_ns": case.since_ns,
        "at_ns": case.commit.arrived_ns,
    }


def unlisted(evidence: Evidence, process: str, partition: int) -> Iterator[Span]:
    """Yield when a process without any position of a partition waited for its offsets to be listed."""
    for each in asked(evidence)[process]:
        begin_ns = each.request.arrived_ns
        is_listed = each.api == LIST and _names(evidence, each, partition)
        if each.answer is not None and is_listed and not knows(evidence, process, partition, begin_ns):
            yield Span(begin_ns, each.answer.t_ns)


def _arises(evidence: Evidence) -> int:
    """Count the times in which a position was being found out, of members that commit automatically."""
    if not is_automatic(evidence):
        return 0
    partitions = range(evidence.record.spec.workload.partitions)
    return sum(
        span.end_ns - span.begin_ns > SLACK_NS
        for process in sent(evidence)
        for partition in partitions
        for search in (doubts, unlisted)
        for span in search(evidence, process, partition)
    )


CHECK = Check(
    name="commit-without-position",
    summary="Automatic commits of partitions without a position, or with one in doubt.",
    requirements=(Requirement("CSM-ACM-04", Level.MUST, arises=_arises),),
    guarantees=AT_LEAST_ONCE,
    requires=frozenset({"frames", "history"}),
    killed_mutant="commits_zero_without_a_position",
    run=run,
    workloads=frozenset({"consume"}),
)
