"""Interceptors: they see every record before it is sent, and its result (KIP-42; PRD-ISP-01, -02).

``on_send`` runs in the caller's thread, before serialization and any wait. Each interceptor receives the record that
the previous one returned. ``on_acknowledgement`` runs on the I/O thread before the record's own callback, once per
record, even if the record was never added to a batch. Exceptions from interceptors are logged and have no other
effect.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clients.reference.errors import SendError
from clients.reference.producer.producer_batch import Callback, Headers, RecordMetadata, nowhere

logger = logging.getLogger("kafka-trial.reference")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerRecord:
    """A record as the application passed it. An interceptor returns it, or a ``dataclasses.replace`` of it.

    ``timestamp_ms`` is Unix time, None for the time of sending. With ``partition`` None the client chooses.
    """

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: Headers = ()


class ProducerInterceptor(Protocol):
    """The interface of an interceptor. ``configure`` and ``close`` are optional (plugins.py)."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record to send."""

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None, headers: Headers) -> None:
        """Receive the record's result. A failed record has offset -1, and partition -1 if none was chosen."""


class Acknowledgement:
    """The callback of a record with interceptors. It calls theirs first, then the application's."""

    __slots__ = ("_callback", "_interceptors", "_record")

    def __init__(self, interceptors: Interceptors, record: ProducerRecord, callback: Callback | None) -> None:
        self._interceptors, self._record, self._callback = interceptors, record, callback

    def __call__(self, metadata: RecordMetadata, error: SendError | None) -> None:
        """Report the result. Called once, by the I/O thread."""
        self._interceptors.on_acknowledgement(metadata, error, self._record.headers)
        if self._callback:
            self._callback(metadata, error)


class Interceptors:
    """The chain of interceptors, in the order of the setting."""

    def __init__(self, chain: Sequence[ProducerInterceptor]) -> None:
        self._chain = tuple(chain)

    def __bool__(self) -> bool:
        return bool(self._chain)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the last interceptor's record. Skip one that raises or does not return a record."""
        for interceptor in self._chain:
            try:
                returned = interceptor.on_send(record)
                if not isinstance(returned, ProducerRecord):
                    raise TypeError(f"on_send() returned {type(returned).__name__}, not a ProducerRecord")
                record = returned
            except Exception:
                logger.warning("an interceptor's on_send failed (topic %s)", record.topic, exc_info=True)
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None, headers: Headers) -> None:
        """Notify all interceptors."""
        for interceptor in self._chain:
            try:
                interceptor.on_acknowledgement(metadata, error, headers)
            except Exception:
                logger.warning("an interceptor's on_acknowledgement failed", exc_info=True)

    def on_send_error(self, record: ProducerRecord, error: Exception) -> None:
        """Notify all interceptors of a record that ``send`` rejected."""
        self.on_acknowledgement(nowhere(record.topic, record.partition), error, record.headers)
