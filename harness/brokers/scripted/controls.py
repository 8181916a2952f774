"""The controls by which faults and tests change a cluster: topics, leaders, nodes, replicas and responses."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.fetch_sessions import FetchSessions
from harness.brokers.scripted.state import BrokerNode, ClusterState, InjectedError, Settings
from harness.brokers.scripted.topics import NO_LEADER, Partition, Topic, is_valid_name
from harness.model.errors import UsageError, unknown
from harness.model.rows import LogRecord


class ClusterControls:
    """Changes to a cluster from outside of Kafka's protocol.

    Methods that take a node, a topic or a partition raise UsageError if it does not exist.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    @property
    def node_ids(self) -> tuple[int, ...]:
        """All nodes, up or not."""
        return tuple(self._state.nodes)

    @property
    def settings(self) -> Settings:
        """The brokers' settings. They may be changed between requests; fetch this property again for each change."""
        self._state.changed()
        return self._state.settings

    # Topics

    def create_topic(
        self,
        topic: str,
        partitions: int,
        config: Mapping[str, str] | None = None,
        replication_factor: int | None = None,
    ) -> None:
        """Create a topic, led by the nodes in turn, with three replicas by default (fewer if there are fewer nodes)."""
        if topic in self._state.topics:
            raise UsageError("topic-exists", "topic {topic!r} exists already", topic=topic)
        if not is_valid_name(topic) or partitions < 1:
            raise UsageError(
                "partition-count",
                "topic {topic!r} with {partitions:partition} is invalid",
                topic=topic,
                partitions=partitions,
            )
        factor = min(3, len(self._state.nodes)) if replication_factor is None else replication_factor
        self._state.add_topic(topic, partitions, config or {}, factor)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic and its log on all brokers at once."""
        found = self._topic(topic)
        del self._state.topics[topic], self._state.topics_by_id[found.topic_id]
        self._state.deleted_topics.append(found)
        self._state.groups.offsets.forget_topic(topic)
        self._state.changed()

    def has_topic(self, topic: str) -> bool:
        """Return whether the topic exists."""
        return topic in self._state.topics

    def recreate_topic(self, topic: str) -> None:
        """Delete a topic if it exists, and create it again with a new id, empty logs and leader epoch 0."""
        if self.has_topic(topic):
            self.delete_topic(topic)
        old = next((gone for gone in reversed(self._state.deleted_topics) if gone.name == topic), None)
        if old is None:
            raise unknown("topic", topic, self._state.topics)
        factor = max(len(partition.replicas) for partition in old.partitions)
        self._state.add_topic(topic, len(old.partitions), old.settings, factor)

    def add_partitions(self, topic: str, total: int) -> None:
        """Increase a topic to ``total`` partitions."""
        found = self._topic(topic)
        if total < len(found.partitions):
            raise UsageError(
                "topic-cannot-shrink",
                "topic {topic!r} has {count:partition}; it cannot shrink to {total}",
                topic=topic,
                count=len(found.partitions),
                total=total,
            )
        self._state.grow(found, total, max(len(partition.replicas) for partition in found.partitions))

    def alter_config(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Change settings of a topic. None resets one to the brokers' default."""
        found = self._topic(topic)
        kept = {**found.settings, **changes}
        found.settings = {name: value for name, value in kept.items() if value is not None}
        found.config = self._state.config_of(found.settings)
        self._advance_all()

    def config(self, topic: str) -> Mapping[str, str]:
        """Return the settings that a topic was given, without the brokers' defaults."""
        return dict(self._topic(topic).settings)

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        return len(self._topic(topic).partitions)

    def read_log(self, topic: str, *, deleted: bool = False) -> list[LogRecord]:
        """Return every record of a topic, ordered by partition and offset, or none if the topic is deleted.

        With ``deleted``, the records of deleted topics of that name come first, and trimmed records are included.
        """
        gone = [each for each in self._state.deleted_topics if deleted and each.name == topic]
        here = [self._state.topics[topic]] if topic in self._state.topics else []
        return [
            row
            for found in gone + here
            for partition in found.partitions
            for row in partition.log.rows(topic, partition.index, deleted=deleted)
        ]

    def is_stable(self, topic: str) -> bool:
        """Return whether no transaction of the topic is open: each partition is stable up to its high watermark."""
        logs = [partition.log for partition in self._topic(topic).partitions]
        return all(log.last_stable_offset == log.high_watermark for log in logs)

    def log_batches(self, topic: str, partition: int) -> list[bytes]:
        """Return the batches of a partition as they are stored."""
        return [batch.data for batch in self._partition(topic, partition).log.batches]

    def trim(self, topic: str, partition: int, before_offset: int | None = None) -> None:
        """Apply DeleteRecords: the log starts at ``before_offset``, or at the high watermark if None."""
        log = self._partition(topic, partition).log
        log.delete_records(log.high_watermark if before_offset is None else before_offset)

    # Nodes, leaders, replicas

    def leader(self, topic: str, partition: int) -> tuple[int, int]:
        """Return (leader, leader epoch). The leader is -1 if there is none."""
        found = self._partition(topic, partition)
        return found.leader, found.leader_epoch

    def move_leader(self, topic: str, partition: int, node_id: int, now_ns: int) -> None:
        """Make a live node the leader, in a new epoch. A node without a replica takes over the old leader's."""
        node = self._state.nodes.get(node_id)
        found = self._partition(topic, partition)
        if node is None or not node.is_alive:
            raise UsageError("node-cannot-lead", "node {node_id} cannot lead: it is not up", node_id=node_id)
        if found.leader == node_id:
            return
        if node_id not in found.replicas:
            replaced = found.leader if found.leader != NO_LEADER else found.replicas[0]
            found.replicas = [node_id if replica == replaced else replica for replica in found.replicas]
            found.isr = [node_id if replica == replaced else replica for replica in found.isr]
        found.join_isr(node_id)
        found.lead(node_id)
        self._state.changed()

    def kill(self, node_id: int, now_ns: int) -> None:
        """Kill the broker. Its partitions move to in-sync replicas, or have no leader until it restarts.

        The caller has to end its connections.
        """
        node = self._node(node_id)
        node.is_alive, node.paused_until_ns = False, None
        node.producer_ids_left = 0
        node.fetch_sessions = FetchSessions()
        alive = self._state.alive()
        for topic, partition in self._state.partitions():
            was_leader = partition.leader == node_id
            partition.leave_isr(node_id)
            if was_leader:
                following = partition.next_leader(alive)
                if following == NO_LEADER and topic.config.unclean_election:
                    following = next((each for each in partition.replicas if each in alive), NO_LEADER)
                if following == NO_LEADER:
                    partition.lose_leader()
                else:
                    partition.lead_uncleanly(following)
            partition.advance(topic.config)
        self._state.changed()

    def restart(self, node_id: int, now_ns: int) -> None:
        """Restart the broker with its log. It leads the partitions that have no leader and follows the others."""
        self._node(node_id).is_alive = True
        for topic, partition in self._state.partitions():
            if partition.leader == NO_LEADER and node_id in partition.isr:
                partition.lead(node_id)
            self._catch_up(partition)
            partition.advance(topic.config)
        self._state.changed()

    def pause(self, node_id: int, until_ns: int | None = None) -> None:
        """Make the broker stop reading and answering until :meth:`resume`. It still accepts connections.

        Requests get an answer with ``again``, to be submitted at ``until_ns`` or a little later. Leaders wait for its
        replicas, so that acks=all reaches the request's timeout.
        """
        self._node(node_id).paused_until_ns = until_ns or 0
        for _, partition in self._state.partitions():
            if node_id in partition.isr and partition.leader != node_id:
                partition.lagging[node_id] = partition.log.log_end_offset

    def resume(self, node_id: int) -> None:
        """Undo :meth:`pause`. The node's replicas catch up at once."""
        self._node(node_id).paused_until_ns = None
        self._state.agenda.resume(node_id)
        for _, partition in self._state.partitions():
            partition.lagging.pop(node_id, None)
        self._advance_all()

    def drop_from_isr(self, node_id: int) -> None:
        """Remove the node from the ISR of every partition that it follows, until :meth:`return_to_isr`."""
        self._node(node_id)
        self._state.out_of_sync.add(node_id)
        for topic, partition in self._state.partitions():
            if partition.leader != node_id:
                partition.leave_isr(node_id)
                partition.advance(topic.config)
        self._state.changed()

    def return_to_isr(self, node_id: int) -> None:
        """Make the node catch up with every partition that it follows."""
        self._node(node_id)
        self._state.out_of_sync.discard(node_id)
        for _, partition in self._state.partitions():
            self._catch_up(partition)
        self._advance_all()

    # Responses

    def expire_producers(self, now_ns: int) -> None:
        """Make every partition forget every producer, as after ``producer.id.expiration.ms``."""
        for _, partition in self._state.partitions():
            partition.log.producer_state.expire_all()

    def set_throttle_ms(self, api: int, throttle_ms: int, by: Hashable = "") -> None:
        """Set the throttle time of an API's responses, during which the connection is not read. 0 ends it.

        Several callers may set one, each with its own ``by``. The earliest one is in force until it ends.
        """
        if throttle_ms:
            self._state.throttles_ms[int(api), by] = throttle_ms
        else:
            self._state.throttles_ms.pop((int(api), by), None)

    def inject_error(
        self,
        api: int,
        code: int,
        count: int,
        partition: int | None = None,
        after_append: bool = False,
        by: Hashable = "",
        skip: int = 0,
    ) -> None:
        """Set ``code`` in the next ``count`` responses of an API, for one ``partition`` or for all in the response.

        The first ``skip`` requests are answered as usual. APIs about groups as a whole have no partitions. With
        ``after_append``, Produce appends first. A count of 0 removes the error again.
        Errors set with another ``by`` stay in force.
        """
        self._state.injected = [
            error
            for error in self._state.injected
            if (error.by, error.api, error.code, error.partition) != (by, int(api), code, partition)
        ]
        if code not in {int(each) for each in ErrorCode}:
            raise UsageError("unknown-error-code", "{code} is not an error code of Kafka", code=code)
        if count > 0:
            self._state.injected.append(
                InjectedError(int(api), ErrorCode(code), count, partition, after_append, by, skip)
            )

    def _catch_up(self, partition: Partition) -> None:
        """Return every replica that is able to the ISR, if the partition has a leader."""
        if partition.leader != NO_LEADER:
            for node_id in partition.replicas:
                if self._state.nodes[node_id].is_alive and node_id not in self._state.out_of_sync:
                    partition.join_isr(node_id)

    def _advance_all(self) -> None:
        for topic, partition in self._state.partitions():
            partition.advance(topic.config)
        self._state.changed()

    def _node(self, node_id: int) -> BrokerNode:
        if node_id not in self._state.nodes:
            raise UsageError(
                "unknown-node",
                "there is no node {node_id}; there are {nodes}",
                node_id=node_id,
                nodes=tuple(self._state.nodes),
            )
        return self._state.nodes[node_id]

    def _topic(self, topic: str) -> Topic:
        if topic not in self._state.topics:
            raise unknown("topic", topic, self._state.topics)
        return self._state.topics[topic]

    def _partition(self, topic: str, partition: int) -> Partition:
        partitions = self._topic(topic).partitions
        if not 0 <= partition < len(partitions):
            raise UsageError(
                "unknown-partition",
                "topic {topic!r} has no partition {partition}",
                topic=topic,
                partition=partition,
            )
        return partitions[partition]
