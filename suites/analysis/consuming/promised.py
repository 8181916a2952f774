"""From which offset on a group must deliver a partition. By its settings it may begin behind older records."""

from __future__ import annotations

from typing import Final

from harness.model.evidence import Evidence, view
from suites.analysis.consuming.commits import commits
from suites.analysis.excuses import grants

RESET: Final = "auto.offset.reset"


def is_earliest(evidence: Evidence) -> bool:
    """Return whether a member without a position begins at the log's start, as far as its settings are known."""
    return RESET not in evidence.record.not_set and evidence.record.spec.config.get(RESET) == "earliest"


@view
@grants("group-may-begin-later")
def promised_from(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the first offset that the group must deliver, of the partitions that have one.

    With ``earliest`` the group must deliver everything. Otherwise a member without a stored offset begins at the log's
    end, or gets an error. The first offset is then the least one that was committed.
    """
    if is_earliest(evidence):
        return dict.fromkeys(range(evidence.record.spec.workload.partitions), 0)
    return {
        partition: min(each.offset for each in made if each.success)
        for partition, made in commits(evidence).items()
        if any(each.success for each in made)
    }


def is_promised(evidence: Evidence, place: tuple[int, int]) -> bool:
    """Return whether the group must deliver the record at this partition and offset."""
    partition, offset = place
    begins = promised_from(evidence)
    return partition in begins and begins[partition] <= offset
