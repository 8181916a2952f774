"""# auto-commit-failure

## What it does

Looks at what follows an automatic commit (``enable.auto.commit``) that a coordinator refuses for the moment: whether it
is made again (``auto-commit-not-repeated``), and whether the application gets the error from its next poll
(``poll-failed-by-commit``).

## Why it is bad

An application that lets its client commit cannot repair a failure. Without another commit, everything since the last
one is read again after a restart. A poll that raises ends many applications, for something that cures itself.

## How it is judged per guarantee

- **at-least-once**: a difference. No protocol says how often a client tries.

After COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR, a commit of the same partition must
arrive within twice the interval and a second. That is not judged if the member gave the partition up, rebalanced, or
was hindered by something else. An error of a poll counts within a second after the refusal, if nothing else had failed.

## What it needs

The witness's frames and the members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-ACM-03 (``ConsumerCoordinator#autoCommitOffsetsAsync``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import ConsumerError
from harness.model.evidence import Evidence
from harness.model.exchanges import connections
from harness.model.rows import FaultRow, Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.apis import Api
from suites.analysis.consuming.asked import asked, unread_of_members
from suites.analysis.consuming.automatic import bound_ns, interval_ns, is_at_work
from suites.analysis.consuming.committing import COMMIT, ELSEWHERE, Sent, sent
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.unaware import cut_by
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import AT_LEAST_ONCE

NOT_REPEATED = Anomaly(
    "auto-commit-not-repeated",
    "{count:automatic commit} refused for the moment and not made again",
    Level.SHOULD,
)
POLL_FAILED = Anomaly(
    "poll-failed-by-commit",
    "{count:poll} that failed after an automatic commit had been refused ({errors})",
    Level.SHOULD,
)


class Refused(NamedTuple):
    """An automatic commit that was refused for the moment, and the time in which the client has to repeat it."""

    commit: Sent
    partition: int
    span: Span


def refused(evidence: Evidence) -> Iterator[Sent]:
    """Yield the automatic commits that a coordinator refused for the moment, if the answer has reached the client."""
    if interval_ns(evidence) is None:
        return
    for made in sent(evidence).values():
        for each in made:
            if each.asked.code in ELSEWHERE and each.asked.reached_ns is not None:
                yield each


def owed(evidence: Evidence) -> Iterator[Refused]:
    """Yield each partition of a refused commit that its process kept, and could have committed again."""
    interval = interval_ns(evidence) or 0
    for each in refused(evidence):
        process, read_ns = each.asked.process, each.asked.reached_ns or 0
        span = Span(read_ns, bound_ns(lives(evidence)[process], read_ns, 2 * interval))
        for owned in ownerships(evidence):
            is_meant = owned.process == process and owned.partition in each.offsets
            if is_meant and is_at_work(evidence, owned, span) and not _is_hindered(evidence, span):
                yield Refused(each, owned.partition, span)


@grants("commit-cannot-be-made")
def _is_hindered(evidence: Evidence, span: Span) -> bool:
    """Return whether a fault other than the refusal of commits acted on the network or the brokers."""
    return cut_by(evidence, span, lambda row: not _refuses_commits(row))


def _refuses_commits(row: FaultRow) -> bool:
    return row.spec.kind == "error_response" and row.spec.params.get("api") == Api.OFFSET_COMMIT


def not_repeated(evidence: Evidence) -> Iterator[Refused]:
    """Yield those that the client did not make again in time."""
    for each in owed(evidence):
        again = (
            later
            for later in sent(evidence)[each.commit.asked.process]
            if each.commit.arrived_ns < later.arrived_ns <= each.span.end_ns
            and later.offsets.get(each.partition, -1) >= each.commit.offsets[each.partition]
        )
        if not any(again):
            yield each


def failed_polls(evidence: Evidence) -> Iterator[tuple[Sent, ConsumerError]]:
    """Yield each error of a poll soon after a refused commit, if nothing else of the process had failed."""
    for each in refused(evidence):
        told_ns = each.asked.answer.t_ns if each.asked.answer is not None else 0
        span = Span(told_ns - SLACK_NS, (each.asked.reached_ns or told_ns) + SLACK_NS)
        if has_other_trouble(evidence, each.asked.process, span) or _is_hindered(evidence, span):
            continue
        for event in evidence.history:
            if (
                isinstance(event, ConsumerError)
                and event.call == "poll"
                and event.producer == each.asked.process
                and told_ns <= event.mono_ns <= span.end_ns
            ):
                yield each, event


@grants("something-else-failed")
def has_other_trouble(evidence: Evidence, process: str, span: Span) -> bool:
    """Return whether another request of the process failed, or a connection of it ended, in a period."""
    near = [
        each for each in asked(evidence)[process] if span.begin_ns <= each.request.arrived_ns <= span.end_ns
    ]
    is_refused = any(each.code != 0 for each in near if each.api != COMMIT)
    used = {each.request.conn for each in asked(evidence)[process]}
    has_ended = any(
        connection.number in used and span.begin_ns <= connection.closed_ns <= span.end_ns
        for connection in connections(evidence).values()
    )
    return is_refused or has_ended


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    left, failed = list(not_repeated(evidence)), list(failed_polls(evidence))
    found = []
    if left:
        finding = NOT_REPEATED.found(len(left), map(_sample, left))
        for each in left:
            doubt_if_stalled(evidence, finding, *each.span)
        found.append(finding)
    if failed:
        errors = tuple(sorted({event.error for _, event in failed}))
        samples: list[Sample] = [
            {"member": str(event.producer), "error": event.error, "at_ns": event.mono_ns}
            for _, event in failed
        ]
        found.append(POLL_FAILED.found(len(failed), samples, errors=errors))
    for finding in found:
        doubt_if_unreadable(finding, unread_of_members(evidence))
    return found


def _sample(each: Refused) -> Sample:
    return {
        "member": each.commit.asked.process,
        "partition": each.partition,
        "offset": each.commit.offsets[each.partition],
        "code": each.commit.asked.code,
        "since_ns": each.span.begin_ns,
        "until_ns": each.span.end_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in owed(evidence))


CHECK = Check(
    name="auto-commit-failure",
    summary="Automatic commits that are not made again after a failure, or that make a poll fail.",
    requirements=(Requirement("CSM-ACM-03", Level.SHOULD, arises=_arises),),
    guarantees=AT_LEAST_ONCE,
    requires=frozenset({"frames", "history"}),
    killed_mutant="failed_automatic_commit_is_the_last",
    run=run,
    workloads=frozenset({"consume"}),
)
