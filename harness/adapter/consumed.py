"""Whether the columns of a consumer's records agree with each other."""

from __future__ import annotations

from harness.model.consumer_contract import Consumed, RecordsConsumed


def is_even(event: RecordsConsumed) -> bool:
    """Return True if every partition's columns have as many rows as it counts, and the counts add up."""
    return all(map(_agrees, event.partitions)) and event.count == sum(each.count for each in event.partitions)


def _agrees(part: Consumed) -> bool:
    """True if the columns of one partition agree with its count and its bounds."""
    even = all(
        len(column) in (part.count, optional)
        for column, optional in (
            (part.offsets, part.count),
            (part.values, part.count),
            (part.keys, 0),
            (part.leader_epochs, 0),
        )
    )
    bounds = (min(part.offsets), max(part.offsets)) if part.offsets else (-1, -1)
    return even and bounds == (part.min_offset, part.max_offset)
