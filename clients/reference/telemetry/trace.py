"""Channel A: every decision of the client, as typed events in chronological order.

An event is a msgspec struct whose ``event`` tag is its stable name. ``at_ms`` is the ``now_ms`` that was passed to the
core. The core calls one ``Trace`` callable per event, per batch or request and never per record.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class TraceEvent(msgspec.Struct, frozen=True, tag_field="event", kw_only=True, gc=False):
    """The base of all events. They hold names and numbers and no cycles, so the garbage collector ignores them."""

    at_ms: int


class StateChanged(TraceEvent, tag="state_changed", frozen=True, kw_only=True):
    """A machine of states.py made a transition, possibly to the same state (a late result leaves FAILED unchanged).

    ``subject`` is the node id, the batch as ``topic-partition#number``, or empty if there is only one machine.
    """

    machine: str
    subject: str
    before: str
    cause: str
    after: str
    detail: str = ""


class ConnectAttempt(TraceEvent, tag="connect_attempt", frozen=True, kw_only=True):
    """The client tries one address of a node. ``address`` is empty if the name is unknown (NET-CON-09)."""

    node: int
    host: str
    address: str
    setup_timeout_ms: int


class ConnectionEnded(TraceEvent, tag="connection_ended", frozen=True, kw_only=True):
    """A connection ended. ``state`` is its ChannelState, or the client's reason (LocalEnd)."""

    node: int
    state: str
    detail: str


class ReconnectBackoff(TraceEvent, tag="reconnect_backoff", frozen=True, kw_only=True):
    """A node's backoff of ``delay_ms`` begins. ``failures`` counts since it was last READY (NET-CON-05, -06)."""

    node: int
    failures: int
    delay_ms: int


class ApiVersionsReceived(TraceEvent, tag="api_versions_received", frozen=True, kw_only=True):
    """The versions that a broker offers: API key to the lowest and the highest version."""

    node: int
    offered: dict[int, tuple[int, int]]


class NodeThrottled(TraceEvent, tag="node_throttled", frozen=True, kw_only=True):
    """The client sends nothing to the node until ``until_ms`` (KIP-219)."""

    node: int
    throttle_ms: int
    until_ms: int


class Rebootstrapped(TraceEvent, tag="rebootstrapped", frozen=True, kw_only=True):
    """The client starts again from its bootstrap servers (KIP-899, KIP-1102)."""

    reason: str


class RequestSent(TraceEvent, tag="request_sent", frozen=True, kw_only=True):
    """A request was passed to the network. ``api`` is Kafka's name, ``size_bytes`` the size of the whole frame."""

    node: int
    api: str
    version: int
    correlation_id: int
    size_bytes: int


class ResponseReceived(TraceEvent, tag="response_received", frozen=True, kw_only=True):
    """The response to the oldest request of a node arrived.

    ``latency_ms`` counts from when the request was passed to the network. ``size_bytes`` excludes the frame's size
    field.
    """

    node: int
    api: str
    correlation_id: int
    latency_ms: int
    size_bytes: int = 0
    throttle_ms: int = 0


class RequestLost(TraceEvent, tag="request_lost", frozen=True, kw_only=True):
    """A response will never be applied: the connection failed, or the request timeout closed it."""

    node: int
    api: str
    correlation_id: int
    timed_out: bool


class BatchCreated(TraceEvent, tag="batch_created", frozen=True, kw_only=True):
    """A record did not fit into its partition's newest batch, or there was no batch."""

    batch: str
    topic: str
    partition: int
    memory_bytes: int


class BatchClosed(TraceEvent, tag="batch_closed", frozen=True, kw_only=True):
    """A batch accepts no more records.

    ``reason`` is one of: "full" (the next record did not fit, or the batch reached its limit), "linger", "memory" (a
    send waits for memory), "flush", "closing", "transaction" (its transaction is being completed), "queued" (a newer
    batch is queued after it), "along" (it joined a request that was due anyway), "part" (it was made by a split).
    """

    batch: str
    reason: str
    record_count: int
    uncompressed_bytes: int


class BatchSent(TraceEvent, tag="batch_sent", frozen=True, kw_only=True):
    """One attempt of a batch was passed to the network."""

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
    """An attempt failed with ``error`` (Kafka's name). The next one may follow, not before ``retry_at_ms``.

    ``attempts`` is the number of failed attempts so far.
    """

    batch: str
    error: str
    attempts: int
    retry_at_ms: int
    record_count: int = 0


class BatchExpired(TraceEvent, tag="batch_expired", frozen=True, kw_only=True):
    """A batch reached delivery.timeout.ms. ``age_ms`` counts from its creation (PRD-EXP-01, -02)."""

    batch: str
    age_ms: int
    was_in_flight: bool


class BatchSplit(TraceEvent, tag="batch_split", frozen=True, kw_only=True):
    """A batch that was too large for the broker was split into several smaller ones."""

    batch: str
    parts: int
    record_count: int


class BatchEnded(TraceEvent, tag="batch_ended", frozen=True, kw_only=True):
    """A batch took its final state, once. ``error`` is Kafka's name, empty for a stored batch."""

    batch: str
    record_count: int
    error: str = ""


class MetadataUpdated(TraceEvent, tag="metadata_updated", frozen=True, kw_only=True):
    """A response was applied. ``version`` grows with each, ``topics`` is the number of known topics."""

    version: int
    topics: int
    leaders_changed: bool


class LeadershipUpdated(TraceEvent, tag="leadership_updated", frozen=True, kw_only=True):
    """The client learned of a newer leader from something other than a Metadata response (KIP-951)."""

    partition: str
    leader: int
    epoch: int


class MetadataFailed(TraceEvent, tag="metadata_failed", frozen=True, kw_only=True):
    """There was no response, or no usable one. ``attempts`` counts failures since the last success (MET-06)."""

    attempts: int
    reason: str


class ProducerIdAssigned(TraceEvent, tag="producer_id_assigned", frozen=True, kw_only=True):
    """A broker assigned a producer id and epoch, or the client bumped the epoch itself (KIP-360)."""

    producer_id: int
    producer_epoch: int
    bumped_locally: bool


class SequencesRestarted(TraceEvent, tag="sequences_restarted", frozen=True, kw_only=True):
    """A partition restarts at sequence 0 under a higher epoch or a new id (PRD-IDM-09, -10).

    ``rewritten_batches`` is the number of batches that had been sent already and got new sequences.
    """

    partition: str
    producer_epoch: int
    rewritten_batches: int


class SequenceUnresolved(TraceEvent, tag="sequence_unresolved", frozen=True, kw_only=True):
    """A sent batch ended with an unknown outcome. Its partition waits (PRD-EXP-06)."""

    partition: str
    next_sequence: int


class SequenceResolved(TraceEvent, tag="sequence_resolved", frozen=True, kw_only=True):
    """The wait ended: the sequence is unbroken (``continued``), or the broker lacks some numbers (PRD-EXP-06)."""

    partition: str
    continued: bool


class SendBlocked(TraceEvent, tag="send_blocked", frozen=True, kw_only=True):
    """A send must wait. ``send`` numbers the blocked sends from 1, since one may wait for two things in turn."""

    topic: str
    waiting_for: str
    send: int = 0


class SendUnblocked(TraceEvent, tag="send_unblocked", frozen=True, kw_only=True):
    """A send stopped waiting for "metadata" or "memory". ``error`` is Kafka's name if it failed."""

    topic: str
    waited_for: str
    waited_ms: int
    send: int = 0
    error: str = ""


class CoordinatorFound(TraceEvent, tag="coordinator_found", frozen=True, kw_only=True):
    """A lookup named a coordinator. ``node`` is the id of its connection, ``broker`` the broker's.

    A consumer has a connection of its own to its coordinator, a producer has not.
    """

    node: int
    broker: int


class CoordinatorLost(TraceEvent, tag="coordinator_lost", frozen=True, kw_only=True):
    """The coordinator must be looked up again."""

    node: int
    reason: str


class RejoinRequested(TraceEvent, tag="rejoin_requested", frozen=True, kw_only=True):
    """The member will send a JoinGroup in one of the application's next polls."""

    reason: str


class AssignmentApplied(TraceEvent, tag="assignment_applied", frozen=True, kw_only=True):
    """The member has adopted its assignment of a generation. ``partitions`` are ``topic-partition``, sorted."""

    generation: int
    member_id: str
    assignor: str
    partitions: list[str]


class PartitionsGivenUp(TraceEvent, tag="partitions_given_up", frozen=True, kw_only=True):
    """The listener knows of partitions that are no longer read. ``lost`` if others may own them already."""

    partitions: list[str]
    lost: bool


class RebalanceFailed(TraceEvent, tag="rebalance_failed", frozen=True, kw_only=True):
    """An attempt to rebalance failed, and may be repeated. ``error`` is Kafka's name, or the exception's."""

    error: str


class ListenerReturned(TraceEvent, tag="listener_returned", frozen=True, kw_only=True):
    """The application's rebalance listener has returned. ``what`` it was told is "assigned", "revoked" or "lost"."""

    what: str
    elapsed_ms: int


class OffsetCommitEnded(TraceEvent, tag="offset_commit_ended", frozen=True, kw_only=True):
    """A commit has its result. ``offsets`` are by ``topic-partition``. ``error`` is the exception's name, or empty."""

    offsets: dict[str, int]
    error: str = ""


class CallbackFailed(TraceEvent, tag="misbehaved", frozen=True, kw_only=True):
    """A peer or a callback did something that it must not do. The client contained it."""

    who: str
    what: str


Trace = Callable[[TraceEvent], None]


def no_trace(event: TraceEvent) -> None:
    """Discard the event."""
