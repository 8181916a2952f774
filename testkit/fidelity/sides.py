"""The interface of a side, and the two results without a response."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from testkit.fidelity.steps import Fault, TopicSpec


class Nothing(StrEnum):
    """There was no response: none was due and the connection is open, or the broker closed the connection."""

    SILENCE = "no answer"
    CLOSED = "closed"


Heard = bytes | Nothing


class Side(Protocol):
    """Brokers, real or scripted. Topic names are those of the brokers."""

    async def ask(self, node_id: int, frame: bytes, *, answered: bool) -> Heard:
        """Return the payload of the response to a request frame.

        Without ``answered``, return whether the connection is still open.
        """
        ...

    async def begin(self, number: int, node_id: int, frame: bytes) -> None:
        """Send a request frame on a connection of its own. The response may need other requests first."""
        ...

    async def collect(self, numbers: frozenset[int], expected: frozenset[int] | None) -> Mapping[int, Heard]:
        """Return the responses to begun requests that the brokers have sent by now.

        ``expected`` are the ones that the other side has, or None. Everything that was sent is handled before.
        """
        ...

    async def abandon(self) -> None:
        """Close the connections of all begun requests."""
        ...

    async def wait(self, duration_ms: int) -> None:
        """Let time pass on the brokers' clocks."""
        ...

    async def settle_transaction(self, transactional_id: str) -> None:
        """Wait until no markers of this transactional id are being written."""
        ...

    async def begin_transaction(self, transactional_id: str) -> int:
        """Return the producer id of a new transactional id. Its epoch is 0."""
        ...

    async def append_transactional(
        self, transactional_id: str, topic: str, partition: int, batch: bytes
    ) -> int:
        """Append a batch to the transaction that is open, or begins, and return its base offset."""
        ...

    async def end_transaction(self, transactional_id: str, *, commit: bool) -> None:
        """End the transaction, and return once its markers are in every partition."""
        ...

    async def create(self, topic: str, spec: TopicSpec) -> None:
        """Create a topic with a replica on every node, led by the nodes in turn."""
        ...

    async def apply(self, fault: Fault, topic: str) -> None:
        """Apply the fault, and return once every broker knows it."""
        ...

    async def leader(self, topic: str, partition: int) -> int:
        """Return the leader's node, or -1 if there is no leader or no such partition."""
        ...

    async def topic_id(self, topic: str) -> UUID:
        """Return the id of an existing topic."""
        ...

    async def coordinator(self, key: str, key_type: int) -> int:
        """Return the node that coordinates a group (``key_type`` 0) or a transactional id (1)."""
        ...

    async def any_node(self) -> int:
        """Return a node that is up."""
        ...

    async def log(self, topic: str, partition: int) -> tuple[int, bytes]:
        """Return (log start offset, the stored batches from there on)."""
        ...

    async def remove(self, topic: str) -> None:
        """Delete a topic that is no longer needed, if it exists."""
        ...

    def now_ms(self) -> int:
        """Return the brokers' wall clock, ms since 1970."""
        ...
