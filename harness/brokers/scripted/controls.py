"""The handles by which faults, and tests, change a cluster: topics, leaders, nodes, replicas, and what is answered."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.state import BrokerNode, ClusterState, InjectedError, Settings
from harness.brokers.scripted.topics import NO_LEADER, Partition, Topic, is_valid_name
from harness.model.errors import UsageError, unknown
from harness.model.rows import LogRecord


class ClusterControls:
    """What can be done to a cluster from outside of Kafka's protocol.

    Methods that name a node, a topic or a partition raise UsageError where there is none.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Every node, dead or alive."""
        return tuple(self._state.nodes)

    @property
    def settings(self) -> Settings:
        """The brokers' settings, to be changed at will between requests; got anew for each change."""
        self._state.changed()
        return self._state.settings

    # topics

    def create_topic(
        self,
        topic: str,
        partitions: int,
        config: Mapping[str, str] | None = None,
        replication_factor: int | None = None,
    ) -> None:
        """A new topic, led by the nodes in turn. Three replicas if there are so many nodes, unless told otherwise."""
        if topic in self._state.topics:
            raise UsageError(f"topic {topic!r} exists already")
        if not is_valid_name(topic) or partitions < 1:
            raise UsageError(f"there can be no topic {topic!r} of {partitions} partitions")
        factor = min(3, len(self._state.nodes)) if replication_factor is None else replication_factor
        self._state.add_topic(topic, partitions, config or {}, factor)

    def delete_topic(self, topic: str) -> None:
        """The topic and its log are gone for everybody at once."""
        found = self._topic(topic)
        del self._state.topics[topic], self._state.topics_by_id[found.topic_id]
        self._state.deleted_topics.append(found)
        self._state.changed()

    def has_topic(self, topic: str) -> bool:
        """Whether there is such a topic now."""
        return topic in self._state.topics

    def recreate_topic(self, topic: str) -> None:
        """Delete a topic, if it is still there, and create it again as it was: another id, empty logs, epoch 0."""
        if self.has_topic(topic):
            self.delete_topic(topic)
        old = next((gone for gone in reversed(self._state.deleted_topics) if gone.name == topic), None)
        if old is None:
            raise unknown("topic", topic, self._state.topics)
        factor = max(len(partition.replicas) for partition in old.partitions)
        self._state.add_topic(topic, len(old.partitions), old.settings, factor)

    def add_partitions(self, topic: str, total: int) -> None:
        """Let a topic grow to ``total`` partitions."""
        found = self._topic(topic)
        if total < len(found.partitions):
            raise UsageError(
                f"topic {topic!r} has {len(found.partitions)} partitions; it cannot shrink to {total}"
            )
        self._state.grow(found, total, max(len(partition.replicas) for partition in found.partitions))

    def alter_config(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None takes one back to the brokers' default."""
        found = self._topic(topic)
        kept = {**found.settings, **changes}
        found.settings = {name: value for name, value in kept.items() if value is not None}
        found.config = self._state.config_of(found.settings)
        self._advance_all()

    def config(self, topic: str) -> Mapping[str, str]:
        """The settings that a topic was given, without the brokers' defaults."""
        return dict(self._topic(topic).settings)

    def partition_count(self, topic: str) -> int:
        """How many partitions a topic has."""
        return len(self._topic(topic).partitions)

    def read_log(self, topic: str, *, deleted: bool = False) -> list[LogRecord]:
        """Every record of a topic, in order of partition and offset; none of a topic that is gone.

        With ``deleted`` also what was in the log and was trimmed, and the records of deleted topics of that name first.
        """
        gone = [each for each in self._state.deleted_topics if deleted and each.name == topic]
        here = [self._state.topics[topic]] if topic in self._state.topics else []
        return [
            row
            for found in gone + here
            for partition in found.partitions
            for row in partition.log.rows(topic, partition.index, deleted=deleted)
        ]

    def log_batches(self, topic: str, partition: int) -> list[bytes]:
        """The batches of a partition as they are stored."""
        return [batch.data for batch in self._partition(topic, partition).log.batches]

    def trim(self, topic: str, partition: int, before_offset: int | None = None) -> None:
        """DeleteRecords: the log begins at ``before_offset``, at the high watermark if None."""
        log = self._partition(topic, partition).log
        log.delete_records(log.high_watermark if before_offset is None else before_offset)

    # nodes, leaders, replicas

    def leader(self, topic: str, partition: int) -> tuple[int, int]:
        """(leader, leader epoch); the leader is -1 where there is none."""
        found = self._partition(topic, partition)
        return found.leader, found.leader_epoch

    def move_leader(self, topic: str, partition: int, node_id: int, now_ns: int) -> None:
        """Make a live node the leader, in a new epoch; one that has no copy gets the old leader's."""
        node = self._state.nodes.get(node_id)
        found = self._partition(topic, partition)
        if node is None or not node.is_alive:
            raise UsageError(f"node {node_id} cannot lead: it is not up")
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
        """The broker's process ends; its partitions go to in-sync replicas, or have no leader until it is back.

        Its connections end as well: that is for whoever holds them to do.
        """
        node = self._node(node_id)
        node.is_alive, node.paused_until_ns = False, None
        node.producer_ids_left = 0
        alive = self._state.alive()
        for topic, partition in self._state.partitions():
            was_leader = partition.leader == node_id
            partition.leave_isr(node_id)
            if was_leader:
                following = partition.next_leader(alive)
                if following == NO_LEADER:
                    partition.lose_leader()
                else:
                    partition.lead(following)
            partition.advance(topic.config)
        self._state.changed()

    def restart(self, node_id: int, now_ns: int) -> None:
        """The broker is back with its log: it leads what has no leader and waited for it, and follows the rest."""
        self._node(node_id).is_alive = True
        for topic, partition in self._state.partitions():
            if partition.leader == NO_LEADER and node_id in partition.isr:
                partition.lead(node_id)
            self._catch_up(partition)
            partition.advance(topic.config)
        self._state.changed()

    def pause(self, node_id: int, until_ns: int | None = None) -> None:
        """The broker neither reads nor answers until :meth:`resume`; connections to it still come about.

        Requests are answered with ``again``, to be handed over at ``until_ns`` or a little later. What it follows waits
        for it: acks=all runs into the request's timeout.
        """
        self._node(node_id).paused_until_ns = until_ns or 0
        for _, partition in self._state.partitions():
            if node_id in partition.isr and partition.leader != node_id:
                partition.lagging[node_id] = partition.log.log_end_offset

    def resume(self, node_id: int) -> None:
        """Undo :meth:`pause`; its copies catch up at once."""
        self._node(node_id).paused_until_ns = None
        for _, partition in self._state.partitions():
            partition.lagging.pop(node_id, None)
        self._advance_all()

    def drop_from_isr(self, node_id: int) -> None:
        """The node falls out of the ISR of everything that it follows, until :meth:`return_to_isr`."""
        self._node(node_id)
        self._state.out_of_sync.add(node_id)
        for topic, partition in self._state.partitions():
            if partition.leader != node_id:
                partition.leave_isr(node_id)
                partition.advance(topic.config)
        self._state.changed()

    def return_to_isr(self, node_id: int) -> None:
        """The node has caught up with everything that it follows."""
        self._node(node_id)
        self._state.out_of_sync.discard(node_id)
        for _, partition in self._state.partitions():
            self._catch_up(partition)
        self._advance_all()

    # what the brokers are made to say

    def expire_producers(self, now_ns: int) -> None:
        """Every partition forgets every producer, as after ``producer.id.expiration.ms``."""
        for _, partition in self._state.partitions():
            partition.log.producer_state.expire_all()

    def set_throttle_ms(self, api: int, throttle_ms: int, by: Hashable = "") -> None:
        """Every answer of an API says this throttle time, and the connection is left unread for as long; 0 ends it.

        Several may want that, each ``by`` its own name: the one that was first has its way until it ends.
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
    ) -> None:
        """The next ``count`` answers of an API say ``code``, for one ``partition`` or for all that they speak about.

        Produce and Metadata alone have partitions. ``after_append``: Produce appends first. A count of 0 takes
        it back; what others want, ``by`` other names, stays.
        """
        self._state.injected = [
            error
            for error in self._state.injected
            if (error.by, error.api, error.code, error.partition) != (by, int(api), code, partition)
        ]
        if code not in {int(each) for each in ErrorCode}:
            raise UsageError(f"{code} is no error code of Kafka's")
        if count > 0:
            self._state.injected.append(
                InjectedError(int(api), ErrorCode(code), count, partition, after_append, by)
            )

    def _catch_up(self, partition: Partition) -> None:
        """Every replica that can be is in sync again, if there is a leader to learn from."""
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
                f"there is no node {node_id}; there are {', '.join(map(str, self._state.nodes))}"
            )
        return self._state.nodes[node_id]

    def _topic(self, topic: str) -> Topic:
        if topic not in self._state.topics:
            raise unknown("topic", topic, self._state.topics)
        return self._state.topics[topic]

    def _partition(self, topic: str, partition: int) -> Partition:
        partitions = self._topic(topic).partitions
        if not 0 <= partition < len(partitions):
            raise UsageError(f"topic {topic!r} has no partition {partition}")
        return partitions[partition]
