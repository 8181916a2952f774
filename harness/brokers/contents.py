"""What the harness writes to a cluster for clients to read, and what their groups have committed, over INTERNAL."""

from __future__ import annotations

from datetime import timedelta

from kio.schema.find_coordinator.v4 import FindCoordinatorRequest, FindCoordinatorResponse
from kio.schema.offset_fetch.v8 import OffsetFetchRequest, OffsetFetchResponse
from kio.schema.offset_fetch.v8.request import OffsetFetchRequestGroup
from kio.schema.produce.v9 import ProduceRequest, ProduceResponse
from kio.schema.produce.v9.request import PartitionProduceData, TopicProduceData
from kio.schema.types import GroupId, TopicName, TransactionalId
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta

from harness.brokers.admin import TIMEOUT_S, Admin
from harness.brokers.connection import require
from harness.brokers.deadline import insist
from harness.brokers.transactions import Transactions
from harness.model.consumer_contract import Position

_GROUP, _ACKS_ALL = 0, -1


class Contents(Transactions):
    """Appends batches and reads committed offsets through ``admin``, each within ``timeout_s``."""

    def __init__(self, admin: Admin, timeout_s: float = TIMEOUT_S) -> None:
        super().__init__(admin, timeout_s)

    async def append(self, topic: str, partition: int, batch: bytes, name: str = "") -> int:
        """Append one batch to a partition, with acks=all, and return its base offset.

        ``name`` is the transactional id of a batch of a transaction.

        An attempt whose answer was lost may have stored it too. Raises KafkaTrialError if the leader refuses it, or if
        no attempt succeeds in time.
        """

        async def attempt() -> int:
            leader = await self._admin.leader(topic, partition)
            answer = await self._admin.ask(_produce(topic, partition, batch, name), ProduceResponse, leader)
            [stored] = answer.responses[0].partition_responses
            require(stored.error_code, f"writing to {topic}-{partition}")
            return int(stored.base_offset)

        return await insist(f"writing to {topic}-{partition}", self._timeout_s, attempt)

    async def committed(self, group: str) -> list[Position]:
        """Return the offsets that a group has committed, by topic and partition; none if there is no such group."""

        async def attempt() -> list[Position]:
            request = FindCoordinatorRequest(key_type=i8(_GROUP), coordinator_keys=(group,))
            [found] = (await self._admin.ask(request, FindCoordinatorResponse)).coordinators
            require(found.error_code, f"finding the coordinator of {group!r}")
            question = OffsetFetchRequest(
                groups=(OffsetFetchRequestGroup(group_id=GroupId(group), topics=None),), require_stable=True
            )
            [told] = (await self._admin.ask(question, OffsetFetchResponse, found.node_id)).groups
            require(told.error_code, f"reading the offsets of {group!r}")
            for topic in told.topics:
                for part in topic.partitions:
                    require(part.error_code, f"reading the offsets of {group!r}")
            return sorted(
                (
                    Position(topic.name, part.partition_index, part.committed_offset)
                    for topic in told.topics
                    for part in topic.partitions
                    if part.committed_offset >= 0
                ),
                key=lambda each: (each.topic, each.partition),
            )

        return await insist(f"reading the offsets of {group!r}", self._timeout_s, attempt)


def _produce(topic: str, partition: int, batch: bytes, name: str) -> ProduceRequest:
    data = PartitionProduceData(index=i32(partition), records=Records.parse(batch))
    return ProduceRequest(
        transactional_id=TransactionalId(name) if name else None,
        acks=i16(_ACKS_ALL),
        timeout=i32Timedelta.parse(timedelta(seconds=TIMEOUT_S)),
        topic_data=(TopicProduceData(name=TopicName(topic), partition_data=(data,)),),
    )
