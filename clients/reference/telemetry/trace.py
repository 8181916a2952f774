"""Channel A: everything that the client decides, as typed events in the order of deciding.

An event is a msgspec struct whose ``event`` tag is its stable name; ``at_ms`` is the ``now_ms`` that was handed to
the core. The core calls one ``Trace`` callable per event, per batch or request and never per record.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class TraceEvent(msgspec.Struct, frozen=True, tag_field="event", kw_only=True, gc=False):
    """The base of all events. They hold names and numbers: the garbage collector need not look into them."""

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


class ConnectAttempt(TraceEvent, tag="connect_attempt", frozen=True, kw_only=True):
    """One address of a node is tried; ``address`` is empty where its name is unknown (NET-CON-09)."""

    node: int
    host: str
    address: str
    setup_timeout_ms: int


class ConnectionEnded(TraceEvent, tag="connection_ended", frozen=True, kw_only=True):
    """``state`` is how far it had come (ChannelState), or what the client ended it for."""

    node: int
    state: str
    detail: str


class ReconnectBackoff(TraceEvent, tag="reconnect_backoff", frozen=True, kw_only=True):
    """A node is left alone for ``delay_ms``; ``failures`` counts since it was last READY (NET-CON-05, -06)."""

    node: int
    failures: int
    delay_ms: int


class ApiVersionsReceived(TraceEvent, tag="api_versions_received", frozen=True, kw_only=True):
    """What a broker offers: API key to the lowest and the highest version."""

    node: int
    offered: dict[int, tuple[int, int]]


class NodeThrottled(TraceEvent, tag="node_throttled", frozen=True, kw_only=True):
    """Nothing is sent to the node until ``until_ms`` (KIP-219)."""

    node: int
    throttle_ms: int
    until_ms: int


class Rebootstrapped(TraceEvent, tag="rebootstrapped", frozen=True, kw_only=True):
    """The client begins again from its bootstrap servers (KIP-899, KIP-1102)."""

    reason: str


class RequestSent(TraceEvent, tag="request_sent", frozen=True, kw_only=True):
    """A request was handed to the network; ``api`` is Kafka's name, ``size_bytes`` the whole frame's."""

    node: int
    api: str
    version: int
    correlation_id: int
    size_bytes: int


class ResponseReceived(TraceEvent, tag="response_received", frozen=True, kw_only=True):
    """The answer to the oldest request of a node.

    ``latency_ms`` counts from when that was handed to the network; ``size_bytes`` is without the frame's size field.
    """

    node: int
    api: str
    correlation_id: int
    latency_ms: int
    size_bytes: int = 0
    throttle_ms: int = 0


class RequestLost(TraceEvent, tag="request_lost", frozen=True, kw_only=True):
    """A request whose answer will never be applied: the connection ended, by itself or by the request timeout."""

    node: int
    api: str
    correlation_id: int
    timed_out: bool


class BatchCreated(TraceEvent, tag="batch_created", frozen=True, kw_only=True):
    """A record found no room in its partition's newest batch, or no batch."""

    batch: str
    topic: str
    partition: int
    memory_bytes: int


class BatchClosed(TraceEvent, tag="batch_closed", frozen=True, kw_only=True):
    """A batch takes no more records.

    ``reason``: "full" (the next record did not fit, or it reached its limit), "linger", "memory" (somebody waits for
    some), "flush", "closing", "queued" (a younger batch waits behind it), "along" (a request to its node went anyway),
    "part" (it came from a split).
    """

    batch: str
    reason: str
    record_count: int
    uncompressed_bytes: int


class BatchSent(TraceEvent, tag="batch_sent", frozen=True, kw_only=True):
    """One attempt of a batch was handed to the network."""

    batch: str
    node: int
    attempt: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    size_bytes: int = 0
    uncompressed_bytes: int = 0
    queue_time_ms: int = 0


class BatchRetried(TraceEvent, tag="batch_retried", frozen=True, kw_only=True):
    """An attempt failed with ``error`` (Kafka's name) and another may follow, not before ``retry_at_ms``.

    ``attempts`` is how many have failed by now.
    """

    batch: str
    error: str
    attempts: int
    retry_at_ms: int
    record_count: int = 0


class BatchExpired(TraceEvent, tag="batch_expired", frozen=True, kw_only=True):
    """A batch reached delivery.timeout.ms; ``age_ms`` counts from its creation (PRD-EXP-01, -02)."""

    batch: str
    age_ms: int
    was_in_flight: bool


class BatchSplit(TraceEvent, tag="batch_split", frozen=True, kw_only=True):
    """A batch that was too large for the broker became several smaller ones."""

    batch: str
    parts: int
    record_count: int


class BatchEnded(TraceEvent, tag="batch_ended", frozen=True, kw_only=True):
    """A batch took its final state, once; ``error`` is Kafka's name, empty for a stored batch."""

    batch: str
    record_count: int
    error: str = ""


class MetadataUpdated(TraceEvent, tag="metadata_updated", frozen=True, kw_only=True):
    """An answer was taken over; ``version`` grows with each, ``topics`` is how many are known now."""

    version: int
    topics: int
    leaders_changed: bool


class LeadershipUpdated(TraceEvent, tag="leadership_updated", frozen=True, kw_only=True):
    """A newer leader was learned from something else than a Metadata response (KIP-951)."""

    partition: str
    leader: int
    epoch: int


class MetadataFailed(TraceEvent, tag="metadata_failed", frozen=True, kw_only=True):
    """No answer, or none that can be used; ``attempts`` counts failures since the last good one (MET-06)."""

    attempts: int
    reason: str


class ProducerIdAssigned(TraceEvent, tag="producer_id_assigned", frozen=True, kw_only=True):
    """A producer id and epoch came from a broker, or the client raised the epoch by itself (KIP-360)."""

    producer_id: int
    producer_epoch: int
    bumped_locally: bool


class SequencesRestarted(TraceEvent, tag="sequences_restarted", frozen=True, kw_only=True):
    """A partition begins at sequence 0 under a higher epoch or a new id (PRD-IDM-09, -10).

    ``rewritten_batches`` are those that were out already and got new numbers.
    """

    partition: str
    producer_epoch: int
    rewritten_batches: int


class SequenceUnresolved(TraceEvent, tag="sequence_unresolved", frozen=True, kw_only=True):
    """A sent batch ended without a known outcome: its partition waits (PRD-EXP-06)."""

    partition: str
    next_sequence: int


class SequenceResolved(TraceEvent, tag="sequence_resolved", frozen=True, kw_only=True):
    """The wait is over: the chain is whole (``continued``), or numbers are missing at the broker (PRD-EXP-06)."""

    partition: str
    continued: bool


class SendBlocked(TraceEvent, tag="send_blocked", frozen=True, kw_only=True):
    """A send must wait; ``send`` counts from 1 those that ever had to, for one may wait for two things in turn."""

    topic: str
    waiting_for: str
    send: int = 0


class SendUnblocked(TraceEvent, tag="send_unblocked", frozen=True, kw_only=True):
    """A send stopped waiting for "metadata" or "memory"; ``error`` is Kafka's name where it failed."""

    topic: str
    waited_for: str
    waited_ms: int
    send: int = 0
    error: str = ""


class Misbehaved(TraceEvent, tag="misbehaved", frozen=True, kw_only=True):
    """A peer or a callback did what it must not; contained, and told."""

    who: str
    what: str


Trace = Callable[[TraceEvent], None]


def no_trace(event: TraceEvent) -> None:
    """Keep nothing."""
