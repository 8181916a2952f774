"""Leader changes in Produce responses: an error response may name the new leader (KIP-951, MET-09)."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.common.requests import Message, PartitionResponse
from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.ports import Node
from harness.wire.error_table import error_for

_TELL_THE_LEADER = ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")


class Leadership:
    """Passes the leaders that brokers report in Produce responses on to ``metadata``."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    def learn(
        self, answers: Mapping[TopicPartition, PartitionResponse], body: Message | None, now_ms: int
    ) -> None:
        """Adopt the new leaders of the rejected partitions, and their addresses. Brokers send them since Produce 10."""
        leaders = {
            partition: (answer.leader_id, answer.leader_epoch)
            for partition, answer in answers.items()
            if answer.leader_id >= 0 <= answer.leader_epoch
            and error_for(answer.error_code).name in _TELL_THE_LEADER
        }
        if leaders:
            endpoints = getattr(body, "node_endpoints", ())
            nodes = [Node(int(each.node_id), each.host, int(each.port)) for each in endpoints]
            self._metadata.update_partition_leadership(leaders, nodes, now_ms)
