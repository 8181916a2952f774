"""Which replica may answer a client about a partition (``Partition#getLocalLog``, KIP-320 and KIP-392)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.topics import Partition

_NO_EPOCH = -1


def check_replica(
    partition: Partition, node_id: int, current_leader_epoch: int, *, only_leader: bool
) -> None:
    """Raise RequestRefused if this node has no replica, the epoch is not the current one, or it does not lead."""
    if node_id not in partition.replicas:
        raise RequestRefused(ErrorCode.not_leader_or_follower)
    if current_leader_epoch != _NO_EPOCH:
        if current_leader_epoch > partition.leader_epoch:
            raise RequestRefused(ErrorCode.unknown_leader_epoch)
        if current_leader_epoch < partition.leader_epoch:
            raise RequestRefused(ErrorCode.fenced_leader_epoch)
    if only_leader and partition.leader != node_id:
        raise RequestRefused(ErrorCode.not_leader_or_follower)


def preferred_replica(
    state: ClusterState, partition: Partition, node_id: int, rack: str, fetch_offset: int
) -> int | None:
    """Return the in-sync follower in the client's rack that is most caught up, or None (``RackAwareReplicaSelector``).

    Only a leader selects, and only if the brokers have a replica selector.
    """
    nodes = state.nodes
    if not state.settings.rack_aware_replica_selector or partition.leader != node_id or not rack:
        return None
    if nodes[node_id].rack == rack:
        return None
    log = partition.log
    ends = {
        node: partition.lagging.get(node, log.log_end_offset)
        for node in partition.isr
        if nodes[node].is_alive and nodes[node].rack == rack
    }
    usable = [node for node, end in ends.items() if log.log_start_offset <= fetch_offset <= end]
    return max(usable, key=lambda node: ends[node], default=None)
