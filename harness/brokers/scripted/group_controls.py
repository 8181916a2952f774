"""The controls of groups: another coordinator, offsets in doubt, and what is known of a group."""

from __future__ import annotations

from collections.abc import Iterable

from harness.brokers.scripted.apis.coordinators import group_coordinator
from harness.brokers.scripted.groups.classic_group import ClassicGroup
from harness.brokers.scripted.groups.consumer_group import ConsumerGroup
from harness.brokers.scripted.groups.offsets import Committed
from harness.brokers.scripted.log_controls import LogControls


class GroupControls(LogControls):
    """Changes of groups from outside of Kafka's protocol."""

    def coordinator(self, group_id: str) -> int:
        """Return the node that coordinates a group, or -1."""
        return group_coordinator(self._state, group_id)

    def move_coordinators(self) -> None:
        """Give every group and transactional id another coordinator, if there are several nodes.

        Requests that wait are refused.
        """
        self.settings.coordinators_moved += 1
        self._state.changed()

    def group(self, group_id: str) -> ClassicGroup | None:
        """Return a classic group as its coordinator has it in memory, or None."""
        found = self._state.groups.classic.get(group_id)
        return None if found is None else found[1]

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """Return a group of KIP-848, or None."""
        found = self._state.groups.consumer.get(group_id)
        return None if found is None else found[1]

    def committed(self, group_id: str) -> dict[tuple[str, int], Committed]:
        """Return the offsets that a group has committed."""
        return dict(self._state.groups.offsets.of(group_id))

    def commit(self, group_id: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset for a group, as an administrator does."""
        committed = Committed(offset, -1, "", self._state.now_ms)
        self._state.groups.offsets.commit(group_id, (topic, partition), committed)

    def set_unstable(self, group_id: str, partitions: Iterable[tuple[str, int]]) -> None:
        """Let an open transaction hold offsets of these partitions: readers of stable offsets have to ask again."""
        self._state.groups.offsets.unstable[group_id] = set(partitions)
