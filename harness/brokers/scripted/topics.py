"""Topics and partitions: who has a copy, who is in sync, who leads, in which epoch, and how far the copies are.

A follower has what its leader has at once, unless it is out of the ISR (then nothing waits for it) or paused inside it
(then the high watermark waits for it, and its copy ends where the pause began).
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
    """Whether a topic may have this name (``Topic#validate``)."""
    return name not in (".", "..") and _LEGAL.fullmatch(name) is not None


class Partition:
    """One partition. ``lagging`` are paused members of the ISR, and the offset where each one's copy ends."""

    __slots__ = ("index", "isr", "lagging", "leader", "leader_epoch", "log", "replicas")

    def __init__(self, index: int, replicas: list[int], log: PartitionLog) -> None:
        self.index = index
        self.replicas = replicas
        self.isr = list(replicas)
        self.leader = replicas[0]
        self.leader_epoch = 0
        self.lagging: dict[int, int] = {}
        self.log = log

    def effective_min_isr(self, config: TopicConfig) -> int:
        """``min.insync.replicas``, at most the number of replicas."""
        return min(config.min_insync_replicas, len(self.replicas))

    def advance(self, config: TopicConfig) -> None:
        """Move the high watermark to where every member of the ISR is; with too few of them it stays."""
        log = self.log
        reached = log.log_end_offset
        if reached == log.high_watermark or len(self.isr) < self.effective_min_isr(config):
            return
        if self.lagging:
            reached = min([reached, *(self.lagging[node] for node in self.isr if node in self.lagging)])
        if reached > log.high_watermark:
            log.high_watermark = reached

    def lead(self, node_id: int) -> None:
        """Make a node the leader, in a new epoch; what its copy lacks is gone from the log."""
        self.leader = node_id
        self.leader_epoch += 1
        behind = self.lagging.pop(node_id, None)
        if behind is not None and behind < self.log.log_end_offset:
            self.log.truncate_to(behind)
            self.lagging = {node: min(end, behind) for node, end in self.lagging.items()}

    def lose_leader(self) -> None:
        """Nobody in sync is alive: no leader, which is an epoch as well."""
        self.leader = NO_LEADER
        self.leader_epoch += 1

    def leave_isr(self, node_id: int) -> None:
        """Take a follower out of the ISR; its last member stays."""
        if node_id in self.isr and len(self.isr) > 1:
            self.isr.remove(node_id)
            self.lagging.pop(node_id, None)

    def join_isr(self, node_id: int) -> None:
        """A replica has caught up."""
        if node_id in self.replicas and node_id not in self.isr:
            self.isr = [node for node in self.replicas if node in self.isr or node == node_id]

    def next_leader(self, alive: Collection[int]) -> int:
        """Who leads if the leader goes: an in-sync replica that is alive, rather one that is not behind."""
        candidates = [node for node in self.isr if node in alive]
        return min(candidates, key=lambda node: node in self.lagging, default=NO_LEADER)


class Topic:
    """A topic under its id; created again under the same name it is another one."""

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
