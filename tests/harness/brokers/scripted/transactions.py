"""A transactional producer for the tests of the scripted brokers: it sends single requests, in any order."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested
from harness.wire.records import BatchBuilder, Codec

MS = 1_000_000
NOW_MS = 1_700_000_000_000
#: The version of each request before and since KIP-890.
V1 = {Api.ADD_PARTITIONS_TO_TXN: 3, Api.PRODUCE: 11, Api.END_TXN: 4, Api.TXN_OFFSET_COMMIT: 4}
V2 = {Api.ADD_PARTITIONS_TO_TXN: 3, Api.PRODUCE: 12, Api.END_TXN: 5, Api.TXN_OFFSET_COMMIT: 5}


class Ids(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


class Transactor:
    """Sends the requests of transactional id ``name`` with the ids that it was told last."""

    def __init__(self, it: Any, name: str = "x", versions: dict[Api, int] | None = None) -> None:
        self.it, self.name = it, name
        self.versions = dict(V2 if versions is None else versions)
        self.ids = Ids(-1, -1)

    @property
    def node_id(self) -> int:
        return int(self.it.cluster.transaction_coordinator(self.name))

    def copy(self) -> Transactor:
        """Return a zombie: it has the present ids and does not learn others."""
        other = Transactor(self.it, self.name, self.versions)
        other.ids = self.ids
        return other

    def ask(self, api: Api, version: int, node_id: int | None = None, **values: Any) -> Any:
        message = make(message_class(api, version, "request"), **values)
        return self.it.send(self.node_id if node_id is None else node_id, message)

    def init(self, *, keeps: bool = False, version: int = 5, timeout_ms: int = 60_000) -> Any:
        """InitProducerId; with ``keeps``, as a producer that has ids already (KIP-360). Return the error code."""
        ids = self.ids if keeps else Ids(-1, -1)
        body = self.ask(
            Api.INIT_PRODUCER_ID,
            version,
            transactional_id=self.name,
            transaction_timeout=timedelta(milliseconds=timeout_ms),
            producer_id=ids.producer_id,
            producer_epoch=ids.epoch,
        ).body
        if not body.error_code:
            self.ids = Ids(body.producer_id, body.producer_epoch)
        return body.error_code

    def add(
        self, *partitions: int, topic: str = "t", version: int | None = None, verify_only: bool = False
    ) -> Any:
        """AddPartitionsToTxn. Return the error code of each partition, or the only one."""
        api = Api.ADD_PARTITIONS_TO_TXN
        version = self.versions[api] if version is None else version
        kind = message_class(api, version, "request")
        named = make(nested(kind, "AddPartitionsToTxnTopic"), name=topic, partitions=partitions)
        values: dict[str, Any] = {
            "v3_and_below_transactional_id": self.name,
            "v3_and_below_producer_id": self.ids.producer_id,
            "v3_and_below_producer_epoch": self.ids.epoch,
            "v3_and_below_topics": (named,),
        }
        if version >= 4:
            entry = make(
                nested(kind, "AddPartitionsToTxnTransaction"),
                transactional_id=self.name,
                producer_id=self.ids.producer_id,
                producer_epoch=self.ids.epoch,
                verify_only=verify_only,
                topics=(named,),
            )
            values = {"transactions": (entry,)}
        body = self.ask(api, version, **values).body
        found = (
            body.results_by_topic_v3_and_below
            if version < 4
            else body.results_by_transaction[0].topic_results
        )
        codes = [part.partition_error_code for part in found[0].results_by_partition]
        return codes[0] if len(codes) == 1 else codes

    def batch(self, sequence: int, count: int = 1, value: bytes = b"v") -> bytes:
        builder = BatchBuilder(Codec.NONE)
        for index in range(count):
            builder.append(NOW_MS, b"k", value + str(index).encode())
        return builder.build(*self.ids, sequence, transactional=True)

    def produce(self, sequence: int, partition: int = 0, version: int | None = None, **given: Any) -> Any:
        """Produce a batch to one partition, and return the error code."""
        version = self.versions[Api.PRODUCE] if version is None else version
        topic_id = self.it.cluster.state.topics["t"].topic_id
        node_id = max(1, self.it.cluster.leader("t", partition)[0])
        return self.it.produce(
            self.batch(sequence, **given),
            partition,
            topic="t" if version < 13 else topic_id,
            version=version,
            node_id=node_id,
            transactional_id=self.name,
        ).error_code

    def end(self, *, commits: bool = True, version: int | None = None) -> Any:
        """EndTxn. Return the error code. From version 5 on, learn the ids of the next transaction."""
        version = self.versions[Api.END_TXN] if version is None else version
        body = self.ask(
            Api.END_TXN,
            version,
            transactional_id=self.name,
            producer_id=self.ids.producer_id,
            producer_epoch=self.ids.epoch,
            committed=commits,
        ).body
        if version >= 5 and not body.error_code:
            self.ids = Ids(body.producer_id, body.producer_epoch)
        return body.error_code

    def add_offsets(self, group: str = "g", version: int = 4) -> Any:
        return self.ask(
            Api.ADD_OFFSETS_TO_TXN,
            version,
            transactional_id=self.name,
            producer_id=self.ids.producer_id,
            producer_epoch=self.ids.epoch,
            group_id=group,
        ).body.error_code

    def commit_offset(
        self, offset: int, partition: int = 0, *, group: str = "g", version: int | None = None, **given: Any
    ) -> Any:
        """TxnOffsetCommit of one offset. Return the error code. ``given`` are the fields of a member."""
        api = Api.TXN_OFFSET_COMMIT
        version = self.versions[api] if version is None else version
        kind = message_class(api, version, "request")
        part = make(
            nested(kind, "TxnOffsetCommitRequestPartition"),
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=-1,
            committed_metadata=given.pop("metadata", ""),
        )
        node_id = given.pop("node_id", self.it.cluster.coordinator(group))
        values = {"generation_id": -1, "member_id": "", "group_instance_id": None} | given
        body = self.ask(
            api,
            version,
            node_id,
            transactional_id=self.name,
            group_id=group,
            producer_id=self.ids.producer_id,
            producer_epoch=self.ids.epoch,
            topics=(make(nested(kind, "TxnOffsetCommitRequestTopic"), name="t", partitions=(part,)),),
            **values,
        ).body
        return body.topics[0].partitions[0].error_code

    def fetched(self, partition: int = 0, *, group: str = "g", stable: bool = True) -> tuple[Any, int]:
        """OffsetFetch of one offset. Return its error code and the offset."""
        kind = message_class(Api.OFFSET_FETCH, 7, "request")
        named = make(nested(kind, "OffsetFetchRequestTopic"), name="t", partition_indexes=(partition,))
        body = self.ask(
            Api.OFFSET_FETCH,
            7,
            self.it.cluster.coordinator(group),
            group_id=group,
            topics=(named,),
            require_stable=stable,
        ).body
        [part] = body.topics[0].partitions
        return part.error_code, part.committed_offset


def rows(it: Any, partition: int = 0) -> list[tuple[str, int, int]]:
    """Return the log of a partition: of each record its kind, its producer id and its epoch."""
    return [
        (str(row.key) if row.control else "data", row.producer_id, row.producer_epoch)
        for row in it.cluster.read_log("t")
        if row.partition == partition
    ]


def stable_offset(it: Any, partition: int = 0) -> int:
    """Return the last stable offset of a partition."""
    return int(it.cluster.state.topics["t"].partitions[partition].log.last_stable_offset)
