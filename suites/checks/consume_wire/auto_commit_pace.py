"""# auto-commit-pace

## What it does

Looks for automatic commits (``enable.auto.commit``) that do not come in time (``auto-commit-overdue``), come too often
(``auto-commit-too-often``), or are missing when a member gives a partition up or closes (``given-up-uncommitted``).

## Why it is bad

What is not committed is read again by the next owner. Commits that come too often burden the coordinator.

## How it is judged per guarantee

- **at-least-once**: a difference. No protocol says when a client commits by itself.

Twice the interval and a second after the application has done with a record, a commit must have covered it. It is not
judged if the member gave the partition up before, rebalanced, or was hindered. Five commits of one partition within
twice the interval are too often, except around a rebalance and after a failure. A partition that was revoked, or that
its owner kept until it closed, must be committed up to the last record that the application had done with. Not if
the coordinator had removed the member, or a fault may have stopped the commit.

## What it needs

The witness's frames and the members' histories. If something stalled meanwhile, the trial is inconclusive.

## References

CSM-ACM-02 (``ConsumerCoordinator#maybeAutoCommitOffsetsAsync``, ``#onJoinPrepare``, ``#close``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import PartitionsRevoked
from harness.model.contract import ShutdownComplete
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import of_group, unread_of_members
from suites.analysis.consuming.automatic import (
    REBALANCES,
    Done,
    bound_ns,
    covering,
    done,
    interval_ns,
    is_free,
)
from suites.analysis.consuming.committing import REMOVED, Sent, sent
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import AT_LEAST_ONCE

OVERDUE = Anomaly(
    "auto-commit-overdue", "{count:turn} whose records were not committed automatically in time", Level.SHOULD
)
OFTEN = Anomaly(
    "auto-commit-too-often",
    "{count:automatic commit} by processes that had made four others within twice the interval",
    Level.SHOULD,
)
GIVEN_UP = Anomaly(
    "given-up-uncommitted",
    "{count:partition} given up without an automatic commit of what had been read",
    Level.SHOULD,
)
#: This many commits within two intervals are too many: two or three are due.
MANY: Final = 5


class Case(NamedTuple):
    """Something of a process that was not committed as it should, and when."""

    process: str
    partition: int
    offset: int
    span: Span


def due(evidence: Evidence) -> Iterator[tuple[Done, Span]]:
    """Yield each end of a turn with the time in which its records must be committed, if the client is free to do it."""
    interval = interval_ns(evidence)
    if interval is None:
        return
    for each in done(evidence):
        until_ns = bound_ns(lives(evidence)[each.owned.process], each.at_ns, 2 * interval)
        span = Span(each.at_ns, until_ns)
        if is_free(evidence, each.owned, span):
            yield each, span


def overdue(evidence: Evidence) -> Iterator[Case]:
    """Yield each end of a turn whose records were not committed in time."""
    for each, span in due(evidence):
        if not covering(evidence, each, span.end_ns):
            yield Case(each.owned.process, each.owned.partition, each.offset, span)


def too_often(evidence: Evidence) -> Iterator[Case]:
    """Yield each commit of a partition that four others preceded within two intervals, all of them accepted."""
    interval = interval_ns(evidence)
    if interval is None:
        return
    for process, made in sent(evidence).items():
        for partition in sorted({partition for each in made for partition in each.offsets}):
            mine = [each for each in made if partition in each.offsets]
            for at in range(MANY - 1, len(mine)):
                row = mine[at - MANY + 1 : at + 1]
                span = Span(row[0].arrived_ns, row[-1].arrived_ns)
                is_short = span.end_ns - span.begin_ns < 2 * interval
                if is_short and is_steady(evidence, process, row, span):
                    yield Case(process, partition, row[-1].offsets[partition], span)


@grants("commits-for-a-reason")
def is_steady(evidence: Evidence, process: str, row: list[Sent], span: Span) -> bool:
    """Return whether only the interval makes a client commit: no failure, no rebalance, no close."""
    around = Span(span.begin_ns - SLACK_NS, span.end_ns + SLACK_NS)
    rebalances = (
        each
        for each in of_group(evidence, *REBALANCES)[process]
        if around.begin_ns <= each.request.arrived_ns <= around.end_ns
    )
    return (
        all(each.asked.code == 0 for each in row)
        and not any(rebalances)
        and lives(evidence)[process].covers(around)
        and not during_cut(evidence, span)
    )


def given_up(evidence: Evidence) -> Iterator[tuple[Done, Span]]:
    """Yield the last turn of each partition that a process gave up by itself, and when it had to commit it."""
    if interval_ns(evidence) is None:
        return
    left = {
        (str(event.producer), event.mono_ns)
        for event in evidence.history
        if isinstance(event, PartitionsRevoked | ShutdownComplete)
    }
    last: dict[int, Done] = {}
    for each in done(evidence):
        last[id(each.owned)] = each
    for each in last.values():
        end_ns = each.owned.end_ns
        if end_ns is not None and (each.owned.process, end_ns) in left and not each.owned.sought_ns:
            span = Span(each.at_ns, end_ns + SLACK_NS)
            if is_able(evidence, each.owned.process, span):
                yield each, span


@grants("commit-cannot-be-made")
def is_able(evidence: Evidence, process: str, span: Span) -> bool:
    """Return whether a process could still commit: it was a member, ran, and no fault was in its way."""
    life = lives(evidence)[process]
    is_removed = any(
        each.code in REMOVED
        and each.answer is not None
        and span.begin_ns - SLACK_NS <= each.answer.t_ns <= span.end_ns
        for each in of_group(evidence)[process]
    )
    return (
        not is_removed
        and not any(nap.overlap_ns(span.begin_ns - SLACK_NS, span.end_ns) for nap in life.frozen)
        and not during_cut(evidence, span)
    )


def uncommitted(evidence: Evidence) -> Iterator[Case]:
    """Yield each partition that was given up without a commit."""
    for each, span in given_up(evidence):
        if not covering(evidence, each, span.end_ns):
            yield Case(each.owned.process, each.owned.partition, each.offset, span)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    broken = {OVERDUE: overdue, OFTEN: too_often, GIVEN_UP: uncommitted}
    found = []
    for anomaly, search in broken.items():
        cases = list(search(evidence))
        if not cases:
            continue
        finding = anomaly.found(len(cases), map(_sample, cases))
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for each in cases:
            doubt_if_stalled(evidence, finding, *each.span)
        found.append(finding)
    return found


def _sample(case: Case) -> Sample:
    return {
        "member": case.process,
        "partition": case.partition,
        "offset": case.offset,
        "since_ns": case.span.begin_ns,
        "until_ns": case.span.end_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in due(evidence)) + sum(1 for _ in given_up(evidence))


CHECK = Check(
    name="auto-commit-pace",
    summary="Automatic commits that are overdue, too frequent, or missing when partitions are given up.",
    requirements=(Requirement("CSM-ACM-02", Level.SHOULD, arises=_arises),),
    guarantees=AT_LEAST_ONCE,
    requires=frozenset({"frames", "history"}),
    killed_mutant="commits_ten_times_as_often",
    run=run,
    workloads=frozenset({"consume"}),
)
