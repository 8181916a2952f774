"""What the player asks of a side, and the two answers that are none."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol
from uuid import UUID

from testkit.fidelity.steps import Fault, TopicSpec


class Nothing(StrEnum):
    """No answer came: none was due and the connection is open, or the broker closed the connection."""

    SILENCE = "no answer"
    CLOSED = "closed"


Heard = bytes | Nothing


class Side(Protocol):
    """Brokers, real or scripted. Names of topics are those that the brokers know."""

    async def ask(self, node_id: int, frame: bytes, *, answered: bool) -> Heard:
        """The payload that answers a request's frame. Without ``answered`` the connection is probed for being open."""
        ...

    async def create(self, topic: str, spec: TopicSpec) -> None:
        """A topic with a replica on every node, led by the nodes in turn."""
        ...

    async def apply(self, fault: Fault, topic: str) -> None:
        """Do what the fault says, and come back when every broker knows."""
        ...

    async def leader(self, topic: str, partition: int) -> int:
        """The leader's node, -1 where there is none or no such partition."""
        ...

    async def topic_id(self, topic: str) -> UUID:
        """The id of a topic that is there."""
        ...

    async def coordinator(self, transactional_id: str) -> int:
        """The node that coordinates a transactional id."""
        ...

    async def any_node(self) -> int:
        """A node that is up."""
        ...

    async def log(self, topic: str, partition: int) -> tuple[int, bytes]:
        """(log start offset, the stored batches from there on)."""
        ...

    async def remove(self, topic: str) -> None:
        """Drop a topic that is no longer needed, if it is there."""
        ...

    def now_ms(self) -> int:
        """The brokers' wall clock, ms since 1970."""
        ...
