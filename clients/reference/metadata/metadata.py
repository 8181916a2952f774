"""Metadata: which topics are needed, the known state of the cluster, and when to send the next request.

Two version numbers match responses to topics: a topic that is added after a request was sent cannot be served by that
request's response (MET-07). Three things determine the time between requests: the age of the metadata, consecutive
failures, and responses without changes although an update was requested (MET-01, -02, -03). If no response arrives for
too long, or a broker requires it, everything except the bootstrap servers is forgotten (KIP-899, KIP-1102).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.common.requests import Message
from clients.reference.config.client_config import ClientConfig
from clients.reference.errors import SendError
from clients.reference.metadata.topic_metadata import (
    NO_EPOCH,
    NO_TOPIC_ID,
    LeaderEpochs,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from clients.reference.ports import Jitter, Node
from clients.reference.telemetry.trace import (
    LeadershipUpdated,
    MetadataFailed,
    MetadataUpdated,
    Rebootstrapped,
    Trace,
)
from harness.wire.error_table import BY_NAME, KafkaError, error_for

__all__ = ["Metadata", "MetadataRequest", "PartitionMetadata", "TopicMetadata", "TopicPartition"]

RELIABLE_EPOCHS_VERSION = 9  # older responses may contain epochs of an unfinished reassignment (KAFKA-9212)
_REBOOTSTRAP_REQUIRED = BY_NAME["REBOOTSTRAP_REQUIRED"]


@dataclass(frozen=True, slots=True)
class MetadataRequest:
    """What one Metadata request asks for, and the request version that its response satisfies.

    ``topics`` are None for every topic of the cluster.
    """

    topics: tuple[str, ...] | None
    partial: bool
    version: int


class Metadata:
    """The producer's view of the cluster (Metadata and ProducerMetadata in Java).

    ``on_cluster_id`` is called with the cluster's id after every successful response (KIP-78).
    """

    leader_epochs: type[LeaderEpochs] = LeaderEpochs  # a variant of the client replaces it
    allow_auto_topic_creation = True

    def __init__(self, config: ClientConfig, jitter: Jitter, trace: Trace) -> None:
        self._config = config
        self._trace = trace
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._bootstrap = {node.id: node for node in config.bootstrap}
        self.nodes: dict[int, Node] = self._bootstrap
        self.topics: dict[str, TopicMetadata] = {}
        self.topic_errors: dict[str, KafkaError] = {}
        self.topic_names: dict[UUID, str] = {}
        self.cluster_id: str | None = None
        self.controller_id: int | None = None
        self.on_cluster_id: Callable[[str | None], None] = lambda cluster_id: None
        self.update_version = 0
        self.is_asking = False
        self._idle_at_ms: dict[str, int] = {}  # every topic in use, and when it expires without use
        self._new_topics: set[str] = set()
        self._epochs = self.leader_epochs()
        self._led_by: dict[int, list[TopicPartition]] = {}
        self._request_version = 0
        self._need_full = True
        self._need_partial = False
        self._failures = 0
        self._equivalent_answers = 0
        self._backoff_until_ms = 0
        self._equivalent_until_ms = 0
        self._expires_ms = 0
        self._fatal_error: SendError | None = None
        self._attempt_began_ms: int | None = None
        self._rebootstrap_required = False

    # Requested topics and updates

    def add(self, topic: str, now_ms: int) -> None:
        """Record that the application uses a topic. A new topic is requested at once, regardless of the backoff."""
        if topic not in self._idle_at_ms:
            self._new_topics.add(topic)
            self._request_new_topics()
        self._idle_at_ms[topic] = now_ms + self._config.metadata_max_idle_ms

    def _request_new_topics(self) -> None:
        self._request_version += 1
        self._need_partial = True
        self._equivalent_answers = 0
        self._backoff_until_ms = self._equivalent_until_ms = 0

    def request_update(self) -> None:
        """Request a full update as soon as the backoff allows (MET-08)."""
        self._need_full = True

    def request_update_for(self, topic: str) -> None:
        """Request an update for a topic that the last response lacked and a caller waits for (MET-11, -12)."""
        if topic not in self._new_topics:
            self.request_update()

    def next_update_ms(self) -> int:
        """Return when the next request is due. Expired metadata ends the delay after unchanged responses (MET-03)."""
        expires_ms, news_ms, due_ms = self._expires_ms, self._equivalent_until_ms, self._backoff_until_ms
        wanted_ms = 0 if self._need_full or self._need_partial else expires_ms
        if expires_ms < news_ms:
            news_ms = expires_ms
        if wanted_ms > due_ms:
            due_ms = wanted_ms
        return news_ms if news_ms > due_ms else due_ms

    def is_update_due(self, now_ms: int) -> bool:
        """Return whether a Metadata request should be sent before any other request."""
        return not self.is_asking and self.next_update_ms() <= now_ms

    def next_question(self, now_ms: int) -> MetadataRequest:
        """Return the next request: new topics only, if nothing else is due (KIP-526), or all topics in use (MET-10)."""
        partial = self._need_partial and not self._need_full and now_ms < self._expires_ms
        if not partial:
            self._forget_idle_topics(now_ms)
        topics = self._new_topics if partial else self._idle_at_ms.keys()
        self.is_asking = True
        return MetadataRequest(tuple(sorted(topics)), partial, self._request_version)

    def _forget_idle_topics(self, now_ms: int) -> None:
        for topic in [topic for topic, idle_ms in self._idle_at_ms.items() if idle_ms <= now_ms]:
            if topic not in self._new_topics:
                del self._idle_at_ms[topic]

    # Responses

    def failed(self, now_ms: int, reason: str) -> None:
        """Record a failed request. The next one waits longer (MET-02)."""
        self.is_asking = False
        self._backoff_until_ms = now_ms + self._backoff.delay_ms(self._failures)
        self._equivalent_answers = self._equivalent_until_ms = 0
        self._failures += 1
        self._trace(MetadataFailed(at_ms=now_ms, attempts=self._failures, reason=reason))

    def update(self, question: MetadataRequest, body: Message, now_ms: int) -> None:
        """Apply a response. One without brokers counts as a failure and removes nothing (MET-06)."""
        refusal = error_for(int(getattr(body, "error_code", 0)))
        if refusal.code or not body.brokers:
            self._rebootstrap_required |= refusal.code == _REBOOTSTRAP_REQUIRED.code
            self.failed(now_ms, refusal.name if refusal.code else "the response contains no brokers")
            return
        self._answered(question, now_ms)
        self.nodes = {
            broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in body.brokers
        }
        self.cluster_id, self.controller_id = body.cluster_id, body.controller_id
        changed = self._update_topics(question, body)
        self._led_by = self._by_leader()
        self._space_questions(changed, now_ms)
        self.update_version += 1
        self._trace(
            MetadataUpdated(
                at_ms=now_ms, version=self.update_version, topics=len(self.topics), leaders_changed=changed
            )
        )
        self.on_cluster_id(self.cluster_id)

    def _answered(self, question: MetadataRequest, now_ms: int) -> None:
        self.is_asking = False
        self._need_partial = question.version < self._request_version
        if not question.partial:
            self._need_full = False
            self._expires_ms = now_ms + self._config.metadata_max_age_ms
        self._failures = 0
        self._fatal_error = self._attempt_began_ms = None

    def _space_questions(self, changed: bool, now_ms: int) -> None:
        """Delay the next requested update, increasingly if responses bring no changes (MET-03)."""
        self._equivalent_answers = 0 if changed else self._equivalent_answers + 1
        if not self._need_partial:
            self._backoff_until_ms = now_ms + self._backoff.delay_ms(0)
            if self._equivalent_answers:
                self._equivalent_until_ms = now_ms + self._backoff.delay_ms(self._equivalent_answers - 1)

    def _update_topics(self, question: MetadataRequest, body: Message) -> bool:
        """Replace the topics (or add them, for a partial response). Return whether any topic has changed."""
        before = self.topics
        topics = dict(before) if question.partial else {}
        errors = dict(self.topic_errors) if question.partial else {}
        for answer in body.topics:
            if answer.name is None or not self._retains(answer):
                continue
            self._new_topics.discard(answer.name)
            topics.pop(answer.name, None)
            errors.pop(answer.name, None)
            error = error_for(int(answer.error_code))
            if error.code:
                errors[answer.name] = error
                self._need_full |= error.invalid_metadata
            else:
                topics[answer.name] = self._topic(answer, body.__version__)
        self.topics, self.topic_errors = topics, errors
        self.topic_names |= {known.topic_id: name for name, known in topics.items() if known.topic_id}
        self._epochs.retain(self._topics_in_use())
        return topics != before

    def _retains(self, answer: Message) -> bool:
        """Return whether a topic of a response is kept (Metadata#retainTopic)."""
        return True

    def _topics_in_use(self) -> Mapping[str, object]:
        return self._idle_at_ms

    def _topic(self, answer: Message, version: int) -> TopicMetadata:
        topic_id: UUID | None = getattr(answer, "topic_id", None)
        topic_id = None if topic_id == NO_TOPIC_ID else topic_id
        known = self.topics.get(answer.name)
        partitions = {}
        for partition in answer.partitions:
            index = int(partition.partition_index)
            offered = PartitionMetadata(
                None if partition.leader_id < 0 else int(partition.leader_id),
                int(partition.leader_epoch) if version >= RELIABLE_EPOCHS_VERSION else NO_EPOCH,
                tuple(map(int, partition.replica_nodes)),
                tuple(map(int, partition.isr_nodes)),
                tuple(map(int, getattr(partition, "offline_replicas", ()))),
            )
            if not self._epochs.believes((answer.name, index), topic_id, offered.epoch) and known:
                offered = known.partitions.get(index, offered)
            partitions[index] = offered
            self._need_full |= error_for(int(partition.error_code)).invalid_metadata
        return TopicMetadata.of(topic_id, partitions)

    def update_partition_leadership(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node], now_ms: int
    ) -> set[TopicPartition]:
        """Adopt newer leaders from another kind of response, and return the partitions whose leader changed.

        ``leaders`` are (node id, epoch) pairs. ``nodes`` are the brokers in the same response. Unknown partitions,
        epochs that are not newer, and leaders without an address are ignored (MET-09, KIP-951).
        """
        told = self.nodes | {node.id: node for node in nodes}
        moved: dict[TopicPartition, PartitionMetadata] = {}
        for partition, (leader, epoch) in leaders.items():
            known = self.topics.get(partition[0])
            is_newer = leader >= 0 and epoch > self._epochs.newest(partition)
            if known and partition[1] in known.partitions and is_newer and leader in told:
                self._epochs.believes(partition, known.topic_id, epoch)
                moved[partition] = replace(known.partitions[partition[1]], leader=leader, epoch=epoch)
                name = f"{partition[0]}-{partition[1]}"
                self._trace(LeadershipUpdated(at_ms=now_ms, partition=name, leader=leader, epoch=epoch))
        if moved:
            self.nodes = told
            for (topic, index), offered in moved.items():
                known = self.topics[topic]
                partitions = {**known.partitions, index: offered}
                self.topics = {**self.topics, topic: TopicMetadata.of(known.topic_id, partitions)}
            self._led_by = self._by_leader()
        return set(moved)

    def learn_epoch(self, partition: TopicPartition, epoch: int) -> None:
        """Note a leader epoch that another response reported. If it is news, the leader has changed (KIP-320)."""
        known = self.topics.get(partition[0])
        if epoch > self._epochs.newest(partition):
            self._epochs.believes(partition, known.topic_id if known else None, epoch)
            self._need_full = True

    # Fatal errors

    def fail(self, error: SendError) -> None:
        """Store a fatal error for the next caller that waits for metadata (MET-16)."""
        self._fatal_error = error

    def take_fatal_error(self) -> SendError | None:
        """Return and clear the fatal error. The caller must raise it. A successful response clears it too."""
        error, self._fatal_error = self._fatal_error, None
        return error

    # Rebootstrap

    def bootstrap(self, nodes: Iterable[Node]) -> None:
        """Replace the bootstrap servers, and start from them."""
        self._bootstrap = self.nodes = {node.id: node for node in nodes}

    @property
    def is_bootstrap(self) -> bool:
        """Whether only the bootstrap servers are known."""
        return self.nodes is self._bootstrap

    def attempt_begins(self, now_ms: int) -> None:
        """Record an attempt to update. The rebootstrap trigger counts from the first one since the last success."""
        if self._attempt_began_ms is None:
            self._attempt_began_ms = now_ms

    def rebootstrap_at_ms(self) -> int | None:
        """Return the first millisecond at which to rebootstrap, or None if none is scheduled (NET-CON-15)."""
        if self._config.metadata_recovery_strategy != "rebootstrap":
            return None
        if self._rebootstrap_required:
            return 0
        began_ms = self._attempt_began_ms
        trigger_ms = self._config.metadata_recovery_rebootstrap_trigger_ms
        return None if began_ms is None else began_ms + trigger_ms + 1

    def rebootstrap(self, now_ms: int, reason: str) -> None:
        """Forget the cluster. Only the bootstrap servers remain known, and a full update is due."""
        self.nodes = self._bootstrap
        self.topics, self.topic_errors, self._led_by = {}, {}, {}
        self.cluster_id = self.controller_id = None
        self._epochs = self.leader_epochs()
        self._need_full = True
        self._attempt_began_ms = now_ms
        self._rebootstrap_required = False
        self.update_version += 1
        self._trace(Rebootstrapped(at_ms=now_ms, reason=reason))

    def rebootstrap_reason(self) -> str:
        """Return why ``rebootstrap`` is due, for the trace (KIP-899, KIP-1102)."""
        if self._rebootstrap_required:
            return f"a broker answered {_REBOOTSTRAP_REQUIRED.name}"
        return f"no metadata for {self._config.metadata_recovery_rebootstrap_trigger_ms} ms"

    # Queries

    def _by_leader(self) -> dict[int, list[TopicPartition]]:
        led_by: dict[int, list[TopicPartition]] = {}
        for topic, known in self.topics.items():
            for index, partition in known.partitions.items():
                if partition.leader is not None:
                    led_by.setdefault(partition.leader, []).append((topic, index))
        for partitions in led_by.values():
            partitions.sort()
        return led_by

    def current_leader(self, partition: TopicPartition) -> PartitionMetadata:
        """Return the known leader and epoch. The leader is None if it is unknown or has no address."""
        known = self.topics.get(partition[0])
        found = known.partitions.get(partition[1]) if known else None
        if found is None:
            return PartitionMetadata(None, self._epochs.newest(partition))
        return found if found.leader in self.nodes else PartitionMetadata(None, found.epoch)

    def leader_of(self, partition: TopicPartition) -> int | None:
        """Return the node id of a partition's leader, or None if the leader or its address is unknown."""
        known = self.topics.get(partition[0])
        found = known.partitions.get(partition[1]) if known else None
        return found.leader if found and found.leader in self.nodes else None

    def partitions_led_by(self, node_id: int) -> list[TopicPartition]:
        """Return a node's partitions, sorted. Empty if the node leads none or is unknown. Do not modify the list."""
        return self._led_by.get(node_id, [])

    def topic_id(self, topic: str) -> UUID | None:
        """Return a topic's id, or None if the topic is unknown or the cluster did not report an id."""
        known = self.topics.get(topic)
        return known.topic_id if known else None
