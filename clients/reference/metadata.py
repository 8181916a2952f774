"""Metadata: which topics are wanted, what is known of them, and when to ask again.

Two version numbers keep requests and answers apart: a topic that is added after a request left cannot be served by
that request's answer (MET-07). Three things space the questions: the age of the answer, failures in a row, and
answers that told nothing new although an update was asked for (MET-01, -02, -03).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from clients.reference.backoff import ExponentialBackoff
from clients.reference.config import ProducerConfig
from clients.reference.ports import Jitter, Node
from clients.reference.requests import Message
from clients.reference.trace import MetadataFailed, MetadataUpdated, Trace
from harness.wire.error_table import KafkaError, error_for

NO_TOPIC_ID = UUID(int=0)
TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """Who leads a partition; ``leader`` is None while nobody is known to."""

    leader: int | None
    epoch: int


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic's partitions by index; ``available`` are those with a leader, in order."""

    topic_id: UUID | None
    partitions: Mapping[int, PartitionMetadata]
    available: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MetadataQuestion:
    """What one Metadata request asks, and which wishes its answer may satisfy."""

    topics: tuple[str, ...]
    partial: bool
    version: int


class Metadata:
    """The producer's view of the cluster (Metadata and ProducerMetadata in Java)."""

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        self._config = config
        self._trace = trace
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self.nodes: dict[int, Node] = {node.id: node for node in config.bootstrap}
        self.topics: dict[str, TopicMetadata] = {}
        self.topic_errors: dict[str, KafkaError] = {}
        self.topic_names: dict[UUID, str] = {}
        self.update_version = 0
        self._idle_at_ms: dict[
            str, int
        ] = {}  # every wanted topic, and when it will have been idle for too long
        self._new_topics: set[str] = set()
        self._newest_epochs: dict[TopicPartition, tuple[UUID | None, int]] = {}
        self._led_by: dict[int, list[TopicPartition]] = {}
        self._request_version = 0
        self._need_full = True
        self._need_partial = False
        self._failures = 0
        self._equivalent_answers = 0
        self._not_before_ms = 0
        self._expires_ms = 0

    # what is wanted

    def add(self, topic: str, now_ms: int) -> None:
        """The application uses a topic; a new one is asked for at once, whatever the backoff."""
        if topic not in self._idle_at_ms:
            self._new_topics.add(topic)
            self._request_version += 1
            self._need_partial = True
            self._equivalent_answers = 0
            self._not_before_ms = 0
        self._idle_at_ms[topic] = now_ms + self._config.metadata_max_idle_ms

    def request_update(self) -> None:
        """Ask for everything again as soon as the backoff allows (MET-08)."""
        self._need_full = True

    def request_update_for(self, topic: str) -> None:
        """Somebody waits for a topic that the last answer did not have (MET-11, -12)."""
        if topic not in self._new_topics:
            self.request_update()

    def next_update_ms(self) -> int:
        """When the next question is due."""
        wanted_ms = 0 if self._need_full or self._need_partial else self._expires_ms
        return max(wanted_ms, self._not_before_ms)

    def next_question(self, now_ms: int) -> MetadataQuestion:
        """New topics alone while nothing else is due (KIP-526), else everything that is still in use (MET-10)."""
        partial = self._need_partial and not self._need_full and now_ms < self._expires_ms
        if not partial:
            for topic in [topic for topic, idle_ms in self._idle_at_ms.items() if idle_ms <= now_ms]:
                if topic not in self._new_topics:
                    del self._idle_at_ms[topic]
        topics = self._new_topics if partial else self._idle_at_ms.keys()
        return MetadataQuestion(tuple(sorted(topics)), partial, self._request_version)

    # what came back

    def failed(self, now_ms: int, reason: str) -> None:
        """A question without an answer: the next one waits longer (MET-02)."""
        self._not_before_ms = now_ms + self._backoff.delay_ms(self._failures)
        self._failures += 1
        self._trace(MetadataFailed(at_ms=now_ms, attempts=self._failures, reason=reason))

    def update(self, question: MetadataQuestion, body: Message, now_ms: int) -> None:
        """Take an answer over; one without brokers is a failure and wipes nothing (MET-06)."""
        refusal = error_for(int(getattr(body, "error_code", 0)))
        if refusal.code or not body.brokers:
            self.failed(now_ms, refusal.name if refusal.code else "the answer names no broker")
            return
        self._need_partial = question.version < self._request_version
        if not question.partial:
            self._need_full = False
            self._expires_ms = now_ms + self._config.metadata_max_age_ms
        self._failures = 0
        self.nodes = {
            broker.node_id: Node(broker.node_id, broker.host, broker.port) for broker in body.brokers
        }
        changed = self._update_topics(question, body)
        self._led_by = self._by_leader()
        self._equivalent_answers = 0 if changed else self._equivalent_answers + 1
        if self._equivalent_answers and not self._need_partial:
            self._not_before_ms = now_ms + self._backoff.delay_ms(self._equivalent_answers - 1)
        self.update_version += 1
        self._trace(
            MetadataUpdated(
                at_ms=now_ms, version=self.update_version, topics=len(self.topics), leaders_changed=changed
            )
        )

    def _update_topics(self, question: MetadataQuestion, body: Message) -> bool:
        """Replace (or, for a partial answer, add) topics; tells whether any leadership is news."""
        before = self.topics
        topics = dict(before) if question.partial else {}
        errors = dict(self.topic_errors) if question.partial else {}
        for answer in body.topics:
            if answer.name is None:
                continue
            self._new_topics.discard(answer.name)
            topics.pop(answer.name, None)
            errors.pop(answer.name, None)
            error = error_for(int(answer.error_code))
            if error.code:
                errors[answer.name] = error
                self._need_full |= error.invalid_metadata
            else:
                topics[answer.name] = self._topic(answer)
        self.topics, self.topic_errors = topics, errors
        self.topic_names |= {known.topic_id: name for name, known in topics.items() if known.topic_id}
        return topics != before

    def _topic(self, answer: Message) -> TopicMetadata:
        topic_id: UUID | None = getattr(answer, "topic_id", None)
        topic_id = None if topic_id == NO_TOPIC_ID else topic_id
        partitions = {}
        for partition in answer.partitions:
            offered = PartitionMetadata(
                None if partition.leader_id < 0 else int(partition.leader_id),
                getattr(partition, "leader_epoch", -1),
            )
            partitions[int(partition.partition_index)] = self._newer(
                (answer.name, partition.partition_index), topic_id, offered
            )
            self._need_full |= error_for(int(partition.error_code)).invalid_metadata
        available = sorted(index for index, known in partitions.items() if known.leader is not None)
        return TopicMetadata(topic_id, partitions, tuple(available))

    def _newer(
        self, partition: TopicPartition, topic_id: UUID | None, offered: PartitionMetadata
    ) -> PartitionMetadata:
        """An older leader epoch of the same topic is refused; a recreated topic begins anew (MET-04, -05)."""
        seen = self._newest_epochs.get(partition)
        if seen and seen[0] == topic_id and 0 <= offered.epoch < seen[1]:
            known = self.topics.get(partition[0])
            return known.partitions.get(partition[1], offered) if known else offered
        self._newest_epochs[partition] = (topic_id, offered.epoch)
        return offered

    def _by_leader(self) -> dict[int, list[TopicPartition]]:
        led_by: dict[int, list[TopicPartition]] = {}
        for topic, known in self.topics.items():
            for index, partition in known.partitions.items():
                if partition.leader is not None:
                    led_by.setdefault(partition.leader, []).append((topic, index))
        for partitions in led_by.values():
            partitions.sort()
        return led_by

    # what is known

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The node id of a partition's leader, if the node's address is known too."""
        known = self.topics.get(partition[0])
        found = known.partitions.get(partition[1]) if known else None
        return found.leader if found and found.leader in self.nodes else None

    def partitions_led_by(self, node_id: int) -> list[TopicPartition]:
        return self._led_by.get(node_id, [])

    def topic_id(self, topic: str) -> UUID | None:
        known = self.topics.get(topic)
        return known.topic_id if known else None
