"""Which broker coordinates a group or a transactional id: the leader of a partition of the internal topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from harness.brokers.scripted.state import ClusterState

NO_NODE: Final = -1
OFFSETS_TOPIC: Final = "__consumer_offsets"


#: The key types of FindCoordinator.
GROUP: Final = 0
TRANSACTION: Final = 1


def group_coordinator(state: ClusterState, group_id: str) -> int:
    """Return the node of a group (see :func:`coordinator`)."""
    return coordinator(state, group_id, GROUP)


def coordinator(state: ClusterState, key: str, key_type: int) -> int:
    """Return the node for a key, or NO_NODE if none is available. It changes when nodes stop or start."""
    if key_type == GROUP:
        return offsets_leader(state, offsets_partition(state, key))
    return _leader(state, _java_hash(key) % state.settings.transaction_state_log_num_partitions)


def offsets_partition(state: ClusterState, group_id: str) -> int:
    """Return the partition of ``__consumer_offsets`` that has a group."""
    return _java_hash(group_id) % state.settings.offsets_topic_num_partitions


def offsets_leader(state: ClusterState, partition: int) -> int:
    """Return the node that coordinates all groups of a partition of ``__consumer_offsets``, or NO_NODE."""
    return _leader(state, partition)


def _leader(state: ClusterState, partition: int) -> int:
    alive = state.alive()
    if not alive or not state.settings.coordinator_available:
        return NO_NODE
    return alive[(partition + state.settings.coordinators_moved) % len(alive)]


def bucket(text: str) -> int:
    """Return where a small ``HashMap`` has a string, which is where its iteration comes by it."""
    value = _hash_code(text)
    return (value ^ value >> 16) & 15


def _java_hash(text: str) -> int:
    """``Utils.abs(String#hashCode)``."""
    value = _hash_code(text)
    return value & 0x7FFFFFFF if value != 0x80000000 else 0


def _hash_code(text: str) -> int:
    """``String#hashCode``, as an unsigned number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value
