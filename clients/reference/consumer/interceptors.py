"""Consumer interceptors: they see the records before the application does, and every commit (KIP-42).

``on_consume`` runs on the application's thread in ``poll``. Each interceptor receives the records that the previous one
returned. ``on_commit`` runs after a commit has succeeded. Exceptions from interceptors are logged and have no other
effect.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

from clients.reference.consumer.consumer_record import ConsumerRecords
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.reference.metadata.topic_metadata import TopicPartition

logger = logging.getLogger("kafka-trial.reference")


class ConsumerInterceptor(Protocol):
    """The interface of an interceptor. ``configure`` and ``close`` are optional (plugins.py)."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """Return the records that the application gets. It may leave some out, or make others."""

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Receive the offsets that were committed."""


class ConsumerInterceptors:
    """The chain of interceptors, in the order of the setting. ``close`` is the plug-ins' (plugins.py)."""

    def __init__(self, chain: Sequence[ConsumerInterceptor]) -> None:
        self._chain = tuple(chain)

    def __bool__(self) -> bool:
        return bool(self._chain)

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """Return the last interceptor's records. Skip one that raises or does not return records."""
        for interceptor in self._chain:
            try:
                returned = interceptor.on_consume(records)
                if not isinstance(returned, ConsumerRecords):
                    raise TypeError(f"on_consume() returned {type(returned).__name__}, not ConsumerRecords")
                records = returned
            except Exception:
                logger.warning("an interceptor's on_consume failed", exc_info=True)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Notify all interceptors."""
        for interceptor in self._chain:
            try:
                interceptor.on_commit(offsets)
            except Exception:
                logger.warning("an interceptor's on_commit failed", exc_info=True)
