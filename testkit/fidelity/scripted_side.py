"""The scripted brokers as a side. The caller controls their clock, so that both sides use the same time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from harness.brokers.scripted.answer import NS_PER_MS, Answer
from harness.brokers.scripted.apis.coordinators import coordinator
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.addresses import Address
from harness.model.dice import Dice
from harness.wire.frames import SIZE_BYTES
from harness.wire.records import end_transaction_marker
from testkit.fidelity import steps as s
from testkit.fidelity.sides import Heard, Nothing

_NONE: Final = -1
_MARKER_LATER_MS: Final = 60


class ScriptedSide:
    """A scripted cluster that advertises ``addresses``. ``start_ms`` is its start time, ms since 1970."""

    def __init__(self, version: str, addresses: Mapping[int, Address], start_ms: int) -> None:
        self.cluster = ScriptedCluster(
            version, addresses, Dice(start_ms, "fidelity/scripted"), wall_ms_at_zero=start_ms
        )
        self.cluster.settings.offsets_topic_num_partitions = 1
        self._start_ms = start_ms
        self._now_ns = 0
        self._connections = 0
        self._begun: dict[int, Answer] = {}
        self._transactions: dict[str, tuple[int, set[tuple[str, int]]]] = {}

    def now_ms(self) -> int:
        """Return the brokers' wall clock, ms since 1970."""
        return self._start_ms + self._now_ns // NS_PER_MS

    async def ask(self, node_id: int, frame: bytes, *, answered: bool) -> Heard:
        """Send each request on its own connection, so that a closed one has no effect on later requests."""
        self._connections += 1
        if not self.cluster.accepts(node_id):
            return Nothing.CLOSED
        answer = self.cluster.handle(node_id, self._connections, frame[SIZE_BYTES:], self._now_ns)
        while answer.waiting is not None and answer.waiting.answer is None:
            due_ns = self.cluster.due_ns
            if due_ns is None:
                return Nothing.SILENCE
            self._pass_to(due_ns)
        if answer.waiting is not None and answer.waiting.answer is not None:
            answer = answer.waiting.answer
        self._now_ns = max(self._now_ns, answer.at_ns)
        return _heard(answer)

    async def begin(self, number: int, node_id: int, frame: bytes) -> None:
        """Send a request. What waits is asked again by :meth:`collect`."""
        self._connections += 1
        self._begun[number] = Answer(None, self._now_ns, close=True)
        if self.cluster.accepts(node_id):
            self._begun[number] = self.cluster.handle(
                node_id, self._connections, frame[SIZE_BYTES:], self._now_ns
            )

    async def collect(self, numbers: frozenset[int], expected: frozenset[int] | None) -> Mapping[int, Heard]:
        """Return the present responses. The scripted brokers need no time."""
        self.cluster.wake(self._now_ns)
        found = {}
        for number in numbers:
            answer = self._begun[number]
            if answer.waiting is None:
                found[number] = _heard(answer)
            elif answer.waiting.answer is not None:
                found[number] = _heard(answer.waiting.answer)
        return found

    async def abandon(self) -> None:
        """Forget all begun requests."""
        self._begun.clear()

    async def wait(self, duration_ms: int) -> None:
        """Move the clock."""
        self._pass_to(self._now_ns + duration_ms * NS_PER_MS)

    def _pass_to(self, now_ns: int) -> None:
        self._now_ns = max(self._now_ns, now_ns)
        self.cluster.wake(self._now_ns)

    # Transactions

    async def settle_transaction(self, transactional_id: str) -> None:
        """Return at once: the scripted brokers write markers without a delay."""

    async def begin_transaction(self, transactional_id: str) -> int:
        """Return a producer id. The batches of plans that read are stored as they are, without a coordinator."""
        producer_id = self.cluster.state.generate_producer_id(1)
        self._transactions[transactional_id] = producer_id, set()
        return producer_id

    async def append_transactional(
        self, transactional_id: str, topic: str, partition: int, batch: bytes
    ) -> int:
        """Store a batch, and return its base offset."""
        self._transactions[transactional_id][1].add((topic, partition))
        [offset] = self.cluster.fill(topic, partition, [batch], self._now_ns)
        return offset

    async def end_transaction(self, transactional_id: str, *, commit: bool) -> None:
        """Store the end markers. They are a little later than every record of the plan."""
        await self.wait(_MARKER_LATER_MS)
        producer_id, partitions = self._transactions.pop(transactional_id)
        for topic, partition in sorted(partitions):
            marker = end_transaction_marker(
                "COMMIT" if commit else "ABORT", producer_id, 0, self.now_ms(), coordinator_epoch=0
            )
            self.cluster.fill(topic, partition, [marker], self._now_ns)

    async def create(self, topic: str, spec: s.TopicSpec) -> None:
        """Create a topic with a replica on every node, led by the nodes in turn."""
        self.cluster.create_topic(topic, spec.partitions, spec.config, len(self.cluster.node_ids))

    async def apply(self, fault: s.Fault, topic: str) -> None:
        """Apply the fault through the controls of the scripted cluster."""
        cluster = self.cluster
        match fault:
            case s.DeleteTopic():
                cluster.delete_topic(topic)
            case s.RecreateTopic():
                self._recreate(topic)
            case s.AddPartitions():
                cluster.add_partitions(topic, fault.total)
            case s.AlterConfig():
                cluster.alter_config(topic, {fault.name: fault.value})
            case s.Trim():
                self._trim(topic, fault)
            case s.MoveLeader():
                cluster.move_leader(topic, fault.partition, fault.node, self._now_ns)
            case s.Pause():
                cluster.pause(fault.node)
            case s.Resume():
                cluster.resume(fault.node)
            case s.Stop():
                cluster.kill(fault.node, self._now_ns)
            case s.Start():
                cluster.restart(fault.node, self._now_ns)

    def _recreate(self, topic: str) -> None:
        """Delete and create a topic, so that requests that wait learn the first before the second."""
        if self.cluster.has_topic(topic):
            self.cluster.delete_topic(topic)
            self.cluster.wake(self._now_ns)
        self.cluster.recreate_topic(topic)

    def _trim(self, topic: str, fault: s.Trim) -> None:
        """Apply DeleteRecords, which is rejected for a topic that is only compacted, and beyond the high watermark."""
        found = self.cluster.state.topics[topic]
        log = found.partitions[fault.partition].log
        if (
            "delete" in found.settings.get("cleanup.policy", "delete")
            and fault.before_offset <= log.high_watermark
        ):
            self.cluster.trim(
                topic, fault.partition, fault.before_offset if fault.before_offset >= 0 else None
            )

    async def leader(self, topic: str, partition: int) -> int:
        """Return the leader's node, or -1 if there is no leader or no such partition."""
        if not self.cluster.has_topic(topic) or partition not in range(self.cluster.partition_count(topic)):
            return _NONE
        return self.cluster.leader(topic, partition)[0]

    async def topic_id(self, topic: str) -> UUID:
        """Return the id of an existing topic."""
        return self.cluster.state.topics[topic].topic_id

    async def coordinator(self, key: str, key_type: int) -> int:
        """Return the node that coordinates a group or a transactional id."""
        return coordinator(self.cluster.state, key, key_type)

    async def any_node(self) -> int:
        """Return the first node that is up."""
        return next(node_id for node_id in self.cluster.node_ids if self.cluster.accepts(node_id))

    async def log(self, topic: str, partition: int) -> tuple[int, bytes]:
        """Return (log start offset, the stored batches from there on)."""
        start = self.cluster.state.topics[topic].partitions[partition].log.log_start_offset
        self.cluster.read_log(topic)  # checks that all appended records can be read
        return start, b"".join(self.cluster.log_batches(topic, partition))

    async def remove(self, topic: str) -> None:
        """Delete a topic if it exists."""
        if self.cluster.has_topic(topic):
            self.cluster.delete_topic(topic)


def _heard(answer: Answer) -> Heard:
    if answer.frame is not None:
        return answer.frame[SIZE_BYTES:]
    return Nothing.CLOSED if answer.close else Nothing.SILENCE
