"""What each heartbeat of KIP-848 says that its member takes over or gives up, and what its listener knew. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.model.consumer_contract import PartitionsAssigned, PartitionsLost, PartitionsRevoked
from harness.model.evidence import Evidence, view
from suites.analysis.consuming.beats import OWNED, Beat, all_beats
from suites.analysis.consuming.ownership import ownerships

AUTO: Final = "enable.auto.commit"
Told = PartitionsAssigned | PartitionsRevoked | PartitionsLost


class Change(NamedTuple):
    """A partition that a heartbeat takes over or gives up, and what the listener was told before and after it."""

    beat: Beat
    partition: int
    is_taken_over: bool
    before: Told | None
    after: Told | None

    @property
    def is_early(self) -> bool:
        """True if the listener was told only after it."""
        if self.is_taken_over:
            return not isinstance(self.before, PartitionsAssigned) and isinstance(
                self.after, PartitionsAssigned
            )
        return isinstance(self.before, PartitionsAssigned) and isinstance(self.after, PartitionsRevoked)


@view
def _told(evidence: Evidence) -> dict[tuple[str, int], list[Told]]:
    """Return process and partition -> what the listener was told about it."""
    found: dict[tuple[str, int], list[Told]] = {}
    for event in evidence.history:
        if isinstance(event, PartitionsAssigned | PartitionsRevoked | PartitionsLost):
            for place in event.partitions:
                if place.topic == evidence.record.topic:
                    found.setdefault((str(event.producer), place.partition), []).append(event)
    return found


def changes(evidence: Evidence) -> Iterator[Change]:
    """Yield what each heartbeat changes, of members whose listeners were told about the partition."""
    topic = evidence.record.topic
    for process, beats in all_beats(evidence).items():
        for beat in beats:
            if beat.joins or beat.before is None or OWNED not in beat.now.member.said:
                continue
            owned = {each.partition for each in beat.now.request.offsets if each.topic == topic}
            known = {each.partition for each in beat.known if each.topic == topic}
            for partition in sorted(owned ^ known):
                if (told := _told(evidence).get((process, partition))) is not None:
                    at = bisect_right(told, beat.now.request.arrived_ns, key=_at_ns)
                    before = told[at - 1] if at else None
                    after = told[at] if at < len(told) else None
                    yield Change(beat, partition, partition in owned, before, after)


def _at_ns(told: Told) -> int:
    return told.mono_ns


def processed(evidence: Evidence, change: Change) -> int:
    """Return the offset after the last record that was processed in the ownership that ended with the revocation."""
    revoked_ns = change.before.mono_ns if change.before is not None else 0
    return max(
        (
            delivery.offset + 1
            for each in ownerships(evidence)
            if each.process == change.beat.now.process
            and each.partition == change.partition
            and each.end_ns == revoked_ns
            for run in each.runs
            for delivery in run
            if delivery.processed_ns < revoked_ns
        ),
        default=0,
    )
