"""The listener of a simulated consumer: it reports rebalances, and raises where the harness wants it to."""

from __future__ import annotations

from collections.abc import Iterable

from clients.adapters.reference.simulated.events import Events
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.subscription.positions import TopicPartition
from harness.model import consumer_contract as contract


class ThrownError(RuntimeError):
    """What the application's listener raises on request."""


def places(asked: Iterable[contract.Place]) -> list[TopicPartition]:
    """Return partitions as the consumer names them."""
    return [(each.topic, each.partition) for each in asked]


class Rebalances:
    """``processed`` has the next offsets of what the application has processed. ``throws``: callback -> how often."""

    def __init__(self, core: ConsumerCore, events: Events) -> None:
        self._core, self._events = core, events
        self.processed: dict[TopicPartition, int] = {}
        self.throws: dict[str, int] = {}

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """Report new partitions."""
        member = self._core.group_metadata
        self._events.emit(
            contract.PartitionsAssigned,
            partitions=_named(partitions),
            generation=member.generation_id,
            member_id=member.member_id,
        )
        self._maybe_throw("assigned")

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """Report partitions that are given up."""
        self._give_up(contract.PartitionsRevoked, "revoked", partitions)

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        """Report partitions that are lost already."""
        self._give_up(contract.PartitionsLost, "lost", partitions)

    def _give_up(
        self,
        kind: type[contract.PartitionsRevoked | contract.PartitionsLost],
        callback: str,
        partitions: list[TopicPartition],
    ) -> None:
        for each in partitions:
            self.processed.pop(each, None)
        self._events.emit(kind, partitions=_named(partitions))
        self._maybe_throw(callback)

    def _maybe_throw(self, callback: str) -> None:
        if left := self.throws.get(callback, 0):
            self.throws[callback] = left - 1
            raise ThrownError(f"the listener's {callback} raises, as it was asked to")


def _named(partitions: list[TopicPartition]) -> list[contract.Place]:
    return [contract.Place(topic, partition) for topic, partition in partitions]
