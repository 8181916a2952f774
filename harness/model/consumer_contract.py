"""The consumer's part of the contract: one process is one member of a group, or a consumer without a group.

``configure`` with ``role`` "consumer" builds it. ``subscribe`` or ``assign`` starts its poll loop, which ends at
``close``. In each turn the application takes records, works on them for ``processing_ms``, reports them in
``records_consumed``, and commits as ``commit`` says. A client that pushes records does the same in its handler, one
call at a time for a partition.

With ``sync-first``, records whose commit fails are not processed, because another member may be given them later. The
application seeks to the first of them and pauses for 100 ms. It drops them if the client cannot seek or is giving up
their partitions.

Commands between two turns are calls of the application: each gets one ``op_complete`` with its name as ``op``, without
records. Names and fields of events are those of Kafka's VerifiableConsumer where it has them; times and results are in
addition. Offsets in ``offsets_committed`` are those of the next record to read, as in Kafka.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from harness.model.event import Event, Int64

#: How a member commits: not at all, by the client itself (``enable.auto.commit``), after the records were processed
#: (waiting for the result or not), or before that, which is at-most-once.
COMMIT_MODES = ("none", "auto", "sync", "async", "sync-first")
#: The listener's methods, in which ``throw`` makes the application raise an exception.
CALLBACKS = ("assigned", "revoked", "lost")
#: The calls of ``attempt``.
ATTEMPTS = ("assign", "poll")
#: Special offsets of ``seek``, as in ListOffsets.
LATEST, EARLIEST = -1, -2

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class Place(msgspec.Struct, frozen=True):
    """A partition of a topic."""

    topic: str
    partition: Int64


class Position(msgspec.Struct, frozen=True):
    """An offset in a partition. -1 means that there is none."""

    topic: str
    partition: Int64
    offset: Int64


class Subscribe(msgspec.Struct, frozen=True, tag="subscribe", tag_field="cmd", omit_defaults=True):
    """Subscribe to ``topics``, or to those that match ``pattern``, and poll. It replaces an earlier subscription."""

    id: int
    topics: list[str] = []
    pattern: str | None = None
    commit: str = "none"
    processing_ms: int = 0


class Assign(msgspec.Struct, frozen=True, tag="assign", tag_field="cmd", omit_defaults=True):
    """Assign partitions without a group, and poll. A partition with an ``offset`` other than -1 is read from there."""

    id: int
    partitions: list[Position]
    commit: str = "none"
    processing_ms: int = 0


class Unsubscribe(msgspec.Struct, frozen=True, tag="unsubscribe", tag_field="cmd"):
    """Give up subscription and assignment. The process stays, and polls again after the next one."""

    id: int


class Seek(msgspec.Struct, frozen=True, tag="seek", tag_field="cmd"):
    """Set the position of a partition. The offsets -1 and -2 are its end and its beginning."""

    id: int
    position: Position


class Pause(msgspec.Struct, frozen=True, tag="pause", tag_field="cmd"):
    """Pause partitions."""

    id: int
    partitions: list[Place]


class Resume(msgspec.Struct, frozen=True, tag="resume", tag_field="cmd"):
    """Resume partitions."""

    id: int
    partitions: list[Place]


class Commit(msgspec.Struct, frozen=True, tag="commit", tag_field="cmd", omit_defaults=True):
    """Commit what was processed: "sync" or "async". ``offsets_committed`` has the result."""

    id: int
    how: str = "sync"


class Attempt(msgspec.Struct, frozen=True, tag="attempt", tag_field="cmd", omit_defaults=True):
    """Make a call that the client is expected to refuse in this state, as an application does by mistake.

    ``call`` is "assign" with ``partitions``, or "poll". The application itself stays as it is. The error of
    ``op_complete`` says whether the client has refused it. A client has the feature ``attempt`` if its adapter passes
    these calls on as they are.
    """

    id: int
    call: str
    partitions: list[Position] = []


class Process(msgspec.Struct, frozen=True, tag="process", tag_field="cmd"):
    """From the next turn on, work ``processing_ms`` on what each turn takes."""

    id: int
    processing_ms: int


class Throw(msgspec.Struct, frozen=True, tag="throw", tag_field="cmd", omit_defaults=True):
    """Raise an exception in the next ``times`` calls of the listener's ``callback``."""

    id: int
    callback: str
    times: int = 1


class Wakeup(msgspec.Struct, frozen=True, tag="wakeup", tag_field="cmd"):
    """Interrupt the current or next poll from another thread. The exception is reported in ``consumer_error``."""

    id: int


ConsumerCommand = (
    Subscribe | Assign | Unsubscribe | Seek | Pause | Resume | Commit | Attempt | Process | Throw | Wakeup
)
#: The ops of these commands.
CONSUMER_OPS = tuple(kind.__struct_config__.tag for kind in ConsumerCommand.__args__)


class PartitionsAssigned(Event, frozen=True, kw_only=True, tag="partitions_assigned"):
    """The listener's onPartitionsAssigned, before it returns: the partitions that are new.

    ``generation`` is the generation or member epoch, and ``member_id`` the broker's name of the member, if the client
    reports them.
    """

    partitions: list[Place]
    generation: Int64 = -1
    member_id: str = ""


class PartitionsRevoked(Event, frozen=True, kw_only=True, tag="partitions_revoked"):
    """The listener's onPartitionsRevoked, before it returns: the partitions that the member gives up."""

    partitions: list[Place]


class PartitionsLost(Event, frozen=True, kw_only=True, tag="partitions_lost"):
    """The listener's onPartitionsLost: the partitions that the member has already lost."""

    partitions: list[Place]


class Consumed(msgspec.Struct, frozen=True):
    """The records of one partition that one turn took, in the order of delivery. Columns of equal length.

    ``values`` are null for a record without a value.
    """

    topic: str
    partition: Int64
    count: Count
    min_offset: Int64 = msgspec.field(name="minOffset")
    max_offset: Int64 = msgspec.field(name="maxOffset")
    offsets: list[Int64]
    values: list[str | None]
    keys: list[str | None] = []
    leader_epochs: list[Int64] = []


class RecordsConsumed(Event, frozen=True, kw_only=True, tag="records_consumed"):
    """A turn's records, once they are processed. ``polled_ns`` is when the application got them."""

    count: Count
    partitions: list[Consumed]
    polled_ns: Int64


class OffsetsCommitted(Event, frozen=True, kw_only=True, tag="offsets_committed"):
    """The result of a commit. ``how`` is sync, async or auto; ``error`` is the client's own name for the error.

    If the application cannot learn of automatic commits, there are no events about them.
    """

    offsets: list[Position]
    success: bool
    how: str
    invoke_ns: Int64
    complete_ns: Int64
    error: str | None = None


class ConsumerError(Event, frozen=True, kw_only=True, tag="consumer_error"):
    """An exception that the application got from ``call``, such as poll or commit, and survived."""

    call: str
    error: str
    message: str = ""
    retriable: bool | None = None


ConsumerEvent = (
    PartitionsAssigned
    | PartitionsRevoked
    | PartitionsLost
    | RecordsConsumed
    | OffsetsCommitted
    | ConsumerError
)
