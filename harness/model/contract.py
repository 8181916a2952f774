"""The verifiable-client contract: JSON lines between the harness and any client under test.

The client is a process. It reads one command a line on stdin and writes one event a line on stdout; logs go
to stderr. The base is Apache Kafka's own contract of its verifiable clients (same event names, so that those
still plug in); this superset adds invoke *and* complete on the system's monotonic clock, a gapless ``seq``,
three-valued outcomes, columns (one line for many records), declared features and a heartbeat.

Order of one life: ``startup_complete``; ``configure`` -> ``configured``; any number of ``produce`` and
``flush``; ``close`` -> ``op_complete`` of the close, ``shutdown_complete``, exit 0. End of stdin or SIGTERM means
``close``. A command that the client does not know is answered by ``unsupported``, never by silence.
All times are ``CLOCK_MONOTONIC`` in nanoseconds: the one time line of clients, witness and faults.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

#: What a column of evidence can hold.
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

#: Where a client may write what it decides, one JSON object a line (channel A). Most cannot, and need not.
TRACE_ENV = "KAFKA_TRIAL_TRACE"

#: The feature of a client that does so: its trace tells each Produce request (``request_sent`` with ``api`` and
#: ``correlation_id``) before it is sent, and last the ``state_changed`` of its ``life`` to ``CLOSED``. Each line is
#: written at once, since a process may be killed. Without all of that it is no evidence.
TRACE_FEATURE = "trace"

CONTRACT_VERSION = 2

#: The errors of a ``fatal`` that are no fault of the adapter.
REFUSED, CRASHED = "ConfigRefused", "ClientCrashed"

Setting = str | int | bool


class Configure(msgspec.Struct, frozen=True, tag="configure", tag_field="cmd"):
    """Build the client. ``config`` is in the Java names; the client maps, applies and reports it."""

    id: int
    run_id: str
    instance: str
    role: str
    config: dict[str, Setting]


class LoadCommand(msgspec.Struct, frozen=True, tag_field="cmd"):
    """A command of the load: do ``count`` elements of the work, numbered from ``first``. Each workload has its own.

    ``op`` is what events call the work on one element, and ``element`` what messages call it. ``columns`` are the
    columns of its results besides those of every result. Each element is invoked once, and has at most one result.
    """

    op: ClassVar[str]
    element: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ()

    id: int
    topic: str
    first: int

    @property
    def count(self) -> int:
        """How many elements."""
        raise NotImplementedError


class Flush(msgspec.Struct, frozen=True, tag="flush", tag_field="cmd"):
    """Wait until everything sent before has a result, at most ``timeout_ms``."""

    id: int
    timeout_ms: int


class Close(msgspec.Struct, frozen=True, tag="close", tag_field="cmd"):
    """Close the client within ``timeout_ms`` and end the process."""

    id: int
    timeout_ms: int


Command = Configure | LoadCommand | Flush | Close

#: The ops that are no work on elements.
WHOLE_OPS = ("flush", "close")


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="name"):
    """What every event carries: its number (from 0, gapless a process) and when it was written."""

    seq: Int64
    mono_ns: Int64
    wall_ns: Int64


class StartupComplete(Event, frozen=True, kw_only=True, tag="startup_complete"):
    """The process is up. ``client_version`` is what really runs, ``library_version`` what it wraps, if anything.

    ``features``: ``producer``, ``idempotence``, ``transactions`` as it offers them; ``trace`` for a client that writes
    what it decides to the file that ``KAFKA_TRIAL_TRACE`` names; ``unplaced`` for one whose application cannot always
    know where a record went.
    """

    client: str
    client_version: str
    language: str
    features: list[str]
    contract_version: Int64
    library_version: str | None = None


class Configured(Event, frozen=True, kw_only=True, tag="configured"):
    """``applied``: Java name -> [own name, value]; ``not_set``: Java name -> why."""

    id: Int64
    applied: dict[str, tuple[str, Setting]]
    not_set: dict[str, str]


class OpInvoke(Event, frozen=True, kw_only=True, tag="op_invoke"):
    """The client is about to do ``op``: that of a load command (elements ``first`` .. ``first + count - 1``), flush or
    close.
    """

    op: str
    id: Int64
    first: Int64 = 0
    count: Int64 = 0


class OpComplete(Event, frozen=True, kw_only=True, tag="op_complete"):
    """Results, in columns of equal length. For flush and close there is one row and ``records`` is empty.

    ``records`` are the numbers of the elements. ``outcome``: ok, fail, info. ``error``: the client's own name for it,
    or null. ``offset`` -1: not known. ``value`` is what an operation returned, as its workload writes it.
    """

    op: str
    id: Int64
    outcome: list[str]
    error: list[str | None]
    invoke_ns: list[Int64]
    complete_ns: list[Int64]
    records: list[Int64] = []
    partition: list[Int64] = []
    offset: list[Int64] = []
    value: list[str | None] = []

    @property
    def is_unnumbered(self) -> bool:
        """True of a result in the form of Kafka's own verifiable clients, which has neither number nor wall clock.

        Its ``seq`` is that of the event before, and its ``mono_ns`` the moment at which the harness read it.
        """
        return self.op == "send" and self.wall_ns == 0


class Stats(Event, frozen=True, kw_only=True, tag="stats"):
    """The heartbeat, once a second: tells a wedged client from an idle one."""

    sent: Int64
    completed: Int64


class Fatal(Event, frozen=True, kw_only=True, tag="fatal"):
    """The client cannot go on, or could not be built.

    In answer to ``configure``, the error ``ConfigRefused`` says that the client cannot be had with these settings:
    the trial is then unsupported. At any time ``ClientCrashed`` says that the client's own code threw where whoever
    uses it cannot catch it, which ends their process: that is evidence. Any other is a fault of the adapter.
    """

    error: str
    message: str


class Unsupported(Event, frozen=True, kw_only=True, tag="unsupported"):
    """The client does not know this command."""

    cmd: str
    id: Int64 = -1


class ShutdownComplete(Event, frozen=True, kw_only=True, tag="shutdown_complete"):
    """The client is closed; nothing follows."""


AnyEvent = (
    StartupComplete | Configured | OpInvoke | OpComplete | Stats | Fatal | Unsupported | ShutdownComplete
)
