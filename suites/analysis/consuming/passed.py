"""How far the group is in each partition, by what it was given and by what it has committed."""

from __future__ import annotations

from harness.model.evidence import Evidence, view
from harness.model.harness_events import GroupCommitted
from harness.workloads.consume import accounting


@view
def passed(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the first offset that the group has not gone past."""
    ends: dict[int, int] = {}
    for each in accounting.deliveries(evidence):
        ends[each.partition] = max(ends.get(each.partition, 0), each.offset + 1)
    for event in evidence.history:
        if isinstance(event, GroupCommitted):
            for at in event.offsets:
                if at.topic == evidence.record.topic:
                    ends[at.partition] = max(ends.get(at.partition, 0), at.offset)
    return ends
