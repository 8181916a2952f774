"""The requests of transactional producers, as a peer sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from harness.wire.messages import make
from harness.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from testkit.fidelity import transaction_steps as t
from testkit.fidelity.batches import batch_bytes
from testkit.fidelity.observed import Plain
from testkit.fidelity.steps import BatchSpec
from testkit.fidelity.targets import COORDINATOR

if TYPE_CHECKING:
    from testkit.fidelity.membership import Membership
    from testkit.fidelity.peer import Peer

_TRANSACTION: Final = 1
_NEW_IDS_FROM_VERSION: Final = 5
_BATCHED_FROM_VERSION: Final = 4
_NEVER_GIVEN: Final = 2**40


@dataclass(slots=True)
class _Producer:
    """What a producer was told last, and its next sequence for each partition in this epoch."""

    producer_id: int = _NEVER_GIVEN
    epoch: int = 0
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)

    def take(self, producer_id: int, epoch: int) -> None:
        """Note the ids of a response. A new epoch begins at sequence 0."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch


class Transacting:
    """What a peer knows of its transactional producers."""

    def __init__(self, peer: Peer, membership: Membership) -> None:
        self._peer, self._membership = peer, membership
        self._producers: dict[str, _Producer] = {}

    async def step(self, step: t.TransactionStep) -> Plain:
        """Play one step."""
        match step:
            case t.InitTransactions():
                return await self._init(step)
            case t.AddToTransaction():
                return await self._add(step)
            case t.ProduceInTransaction():
                return await self._produce(step)
            case t.AddGroupToTransaction():
                return await self._add_group(step)
            case t.CommitInTransaction():
                return await self._commit(step)
            case t.FinishTransaction():
                return await self._finish(step)

    def _known(self, step: t.TransactionStep) -> _Producer:
        return self._producers.setdefault(step.producer, _Producer())

    def _id(self, label: str) -> str:
        return self._peer.name(label) if label else ""

    async def _node(self, step: Any) -> int:
        found = await self._peer.side.coordinator(self._id(step.transactional_id) or "none", _TRANSACTION)
        return found if step.node == COORDINATOR else found % self._peer.plan.nodes + 1

    async def _ask(self, api: Api, step: Any, take: Any = None, **values: Any) -> Plain:
        node = await self._node(step)
        return await self._peer.ask(api, step.version, node, take=take or self._peer.plainly, **values)

    def _who(self, step: Any) -> dict[str, Any]:
        known = self._known(step)
        return {
            "transactional_id": self._id(step.transactional_id),
            "producer_id": known.producer_id,
            "producer_epoch": known.epoch + step.ahead,
        }

    async def _settle(self, step: t.TransactionStep) -> None:
        if step.transactional_id:
            await self._peer.side.settle_transaction(self._id(step.transactional_id))

    async def _init(self, step: t.InitTransactions) -> Plain:
        def take(answer: Any) -> Plain:
            if answer.error_code is ErrorCode.none:
                self._known(step).take(answer.producer_id, answer.producer_epoch)
            return self._peer.plainly(answer)

        who = self._who(step)
        if not step.continues:
            who |= {"producer_id": NO_PRODUCER_ID, "producer_epoch": NO_PRODUCER_EPOCH}
        heard = await self._ask(
            Api.INIT_PRODUCER_ID,
            step,
            take,
            transaction_timeout=timedelta(milliseconds=step.timeout_ms),
            enable2_pc=False,
            keep_prepared_txn=False,
            **who,
        )
        await self._settle(step)
        return heard

    async def _add(self, step: t.AddToTransaction) -> Plain:
        kind = partial(self._peer.request_class, Api.ADD_PARTITIONS_TO_TXN, step.version)
        topics = tuple(
            make(
                kind("AddPartitionsToTxnTopic"),
                name=self._peer.name(label),
                partitions=tuple(index for each, index in step.parts if each == label),
            )
            for label in dict.fromkeys(label for label, _ in step.parts)
        )
        who = self._who(step)
        values: dict[str, Any] = {f"v3_and_below_{name}": value for name, value in who.items()}
        values["v3_and_below_topics"] = topics
        if step.version >= _BATCHED_FROM_VERSION:
            entry = kind("AddPartitionsToTxnTransaction")
            values = {"transactions": (make(entry, verify_only=step.verify_only, topics=topics, **who),)}
        return await self._ask(Api.ADD_PARTITIONS_TO_TXN, step, **values)

    async def _produce(self, step: t.ProduceInTransaction) -> Plain:
        known, peer = self._known(step), self._peer
        kind = partial(peer.request_class, Api.PRODUCE, step.version)

        def data(place: tuple[str, int]) -> Any:
            spec = BatchSpec(
                f"{step.tag}.{place[1]}",
                step.count,
                producer=0,
                epoch=known.epoch + step.ahead,
                sequence=max(0, known.sequences.get(place, 0) + step.sequence_ahead),
                transactional=step.transactional,
            )
            records = batch_bytes(spec, known.producer_id, peer.base_ms)
            return make(kind("PartitionProduceData"), index=place[1], records=records)

        def take(answer: Any) -> Plain:
            for topic in answer.responses:
                for part in topic.partition_responses:
                    label = next(each for each, index in step.parts if index == part.index)
                    if not part.error_code and not step.ahead and not step.sequence_ahead:
                        place = label, int(part.index)
                        known.sequences[place] = known.sequences.get(place, 0) + step.count
            return peer.plainly(answer)

        label = step.parts[0][0]
        node = await peer.leader_node(-1, *step.parts[0])
        topic = make(
            kind("TopicProduceData"),
            name=peer.name(label),
            topic_id=peer.topic_id(label),
            partition_data=tuple(map(data, step.parts)),
        )
        return await peer.ask(
            Api.PRODUCE,
            step.version,
            node,
            take=take,
            transactional_id=self._id(step.transactional_id) or None,
            acks=-1,
            timeout=timedelta(seconds=5),
            topic_data=(topic,),
        )

    async def _add_group(self, step: t.AddGroupToTransaction) -> Plain:
        group = self._membership.name(step.group)
        return await self._ask(Api.ADD_OFFSETS_TO_TXN, step, group_id=group, **self._who(step))

    async def _commit(self, step: t.CommitInTransaction) -> Plain:
        kind = partial(self._peer.request_class, Api.TXN_OFFSET_COMMIT, step.version)
        member_id, generation = "", -1
        if step.member is not None:
            member_id, generation = self._membership.identity(step.group, step.member, step.member_id)
            generation += step.generation_ahead
        topics = tuple(
            make(
                kind("TxnOffsetCommitRequestTopic"),
                name=self._peer.name(label),
                partitions=tuple(
                    make(
                        kind("TxnOffsetCommitRequestPartition"),
                        partition_index=each.partition,
                        committed_offset=each.offset,
                        committed_leader_epoch=each.leader_epoch,
                        committed_metadata=each.metadata,
                    )
                    for each in step.parts
                    if each.topic == label
                ),
            )
            for label in dict.fromkeys(each.topic for each in step.parts)
        )
        return await self._peer.ask(
            Api.TXN_OFFSET_COMMIT,
            step.version,
            await self._membership.node(step.group, step.node),
            group_id=self._membership.name(step.group),
            member_id=member_id,
            generation_id=generation,
            group_instance_id=None,
            topics=topics,
            **self._who(step),
        )

    async def _finish(self, step: t.FinishTransaction) -> Plain:
        def take(answer: Any) -> Plain:
            if answer.error_code is ErrorCode.none and step.version >= _NEW_IDS_FROM_VERSION:
                self._known(step).take(answer.producer_id, answer.producer_epoch)
            return self._peer.plainly(answer)

        heard = await self._ask(Api.END_TXN, step, take, committed=step.commit, **self._who(step))
        await self._settle(step)
        return heard
