"""# lost-as-revoked

## What it does

Looks for members that are no longer in their generation, by what their coordinator has answered or because they have
left by themselves, and that then tell their application that partitions are revoked instead of lost
(``lost-as-revoked``), or that commit in the generation that is over (``commit-of-a-lost-generation``).

## Why it is bad

Another member may already read the partitions. After a revocation an application finishes its work and commits,
which then takes effect twice. Only a loss tells it to drop its work.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. The coordinator refuses such commits, and a listener without its own
  method for losses learns of them as revocations in Java as well.

A member is out of its generation once its coordinator has answered UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION to a request
of that generation, or once it has sent LeaveGroup without being closed. Judged is the first call of the listener after
that. A member that was also told to join again may give up its partitions because of that, and one that closes or
subscribes again because of its application: they are not judged, nor is a commit that the client sent before it had
certainly read the answer, or after it was taken into the same generation again.

## What it needs

The witness's frames and the members' histories. If the process or the harness stalled meanwhile, the trial is
inconclusive.

## References

CSM-GRP-12 (``ConsumerCoordinator#onJoinPrepare``, KIP-429).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import PartitionsAssigned, PartitionsLost, PartitionsRevoked
from harness.model.evidence import Evidence
from harness.model.exchanges import FOR_EVER
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.calls import has_called
from suites.analysis.consuming.generations import LEAVE, Generation, generations
from suites.analysis.consuming.lives import lives
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.way import SLACK_NS

REVOKED = Anomaly(
    "lost-as-revoked",
    "{count:time} partitions were reported as revoked that the member had already lost",
    Level.SHOULD,
)
COMMITTED = Anomaly(
    "commit-of-a-lost-generation",
    "{count:OffsetCommit} in a generation in which the member knew that it was no longer",
    Level.SHOULD,
)
COMMIT: Final = "OffsetCommit"
OVER: Final = tuple(BY_NAME[name].code for name in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"))
REBALANCES: Final = BY_NAME["REBALANCE_IN_PROGRESS"].code
#: Calls with which an application gives partitions up.
GIVING_UP: Final = ("close", "subscribe", "assign", "unsubscribe")
#: Faults after which members join again because of the topic.
OF_TOPICS: Final = ("topic_growth", "topic_recreate")
GivesUp = PartitionsRevoked | PartitionsLost


class Loss(NamedTuple):
    """How a member learnt that its generation is over for it: from an answer, or from its own LeaveGroup.

    It happened at ``at_ns``, and the client certainly knew at ``known_ns``, which is None if it may never have.
    """

    generation: Generation
    by: Asked
    at_ns: int
    known_ns: int | None

    @property
    def process(self) -> str:
        """The member's process."""
        return self.generation.process


def losses(evidence: Evidence) -> Iterator[Loss]:
    """Yield the first loss in each generation of each member."""
    for each in (each for of in generations(evidence).values() for each in of):
        closing_ns = lives(evidence)[each.process].closing_ns
        for request in each.later:
            if request.api == LEAVE:
                at_ns = request.request.arrived_ns
                if closing_ns is None or at_ns < closing_ns:
                    yield Loss(each, request, at_ns, at_ns + SLACK_NS)
                break
            if request.code in OVER and each.names(request) and request.answer is not None:
                if request.reached_ns is not None:
                    yield Loss(each, request, request.answer.t_ns, request.received_ns)
                break


def reported(evidence: Evidence, loss: Loss) -> GivesUp | None:
    """Return the call of the listener by which the application learnt of a loss, or None if that is not certain."""
    for event in evidence.history:
        if event.producer != loss.process or event.mono_ns <= loss.at_ns:
            continue
        if isinstance(event, PartitionsAssigned):
            return None
        if isinstance(event, GivesUp) and event.partitions:
            return None if _has_reason(evidence, loss, event) else event
    return None


@grants("gave-up-for-another-reason")
def _has_reason(evidence: Evidence, loss: Loss, event: GivesUp) -> bool:
    """Return whether the member may have given up its partitions before it knew, or for its application."""
    was_told = any(each.code == REBALANCES for each in loss.generation.later if _is_before(each, loss))
    reached_ns = loss.by.reached_ns if loss.by.api != LEAVE else loss.at_ns
    return (
        was_told
        or reached_ns is None
        or event.mono_ns < reached_ns
        or any(row.spec.kind in OF_TOPICS for row in evidence.faults)
        or has_called(evidence, loss.process, Span(loss.generation.began_ns, event.mono_ns), GIVING_UP)
    )


def _is_before(request: Asked, loss: Loss) -> bool:
    return request.answer is not None and request.answer.t_ns <= loss.at_ns


def committed(evidence: Evidence, loss: Loss) -> Iterator[Asked]:
    """Yield the commits in a generation after its member knew that it had ended."""
    known_ns, again_ns = loss.known_ns, _given_again_ns(evidence, loss)
    if known_ns is not None:
        for each in of_group(evidence, COMMIT)[loss.process]:
            if loss.generation.names(each) and known_ns < each.sent_ns and each.request.arrived_ns < again_ns:
                yield each


@grants("same-generation-again")
def _given_again_ns(evidence: Evidence, loss: Loss) -> int:
    """Return when the coordinator took the member into the same generation again. It may do so without a rebalance."""
    return min(
        (
            each.began_ns
            for each in generations(evidence)[loss.process]
            if each.began_ns > loss.at_ns
            and (each.member_id, each.number) == (loss.generation.member_id, loss.generation.number)
        ),
        default=FOR_EVER,
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled in between."""
    found = list(losses(evidence))
    told = [
        (each, event) for each in found if isinstance(event := reported(evidence, each), PartitionsRevoked)
    ]
    late = [(each, commit) for each in found for commit in committed(evidence, each)]
    revoked = [(_sample(loss, event.mono_ns), loss.at_ns, event.mono_ns) for loss, event in told]
    commits = [
        (_sample(loss, commit.sent_ns), loss.at_ns, commit.request.arrived_ns) for loss, commit in late
    ]
    findings = []
    for anomaly, cases in ((REVOKED, revoked), (COMMITTED, commits)):
        if cases:
            finding = anomaly.found(len(cases), (sample for sample, _, _ in cases))
            doubt_if_unreadable(finding, unread_of_members(evidence))
            for _, begin_ns, end_ns in cases:
                doubt_if_stalled(evidence, finding, begin_ns, end_ns)
            findings.append(finding)
    return findings


def _sample(loss: Loss, at_ns: int) -> Sample:
    return {
        "member": loss.process,
        "generation": loss.generation.number,
        "lost_by": loss.by.api,
        "lost_ns": loss.at_ns,
        "at_ns": at_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(reported(evidence, each) is not None for each in losses(evidence))


CHECK = Check(
    name="lost-as-revoked",
    summary="Members that report lost partitions as revoked, or commit for them.",
    requirements=(Requirement("CSM-GRP-12", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="lost_partitions_are_revoked",
    run=run,
    workloads=frozenset({"consume"}),
)
