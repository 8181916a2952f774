"""A peer that plays a plan on one side: it sends the requests of the steps and records the results.

It does not follow any client's rules. Values that depend on the side (a topic's id, a producer's id, the leader) are
looked up there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from harness.wire.apis import Api
from harness.wire.errors import WireError
from harness.wire.messages import decode_response, encode_request, make, message_class, nested
from harness.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from testkit.fidelity import steps as s
from testkit.fidelity.batches import batch_bytes
from testkit.fidelity.observed import Labels, Plain, plain, plain_log
from testkit.fidelity.sides import Nothing, Side

_NO_ID: Final = UUID(int=0)
_METADATA_VERSION: Final = 12
_COORDINATOR_VERSION: Final = 3
#: An id that no producer of any side has.
_UNKNOWN_PRODUCER: Final = 2**40


@dataclass(frozen=True, slots=True)
class Played:
    """The results of one side: one for each step, and the logs at the end (``label-partition`` -> log)."""

    heard: tuple[Plain, ...]
    logs: dict[str, Plain]


async def play(plan: s.FidelityPlan, side: Side) -> Played:
    """Play ``plan``. Its topics are removed afterwards."""
    player = _Player(plan, side)
    try:
        return await player.play()
    finally:
        for label in player.partitions:
            await side.remove(player.name(label))


class _Player:
    def __init__(self, plan: s.FidelityPlan, side: Side) -> None:
        self.plan = plan
        self.side = side
        self.base_ms = side.now_ms()
        #: All topics that ever existed, with their maximum number of partitions.
        self.partitions = {topic.label: topic.partitions for topic in plan.topics}
        self.labels = Labels({self.name(topic.label): topic.label for topic in plan.topics})
        self.topic_ids: dict[str, UUID] = {}
        self.producer_ids: dict[int, int] = {}
        self.correlation_id = 0

    def name(self, label: str) -> str:
        """Return the brokers' name of a topic. Invalid topic names are used unchanged."""
        return f"{self.plan.name}.{label}" if label.isalnum() else label

    async def play(self) -> Played:
        for topic in self.plan.topics:
            await self.side.create(self.name(topic.label), topic)
            await self.see(topic.label)
        heard = [await self.step(step) for step in self.plan.steps]
        logs = {}
        for label, partitions in self.partitions.items():
            for index in range(partitions):
                if await self.side.leader(self.name(label), index) >= 0:
                    start, data = await self.side.log(self.name(label), index)
                    logs[f"{label}-{index}"] = plain_log(start, data, self.labels, self.base_ms)
        return Played(tuple(heard), logs)

    async def step(self, step: s.Step) -> Plain:
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

    async def see(self, label: str) -> None:
        """Look up and record a topic's id."""
        topic = await self.side.topic_id(self.name(label))
        again = sum(known.split("#")[0] == label for known in self.labels.topic_ids.values())
        self.topic_ids[label] = topic
        self.labels.topic_ids[topic] = f"{label}#{again + 1}"

    # Requests

    async def ask(self, api: int, version: int, node: int, answered: bool = True, **values: Any) -> Plain:
        """Send one request. For a version above kio's highest, send the highest with another number in the header."""
        message = make(message_class(api, min(version, s.HIGHEST[api]), "request"), **values)
        self.correlation_id += 1
        frame = bytearray(encode_request(message, self.correlation_id, "fidelity"))
        frame[6:8] = version.to_bytes(2, "big")
        heard = await self.side.ask(node, bytes(frame), answered=answered)
        if isinstance(heard, Nothing):
            return heard.value
        try:
            correlation_id, answer = decode_response(heard, api, min(version, s.HIGHEST[api]))
        except WireError as error:
            return f"unreadable: {error}"
        if correlation_id != self.correlation_id:
            return f"the answer to request {correlation_id}"
        return {"answer": type(answer).__name__, **plain(answer, self.labels)}

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
            node = await self.side.coordinator(tid)
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
            await self.node(step),
            answered=step.acks != 0,
            transactional_id=step.transactional_id,
            acks=step.acks,
            timeout=timedelta(milliseconds=step.timeout_ms),
            topic_data=tuple(
                make(entry, name=self.name(label), topic_id=self.topic_id(label), partition_data=tuple(parts))
                for label, parts in topics.items()
            ),
        )

    async def node(self, step: s.Produce) -> int:
        if step.node > 0:
            return step.node
        first = step.parts[0]
        leader = await self.side.leader(self.name(first.topic), first.partition)
        if leader < 0:
            leader = await self.side.any_node()
        return leader if step.node == s.LEADER else leader % self.plan.nodes + 1

    def topic_id(self, label: str) -> UUID:
        """Return the last known id of a topic, or an unused id for an unknown topic."""
        if label == "":
            return _NO_ID
        unknown = uuid5(_NO_ID, label)
        self.labels.topic_ids.setdefault(unknown, f"{label}#0") if label not in self.topic_ids else None
        return self.topic_ids.get(label, unknown)
