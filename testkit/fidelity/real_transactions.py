"""Transactions of real brokers, by which a side writes what readers must and must not be given."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final

from harness.brokers.admin import LATEST
from harness.brokers.connection import NotYet, require
from harness.brokers.deadline import insist
from harness.brokers.local import LocalCluster
from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested
from testkit.fidelity.real_connections import RealConnections

FAULT_TIMEOUT_S: Final = 30.0
TEN_SECONDS: Final = timedelta(seconds=10)
PRODUCE_VERSION: Final = 9


@dataclass(slots=True)
class _Transaction:
    """A transaction: its coordinator, its producer id, and the partitions that were added to it."""

    node_id: int
    producer_id: int
    partitions: list[tuple[str, int]] = field(default_factory=list)


class RealTransactions(RealConnections):
    """The transactions of a local cluster. The side finds leaders and coordinators, and sends the requests."""

    def __init__(self, cluster: LocalCluster) -> None:
        super().__init__(cluster)
        self._transactions: dict[str, _Transaction] = {}

    async def leader(self, topic: str, partition: int) -> int:
        """Return the node that leads a partition."""
        raise NotImplementedError

    async def coordinator(self, key: str, key_type: int) -> int:
        """Return the node that coordinates a group (0) or a transactional id (1)."""
        raise NotImplementedError

    async def _request(self, api: Api, node_id: int | None = None, **values: Any) -> Any:
        raise NotImplementedError

    async def settle_transaction(self, transactional_id: str) -> None:
        """Wait until the coordinator has noted that all markers are written."""
        node_id = await self.coordinator(transactional_id, 1)

        async def settled() -> None:
            answer = await self._request(
                Api.DESCRIBE_TRANSACTIONS, node_id, transactional_ids=(transactional_id,)
            )
            if answer.transaction_states[0].transaction_state.startswith("Prepare"):
                raise NotYet("no-marker-yet", "the markers of a transaction are not there")

        await insist("waiting for the markers", FAULT_TIMEOUT_S, settled)

    async def begin_transaction(self, transactional_id: str) -> int:
        """Return the producer id of a new transactional id."""
        node_id = await self.coordinator(transactional_id, 1)
        answer = await self._request(
            Api.INIT_PRODUCER_ID,
            node_id,
            transactional_id=transactional_id,
            transaction_timeout=timedelta(minutes=10),
        )
        require(answer.error_code, "beginning a transaction")
        self._transactions[transactional_id] = _Transaction(node_id, int(answer.producer_id))
        return int(answer.producer_id)

    async def append_transactional(
        self, transactional_id: str, topic: str, partition: int, batch: bytes
    ) -> int:
        """Add the partition to the transaction, append a batch, and return its base offset."""
        known = self._transactions[transactional_id]
        if (topic, partition) not in known.partitions:
            await insist(
                "adding a partition", FAULT_TIMEOUT_S, partial(self._add, transactional_id, topic, partition)
            )
            known.partitions.append((topic, partition))
        request = message_class(Api.PRODUCE, PRODUCE_VERSION, "request")
        data = make(nested(request, "PartitionProduceData"), index=partition, records=batch)
        answer = await self._request(
            Api.PRODUCE,
            await self.leader(topic, partition),
            transactional_id=transactional_id,
            acks=-1,
            timeout=TEN_SECONDS,
            topic_data=(make(nested(request, "TopicProduceData"), name=topic, partition_data=(data,)),),
        )
        [stored] = answer.responses[0].partition_responses
        require(stored.error_code, "appending in a transaction")
        return int(stored.base_offset)

    async def _add(self, transactional_id: str, topic: str, partition: int) -> None:
        known = self._transactions[transactional_id]
        named = nested(message_class(Api.ADD_PARTITIONS_TO_TXN, 3, "request"), "AddPartitionsToTxnTopic")
        answer = await self._request(
            Api.ADD_PARTITIONS_TO_TXN,
            known.node_id,
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=known.producer_id,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=(make(named, name=topic, partitions=(partition,)),),
        )
        [added] = answer.results_by_topic_v3_and_below
        require(added.results_by_partition[0].partition_error_code, "adding a partition")

    async def end_transaction(self, transactional_id: str, *, commit: bool) -> None:
        """End the transaction, and wait for its markers to be committed, which a broker writes after its response."""
        known = self._transactions.pop(transactional_id)
        admin = self.cluster.admin
        before = {place: await admin.log_end(*place) for place in known.partitions}
        answer = await self._request(
            Api.END_TXN,
            known.node_id,
            transactional_id=transactional_id,
            producer_id=known.producer_id,
            producer_epoch=0,
            committed=commit,
        )
        require(answer.error_code, "ending a transaction")

        async def marked() -> None:
            for place, end in before.items():
                if await admin.list_offsets(*place, LATEST) <= end:
                    raise NotYet("no-marker-yet", "the marker of a transaction is not there")

        await insist("waiting for the markers", FAULT_TIMEOUT_S, marked)
