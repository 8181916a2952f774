"""Play a plan on one side: send the requests of its steps, apply its faults, and record the results.

The peer does not follow any client's rules. Values that depend on the side (a topic's id, a producer's id, the leader)
are looked up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested
from harness.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from testkit.fidelity import steps as s
from testkit.fidelity.batches import batch_bytes
from testkit.fidelity.group_steps import GroupStep
from testkit.fidelity.membership import Membership
from testkit.fidelity.observed import Plain, plain_log
from testkit.fidelity.peer import Peer
from testkit.fidelity.reading import Reading
from testkit.fidelity.reading_steps import ReadingStep
from testkit.fidelity.sides import Side
from testkit.fidelity.transacting import Transacting
from testkit.fidelity.transaction_steps import TransactionStep

#: An id that no producer of any side has.
_UNKNOWN_PRODUCER: Final = 2**40

Arrivals = Sequence[frozenset[int]]
"""For each step, the steps whose requests are answered when it was played."""


@dataclass(frozen=True, slots=True)
class Played:
    """The results of one side: one for each step, and the logs at the end (``label-partition`` -> log).

    ``late`` are the responses to requests that waited, by the index of their step, with the step that ended the wait.
    """

    heard: tuple[Plain, ...]
    logs: dict[str, Plain]
    late: dict[int, Plain] = field(default_factory=dict)
    arrivals: Arrivals = ()


async def play(plan: s.FidelityPlan, side: Side, expected: Arrivals | None = None) -> Played:
    """Play ``plan``. Its topics are removed afterwards.

    ``expected`` is when responses arrived on the other side. A side that needs time to answer waits for them.
    """
    player = _Player(plan, side)
    try:
        return await player.play(expected)
    finally:
        await side.abandon()
        for label in player.partitions:
            await side.remove(player.name(label))


class _Player(Peer):
    def __init__(self, plan: s.FidelityPlan, side: Side) -> None:
        super().__init__(plan, side)
        #: All topics that ever existed, with their maximum number of partitions.
        self.partitions = {topic.label: topic.partitions for topic in plan.topics}
        self.producer_ids: dict[int, int] = {}
        self.reading = Reading(self)
        self.membership = Membership(self)
        self.transacting = Transacting(self, self.membership)

    async def play(self, expected: Arrivals | None) -> Played:
        for topic in self.plan.topics:
            await self.side.create(self.name(topic.label), topic)
            await self.see(topic.label)
        heard: list[Plain] = []
        late: dict[int, Plain] = {}
        arrivals: list[frozenset[int]] = []
        for index, step in enumerate(self.plan.steps):
            self.index = index
            heard.append(await self.step(step))
            arrived = await self.collect(None if expected is None else expected[index])
            arrivals.append(frozenset(arrived))
            for asked, answer in arrived.items():
                if asked == index:
                    heard[index] = answer
                else:
                    late[asked] = {"after step": index, "response": answer}
        return Played(tuple(heard), await self.logs(), late, tuple(arrivals))

    async def logs(self) -> dict[str, Plain]:
        logs = {}
        for label, partitions in self.partitions.items():
            for index in range(partitions):
                if await self.side.leader(self.name(label), index) >= 0:
                    start, data = await self.side.log(self.name(label), index)
                    logs[f"{label}-{index}"] = plain_log(start, data, self.labels, self.base_ms)
        return logs

    async def step(self, step: s.Step) -> Plain:
        if isinstance(step, ReadingStep):
            return await self.reading.step(step)
        if isinstance(step, GroupStep):
            return await self.membership.step(step)
        if isinstance(step, TransactionStep):
            return await self.transacting.step(step)
        match step:
            case s.ApiVersions():
                return await self.api_versions(step)
            case s.Metadata():
                return await self.metadata(step)
            case s.InitProducerId():
                return await self.init_producer_id(step)
            case s.FindCoordinator():
                return await self.find_coordinator(step)
            case s.Produce():
                return await self.produce(step)
            case _:
                await self.fault(step)
                return None

    async def fault(self, fault: s.Fault) -> None:
        label = getattr(fault, "topic", "")
        await self.side.apply(fault, self.name(label))
        if isinstance(fault, s.AddPartitions):
            self.partitions[label] = max(self.partitions[label], fault.total)
        if isinstance(fault, s.RecreateTopic):
            await self.see(label)

    # Requests

    async def api_versions(self, step: s.ApiVersions) -> Plain:
        return await self.ask(
            Api.API_VERSIONS,
            step.version,
            step.node,
            client_software_name=step.software_name,
            client_software_version=step.software_version,
        )

    async def metadata(self, step: s.Metadata) -> Plain:
        entry = nested(message_class(Api.METADATA, step.version, "request"), "MetadataRequestTopic")
        asked: tuple[Any, ...] | None = None
        if step.topics is not None:
            asked = tuple(
                make(
                    entry,
                    topic_id=self.topic_id(label) if step.by_id else None,
                    name=None if step.by_id else self.name(label),
                )
                for label in step.topics
            )
        elif step.version == 0:
            asked = ()
        heard = await self.ask(
            Api.METADATA,
            step.version,
            step.node,
            topics=asked,
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        if step.topics is None and isinstance(heard, dict):
            ours = {topic.label for topic in self.plan.topics}
            heard["topics"] = {name: topic for name, topic in heard["topics"].items() if name in ours}
        return heard

    async def init_producer_id(self, step: s.InitProducerId) -> Plain:
        tid = None if step.transactional_id is None else f"{self.plan.name}.{step.transactional_id}"
        node = 1
        if tid:
            node = await self.side.coordinator(tid, 1)
            if not step.at_coordinator:
                node = node % self.plan.nodes + 1
        producer_id, epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        if step.expected is not None:
            whose, epoch = step.expected
            producer_id = self.producer_ids.get(whose, _UNKNOWN_PRODUCER)
        heard = await self.ask(
            Api.INIT_PRODUCER_ID,
            step.version,
            node,
            transactional_id="" if step.transactional_id == "" else tid,
            transaction_timeout=timedelta(milliseconds=step.timeout_ms),
            producer_id=producer_id,
            producer_epoch=epoch,
            enable2_pc=False,
            keep_prepared_txn=False,
        )
        if isinstance(heard, dict) and heard["producer_id"] != "none":
            ids = {label: known for known, label in self.labels.producers.items()}
            self.producer_ids[step.producer] = ids[heard["producer_id"]]
        return heard

    async def find_coordinator(self, step: s.FindCoordinator) -> Plain:
        keys = tuple(f"{self.plan.name}.{key}" if key else "" for key in step.keys)
        heard = await self.ask(
            Api.FIND_COORDINATOR,
            step.version,
            step.node,
            key=keys[0],
            key_type=step.key_type,
            coordinator_keys=keys,
        )
        if isinstance(heard, dict):
            for each in (heard, *heard.get("coordinators", ())):
                if each.get("node_id", -1) >= 0:
                    # The sides may choose different nodes.
                    each.update(node_id="a node", host="a host", port="a port")
        return heard

    async def produce(self, step: s.Produce) -> Plain:
        known = message_class(Api.PRODUCE, min(step.version, s.HIGHEST[Api.PRODUCE]), "request")
        topics: dict[str, list[Any]] = {}
        for part in step.parts:
            producer = part.batch.producer
            producer_id = self.producer_ids.get(-1 if producer is None else producer, _UNKNOWN_PRODUCER)
            data = make(
                nested(known, "PartitionProduceData"),
                index=part.partition,
                records=batch_bytes(part.batch, producer_id, self.base_ms),
            )
            topics.setdefault(part.topic, []).append(data)
        entry = nested(known, "TopicProduceData")
        return await self.ask(
            Api.PRODUCE,
            step.version,
            await self.leader_node(step.node, step.parts[0].topic, step.parts[0].partition),
            answered=step.acks != 0,
            transactional_id=step.transactional_id,
            acks=step.acks,
            timeout=timedelta(milliseconds=step.timeout_ms),
            topic_data=tuple(
                make(entry, name=self.name(label), topic_id=self.topic_id(label), partition_data=tuple(parts))
                for label, parts in topics.items()
            ),
        )
