"""Channel A: everything that the client decides, as typed events in the order of deciding.

An event is a msgspec struct whose ``event`` tag is its stable name; ``at_ms`` is the ``now_ms`` that was handed to
the core. The core calls one ``Trace`` callable per event, per batch or request and never per record.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class TraceEvent(msgspec.Struct, frozen=True, tag_field="event", kw_only=True):
    """The base of all events."""

    at_ms: int


class StateChanged(TraceEvent, tag="state_changed", frozen=True, kw_only=True):
    """A machine of states.py moved (or refused to: a late result leaves FAILED as it is).

    ``subject`` is the node id, the batch as ``topic-partition#number``, or empty where there is one machine.
    """

    machine: str
    subject: str
    before: str
    cause: str
    after: str
    detail: str = ""


class RequestSent(TraceEvent, tag="request_sent", frozen=True, kw_only=True):
    node: int
    api: str
    version: int
    correlation_id: int
    size_bytes: int


class ResponseReceived(TraceEvent, tag="response_received", frozen=True, kw_only=True):
    node: int
    api: str
    correlation_id: int
    latency_ms: int


class RequestLost(TraceEvent, tag="request_lost", frozen=True, kw_only=True):
    """A request whose answer will never be applied: the connection ended, by itself or by the request timeout."""

    node: int
    api: str
    correlation_id: int
    timed_out: bool


class BatchSent(TraceEvent, tag="batch_sent", frozen=True, kw_only=True):
    """One attempt of a batch was handed to the network."""

    batch: str
    node: int
    attempt: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


class BatchRetried(TraceEvent, tag="batch_retried", frozen=True, kw_only=True):
    batch: str
    error: str
    attempts: int
    retry_at_ms: int


class BatchExpired(TraceEvent, tag="batch_expired", frozen=True, kw_only=True):
    batch: str
    age_ms: int
    was_in_flight: bool


class MetadataUpdated(TraceEvent, tag="metadata_updated", frozen=True, kw_only=True):
    version: int
    topics: int
    leaders_changed: bool


class MetadataFailed(TraceEvent, tag="metadata_failed", frozen=True, kw_only=True):
    attempts: int
    reason: str


class ProducerIdAssigned(TraceEvent, tag="producer_id_assigned", frozen=True, kw_only=True):
    """A producer id and epoch came from a broker, or the client raised the epoch by itself (KIP-360)."""

    producer_id: int
    producer_epoch: int
    bumped_locally: bool


class SequencesRestarted(TraceEvent, tag="sequences_restarted", frozen=True, kw_only=True):
    partition: str
    producer_epoch: int
    rewritten_batches: int


class SequenceUnresolved(TraceEvent, tag="sequence_unresolved", frozen=True, kw_only=True):
    """A sent batch ended without a known outcome: its partition waits (PRD-EXP-06)."""

    partition: str
    next_sequence: int


class SequenceResolved(TraceEvent, tag="sequence_resolved", frozen=True, kw_only=True):
    partition: str
    continued: bool


class SendBlocked(TraceEvent, tag="send_blocked", frozen=True, kw_only=True):
    topic: str
    waiting_for: str


class Misbehaved(TraceEvent, tag="misbehaved", frozen=True, kw_only=True):
    """A peer or a callback did what it must not; contained, and told."""

    who: str
    what: str


Trace = Callable[[TraceEvent], None]


def no_trace(event: TraceEvent) -> None:
    """Keep nothing."""
