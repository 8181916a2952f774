"""How far the group is in each partition, by what it was given, what it has committed, and what it has dropped."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.consumer_contract import OffsetsCommitted
from harness.model.evidence import Evidence, view
from harness.model.harness_events import GroupCommitted
from harness.model.verdicts import Guarantee
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.excuses import grants


@view
def passed(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the first offset that the group has not gone past."""
    ends: dict[int, int] = {}
    for each in accounting.of_this_log(evidence):
        ends[each.partition] = max(ends.get(each.partition, 0), each.offset + 1)
    for event in evidence.history:
        if isinstance(event, GroupCommitted):
            for at in event.offsets:
                if at.topic == evidence.record.topic:
                    ends[at.partition] = max(ends.get(at.partition, 0), at.offset)
    return ends


@view
@grants("dropped-by-application")
def dropped(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the first offset that no application has dropped, because it could not commit it first."""
    ends: dict[int, int] = {}
    for event in _failed_commits(evidence):
        for at in event.offsets:
            ends[at.partition] = max(ends.get(at.partition, 0), at.offset)
    return ends


@grants("dropped-by-application")
def is_dropped(evidence: Evidence, before: Delivery, after: Delivery, offset: int) -> bool:
    """Return whether an application dropped the record at an offset between two deliveries to it, as above."""
    return any(
        event.producer == after.member
        and before.processed_ns <= event.mono_ns <= after.processed_ns
        and any(at.partition == after.partition and offset < at.offset for at in event.offsets)
        for event in _failed_commits(evidence)
    )


def _failed_commits(evidence: Evidence) -> Iterator[OffsetsCommitted]:
    """Yield the commits that failed, of applications that commit before they process, and cannot go back.

    An application goes back to its records if its client can seek, so that they still wait.
    """
    features = evidence.record.client.get("features")
    can_seek = not isinstance(features, list) or "seek" in features
    if can_seek or evidence.record.spec.guarantee is not Guarantee.AT_MOST_ONCE:
        return
    for event in evidence.history:
        if isinstance(event, OffsetsCommitted) and event.how == "sync" and not event.success:
            yield event
