"""Transactions of the harness over INTERNAL (KIP-98), in the versions that every Kafka from 3.1 to 4.x supports."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeVar

from kio.schema.add_partitions_to_txn.v3 import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kio.schema.add_partitions_to_txn.v3.request import AddPartitionsToTxnTopic
from kio.schema.end_txn.v3 import EndTxnRequest, EndTxnResponse
from kio.schema.find_coordinator.v4 import FindCoordinatorRequest, FindCoordinatorResponse
from kio.schema.init_producer_id.v4 import InitProducerIdRequest, InitProducerIdResponse
from kio.schema.types import ProducerId, TopicName, TransactionalId
from kio.static.primitive import i8, i16, i32, i32Timedelta

from harness.brokers.admin import LATEST, Admin
from harness.brokers.connection import NotYet, require
from harness.brokers.deadline import insist

Answer = TypeVar("Answer")

_TRANSACTION = 1
#: Longer than any trial keeps one open, and not more than the brokers' ``transaction.max.timeout.ms``.
_OPEN = i32Timedelta.parse(timedelta(minutes=10))
NONE = (-1, -1)


class Transactions:
    """Begins and ends transactions through ``admin``, each step within ``timeout_s``."""

    def __init__(self, admin: Admin, timeout_s: float) -> None:
        self._admin, self._timeout_s = admin, timeout_s

    async def producer(self, name: str) -> tuple[int, int]:
        """Return the producer id and epoch of a transactional id."""
        request = InitProducerIdRequest(
            transactional_id=TransactionalId(name),
            transaction_timeout=_OPEN,
            producer_id=ProducerId(NONE[0]),
            producer_epoch=i16(NONE[1]),
        )

        async def attempt() -> tuple[int, int]:
            told = await self._ask(name, request, InitProducerIdResponse)
            require(told.error_code, f"initializing {name!r}")
            return int(told.producer_id), int(told.producer_epoch)

        return await insist(f"initializing {name!r}", self._timeout_s, attempt)

    async def join(self, name: str, producer: tuple[int, int], topic: str, partitions: list[int]) -> None:
        """Add partitions to the transaction of a producer."""
        wanted = AddPartitionsToTxnTopic(name=TopicName(topic), partitions=tuple(map(i32, partitions)))
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TransactionalId(name),
            v3_and_below_producer_id=ProducerId(producer[0]),
            v3_and_below_producer_epoch=i16(producer[1]),
            v3_and_below_topics=(wanted,),
        )

        async def attempt() -> None:
            told = await self._ask(name, request, AddPartitionsToTxnResponse)
            for found in told.results_by_topic_v3_and_below:
                for part in found.results_by_partition:
                    require(part.partition_error_code, f"adding partitions to the transaction of {name!r}")

        await insist(f"adding partitions to the transaction of {name!r}", self._timeout_s, attempt)

    async def end(
        self, name: str, producer: tuple[int, int], commits: bool, topic: str, partitions: list[int]
    ) -> None:
        """End the transaction of a producer. The coordinator writes the markers after its answer.

        It refuses the same producer's next transaction until it has, with a retriable error.
        """
        request = EndTxnRequest(
            transactional_id=TransactionalId(name),
            producer_id=ProducerId(producer[0]),
            producer_epoch=i16(producer[1]),
            committed=commits,
        )

        async def attempt() -> None:
            told = await self._ask(name, request, EndTxnResponse)
            require(told.error_code, f"ending the transaction of {name!r}")

        await insist(f"ending the transaction of {name!r}", self._timeout_s, attempt)

    async def stable(self, topic: str, partition: int) -> None:
        """Wait until no transaction in a partition is open: a reader of committed records can read it to its end."""

        async def attempt() -> None:
            end = await self._admin.list_offsets(topic, partition, LATEST)
            stable = await self._admin.list_offsets(topic, partition, LATEST, committed=True)
            if stable < end:
                raise NotYet(
                    "transaction-open",
                    "a transaction in {topic}-{partition} is open at offset {stable} of {end}",
                    topic=topic,
                    partition=partition,
                    stable=stable,
                    end=end,
                )

        await insist(f"awaiting the end of transactions in {topic}-{partition}", self._timeout_s, attempt)

    async def _ask(self, name: str, request: Any, answer: type[Answer]) -> Answer:
        question = FindCoordinatorRequest(key_type=i8(_TRANSACTION), coordinator_keys=(name,))
        [found] = (await self._admin.ask(question, FindCoordinatorResponse)).coordinators
        require(found.error_code, f"finding the coordinator of {name!r}")
        return await self._admin.ask(request, answer, found.node_id)
