"""A peer: it sends requests to one side, knows what the side's own ids stand for, and remembers what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid5

from harness.wire.errors import WireError
from harness.wire.messages import decode_response, encode_request, make, message_class, nested
from testkit.fidelity import steps as s
from testkit.fidelity.observed import Labels, Plain, plain
from testkit.fidelity.sides import Heard, Nothing, Side
from testkit.fidelity.targets import LEADER

_NO_ID: Final = UUID(int=0)
#: The result of a request that is not answered yet.
WAITS: Final = "waits"

Take = Callable[[Any], Plain]
"""Notes what a response says, and returns it as plain values."""


@dataclass(frozen=True, slots=True)
class _Pending:
    api: int
    version: int
    correlation_id: int
    take: Take


class Peer:
    """The peer of one plan on one side. ``index`` is that of the step that is played."""

    def __init__(self, plan: s.FidelityPlan, side: Side) -> None:
        self.plan = plan
        self.side = side
        self.base_ms = side.now_ms()
        self.labels = Labels({self.name(topic.label): topic.label for topic in plan.topics})
        self.topic_ids: dict[str, UUID] = {}
        self.correlation_id = 0
        self.index = 0
        self._pending: dict[int, _Pending] = {}

    def name(self, label: str) -> str:
        """Return the brokers' name of a topic or a group. Invalid names are used unchanged."""
        return f"{self.plan.name}.{label}" if label.isalnum() else label

    async def see(self, label: str) -> None:
        """Look up and record a topic's id."""
        topic = await self.side.topic_id(self.name(label))
        again = sum(known.split("#")[0] == label for known in self.labels.topic_ids.values())
        self.topic_ids[label] = topic
        self.labels.topic_ids[topic] = f"{label}#{again + 1}"

    def topic_id(self, label: str) -> UUID:
        """Return the last known id of a topic, or an unused id for an unknown topic."""
        if label == "":
            return _NO_ID
        unknown = uuid5(_NO_ID, label)
        self.labels.topic_ids.setdefault(unknown, f"{label}#0") if label not in self.topic_ids else None
        return self.topic_ids.get(label, unknown)

    async def leader_node(self, node: int, topic: str, partition: int) -> int:
        """Return the node for a target: the leader of a partition, or another node."""
        if node > 0:
            return node
        leader = await self.side.leader(self.name(topic), partition)
        if leader < 0:
            leader = await self.side.any_node()
        return leader if node == LEADER else leader % self.plan.nodes + 1

    async def ask(
        self,
        api: int,
        version: int,
        node: int,
        *,
        answered: bool = True,
        take: Take | None = None,
        **values: Any,
    ) -> Plain:
        """Send one request and return its response."""
        frame = self._frame(api, version, values)
        pending = _Pending(api, version, self.correlation_id, take or self.plainly)
        return self._taken(pending, await self.side.ask(node, frame, answered=answered))

    async def begin(self, api: int, version: int, node: int, take: Take, **values: Any) -> Plain:
        """Send one request that may wait. :meth:`collect` returns its response."""
        frame = self._frame(api, version, values)
        self._pending[self.index] = _Pending(api, version, self.correlation_id, take)
        await self.side.begin(self.index, node, frame)
        return WAITS

    async def collect(self, expected: frozenset[int] | None) -> dict[int, Plain]:
        """Return what requests that waited were answered by now, by the indexes of their steps."""
        if not self._pending:
            return {}
        arrived = await self.side.collect(frozenset(self._pending), expected)
        return {index: self._taken(self._pending.pop(index), arrived[index]) for index in sorted(arrived)}

    def plainly(self, answer: Any) -> Plain:
        """Return a response as plain values."""
        return plain(answer, self.labels)

    def request_class(self, api: int, version: int, name: str) -> Any:
        """Return the class of a nested structure of a request."""
        return nested(message_class(api, min(version, s.HIGHEST[api]), "request"), name)

    def _frame(self, api: int, version: int, values: dict[str, Any]) -> bytes:
        """For a version above kio's highest, return the highest with another number in the header."""
        message = make(message_class(api, min(version, s.HIGHEST[api]), "request"), **values)
        self.correlation_id += 1
        frame = bytearray(encode_request(message, self.correlation_id, "fidelity"))
        frame[6:8] = version.to_bytes(2, "big")
        return bytes(frame)

    def _taken(self, pending: _Pending, heard: Heard) -> Plain:
        if isinstance(heard, Nothing):
            return heard.value
        try:
            version = min(pending.version, s.HIGHEST[pending.api])
            correlation_id, answer = decode_response(heard, pending.api, version)
        except WireError as error:
            return f"unreadable: {error}"
        if correlation_id != pending.correlation_id:
            return f"the answer to request {correlation_id}"
        return {"answer": type(answer).__name__, **pending.take(answer)}
