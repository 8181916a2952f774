"""Topics and partitions: replicas, ISR, leader, leader epoch, and how far each replica has copied.

A follower has its leader's records at once, unless it is out of the ISR (then nothing waits for it) or paused inside
the ISR (then the high watermark waits for it, and its copy ends where the pause began).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from uuid import UUID

from harness.brokers.scripted.partition_log import PartitionLog
from harness.brokers.scripted.topic_config import TopicConfig

NO_LEADER: Final = -1
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def is_valid_name(name: str) -> bool:
    """Return whether the name is valid for a topic (``Topic#validate``)."""
    return name not in (".", "..") and _LEGAL.fullmatch(name) is not None


class Partition:
    """One partition. ``lagging`` maps each paused member of the ISR to the offset where its copy ends."""

    __slots__ = (
        "copied",
        "epoch_start_offset",
        "index",
        "isr",
        "lagging",
        "leader",
        "leader_epoch",
        "log",
        "replicas",
    )

    def __init__(self, index: int, replicas: list[int], log: PartitionLog) -> None:
        self.index = index
        self.replicas = replicas
        self.isr = list(replicas)
        self.leader = replicas[0]
        self.leader_epoch = 0
        self.lagging: dict[int, int] = {}
        #: Where the copy of each replica ends that has left the ISR.
        self.copied: dict[int, int] = {}
        self.log = log
        self.epoch_start_offset = log.log_end_offset
        log.epochs.assign(self.leader_epoch, self.epoch_start_offset)

    def effective_min_isr(self, config: TopicConfig) -> int:
        """Return ``min.insync.replicas``, limited to the number of replicas."""
        return min(config.min_insync_replicas, len(self.replicas))

    def advance(self, config: TopicConfig) -> None:
        """Advance the high watermark to the offset that every ISR member has. With too few members it stays."""
        log = self.log
        reached = log.log_end_offset
        if reached == log.high_watermark or len(self.isr) < self.effective_min_isr(config):
            return
        if self.lagging:
            reached = min([reached, *(self.lagging[node] for node in self.isr if node in self.lagging)])
        if reached > log.high_watermark:
            log.high_watermark = reached

    def lead(self, node_id: int) -> None:
        """Make a node the leader, in a new epoch. Records that its copy lacks are removed from the log."""
        self.leader = node_id
        self.leader_epoch += 1
        behind = self.lagging.pop(node_id, None)
        if behind is not None and behind < self.log.log_end_offset:
            self.log.truncate_to(behind)
            self.lagging = {node: min(end, behind) for node, end in self.lagging.items()}
        self.epoch_start_offset = self.log.log_end_offset
        self.log.epochs.assign(self.leader_epoch, self.epoch_start_offset)

    def lead_uncleanly(self, node_id: int) -> None:
        """Make a replica outside of the ISR the leader. Records that its copy lacks are lost."""
        if node_id not in self.isr:
            self.lagging = {node_id: self.copied.pop(node_id, self.log.log_end_offset)}
            self.isr = [node_id]
        self.lead(node_id)

    def lose_leader(self) -> None:
        """Set no leader, in a new epoch, because no in-sync replica is alive."""
        self.leader = NO_LEADER
        self.leader_epoch += 1

    def leave_isr(self, node_id: int) -> None:
        """Remove a follower from the ISR. The last member stays."""
        if node_id in self.isr and len(self.isr) > 1:
            self.isr.remove(node_id)
            self.copied[node_id] = self.lagging.pop(node_id, self.log.log_end_offset)

    def join_isr(self, node_id: int) -> None:
        """Add a replica that has caught up to the ISR."""
        if node_id in self.replicas and node_id not in self.isr:
            self.isr = [node for node in self.replicas if node in self.isr or node == node_id]
            self.copied.pop(node_id, None)

    def next_leader(self, alive: Collection[int]) -> int:
        """Return the next leader: a live in-sync replica, preferably one that does not lag."""
        candidates = [node for node in self.isr if node in alive]
        return min(candidates, key=lambda node: node in self.lagging, default=NO_LEADER)


class Topic:
    """A topic with its id. A topic created again under the same name is another instance."""

    __slots__ = ("config", "name", "partitions", "settings", "topic_id")

    def __init__(
        self,
        name: str,
        topic_id: UUID,
        settings: dict[str, str],
        config: TopicConfig,
        partitions: list[Partition],
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.settings = settings
        self.config = config
        self.partitions = partitions
