"""What the witness read of a consumer's requests and their responses, as parts of a row.

A field is null if the message has no such field, or holds the value by which it says so (``-1`` for a generation, an
epoch or an offset that there is none of is kept as it was sent). Offsets and epochs are Kafka's. No part contains a
record, the bytes of an assignment or an application's metadata.
"""

from __future__ import annotations

import msgspec


class MemberPart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One member of a group: in JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit, OffsetFetch, KIP-848.

    ``epoch`` is the generation, or the member epoch of KIP-848. ``protocols`` are those that JoinGroup offers, and
    ``protocol`` the one that was chosen. ``leader`` is the member id of the leader. ``error_code`` is that of a whole
    response, or of one member in LeaveGroup. ``said`` names the fields that may be left out and were not: those of
    ConsumerGroupHeartbeat, the assignments of SyncGroup, and ``require_stable`` of OffsetFetch if it is true.
    """

    group: str | None = None
    member_id: str | None = None
    epoch: int | None = None
    instance_id: str | None = None
    protocol: str | None = None
    protocols: tuple[str, ...] = ()
    leader: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    error_code: int | None = None
    said: tuple[str, ...] = ()


class CoordinatorPart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One key of FindCoordinator. ``key_type`` is 0 for a group. A response has the node, or an error."""

    key: str | None = None
    key_type: int | None = None
    node: int | None = None
    error_code: int | None = None


class FetchPart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a Fetch request or its response says beside partitions (KIP-227). Session 0 is none.

    Epoch 0 begins a session, and -1 asks without one, or ends it.
    """

    session_id: int | None = None
    session_epoch: int | None = None
    max_bytes: int | None = None
    min_bytes: int | None = None
    max_wait_ms: int | None = None
    isolation: int | None = None
    error_code: int | None = None


class OffsetPart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One partition: in Fetch, ListOffsets, OffsetForLeaderEpoch, OffsetCommit, OffsetFetch, and in an assignment.

    ``offset`` is the one that is asked for, committed or given back. ``leader_epoch`` belongs to it: the epoch of the
    last record before it, or the one whose end is asked for. ``current_leader_epoch`` is what the client takes for the
    leader's. In a response to Fetch, ``offset`` and ``leader_epoch`` are those of a log that diverges, and
    ``current_leader_epoch`` that of a new leader. ``forgotten`` partitions leave a fetch session. ``damaged`` is in a
    response that a rule of the witness changed: the offsets of the first batch whose checksum is wrong, from its first
    to the one after its last.
    """

    topic: str
    partition: int
    offset: int | None = None
    leader_epoch: int | None = None
    current_leader_epoch: int | None = None
    timestamp_ms: int | None = None
    high_watermark: int | None = None
    data_bytes: int | None = None
    error_code: int | None = None
    forgotten: bool | None = None
    damaged: tuple[int, int] | None = None
