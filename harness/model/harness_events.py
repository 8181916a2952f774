"""Events that the harness adds to the history of a trial whose clients consume: what it wrote, did and read back.

They carry the name of the process that they are about, or :data:`HARNESS`. No client may output one.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.consumer_contract import Position
from harness.model.event import Event, Int64

#: The process of events that are about no member. No member has this name.
HARNESS = "harness"


class RecordsWritten(Event, frozen=True, kw_only=True, tag="records_written"):
    """The harness wrote records to the trial's topic. Columns: number, partition, offset. It began at ``invoke_ns``."""

    numbers: list[Int64]
    partitions: list[Int64]
    offsets: list[Int64]
    invoke_ns: Int64


class AsideWritten(Event, frozen=True, kw_only=True, tag="aside_written"):
    """The harness wrote records beside the load, outside of transactions. They may be lost again.

    Columns: partition, offset, value.
    """

    partitions: list[Int64]
    offsets: list[Int64]
    values: list[str]

    def records(self) -> Iterator[tuple[tuple[int, int], str]]:
        """Yield the place of each record, and its value."""
        return zip(zip(self.partitions, self.offsets, strict=True), self.values, strict=True)


class TransactionEnded(Event, frozen=True, kw_only=True, tag="transaction_ended"):
    """The harness ended a transaction in the trial's topic. Columns: partition and offset of each of its records.

    It wrote the first one after ``began_ns``, and asked for the end at ``invoke_ns``: before that moment no record of
    it was committed. ``ends`` are the partitions that got an end marker, some of them perhaps without a record.
    """

    producer_id: Int64
    producer_epoch: Int64
    committed: bool
    partitions: list[Int64]
    offsets: list[Int64]
    ends: list[Int64]
    began_ns: Int64
    invoke_ns: Int64


class MemberStarted(Event, frozen=True, kw_only=True, tag="member_started"):
    """The harness has asked a new process to join, ``member``, such as "m1".

    ``companion`` is its client, such as "java@4.3.1", if that is not the client under test.
    """

    member: str
    companion: str = ""


class MemberKilled(Event, frozen=True, kw_only=True, tag="member_killed"):
    """The harness has killed a member's process (SIGKILL). It is the last event of the process."""


class MemberFrozen(Event, frozen=True, kw_only=True, tag="member_frozen"):
    """The harness has stopped a member's process (SIGSTOP)."""


class MemberThawed(Event, frozen=True, kw_only=True, tag="member_thawed"):
    """The harness has continued a member's process (SIGCONT)."""


class MemberCalled(Event, frozen=True, kw_only=True, tag="member_called"):
    """The harness has asked a member for a call: ``op`` is "seek", "pause" or "resume" of partitions, or "attempt".

    The n-th of a process and an ``op`` is about its n-th ``op_complete`` of that ``op``. An offset is -1 if the call
    has none. ``call`` is what was attempted.
    """

    op: str
    positions: list[Position]
    call: str = ""


class GroupCommitted(Event, frozen=True, kw_only=True, tag="group_committed"):
    """The offsets that the group has committed, as its coordinator stores them after the trial.

    It is the last event of the harness. ``acts`` counts those about processes (killed, stopped, continued, called).
    """

    group: str
    offsets: list[Position]
    acts: Int64 = 0


HarnessEvent = (
    RecordsWritten
    | AsideWritten
    | TransactionEnded
    | MemberStarted
    | MemberKilled
    | MemberFrozen
    | MemberThawed
    | MemberCalled
    | GroupCommitted
)
