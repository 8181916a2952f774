"""The verifiable-client contract: JSON lines between the harness and a client under test.

The client is a process. It reads commands from stdin and writes events to stdout, one JSON object per line; logs go to
stderr. The contract is based on that of Apache Kafka's verifiable clients and keeps its event names, so those clients
work unchanged. It adds invoke *and* complete times on the system's monotonic clock, a gapless ``seq``, three-valued
outcomes, columns (one line for many records), declared features and a heartbeat.

The order of events is: ``startup_complete``; ``configure`` -> ``configured``; any number of ``produce`` and ``flush``;
``close`` -> ``op_complete`` of the close, ``shutdown_complete``, exit 0. The end of stdin and SIGTERM both mean
``close``. The client answers a command that it does not know with ``unsupported``; it never ignores one. All times are
``CLOCK_MONOTONIC`` in nanoseconds, which clients, witness and faults share.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from harness.model.consumer_contract import CONSUMER_OPS, ConsumerCommand, ConsumerEvent
from harness.model.event import Event, Int64
from harness.model.harness_events import HarnessEvent

__all__ = ["Event", "Int64"]

#: The environment variable that names the file for a client's decisions, one JSON object per line (channel A). It is
#: optional, and most clients do not support it.
TRACE_ENV = "KAFKA_TRIAL_TRACE"

#: The feature of a client that writes that trace. The trace has each Produce request (``request_sent`` with ``api`` and
#: ``correlation_id``) before it is sent, and ends with the ``state_changed`` of its ``life`` to ``CLOSED``. Each line
#: is written immediately, since the process may be killed. A trace that lacks any of this is not evidence.
TRACE_FEATURE = "trace"

#: The feature of a client that takes settings under its own names, in ``client_config`` of ``configure``.
CLIENT_CONFIG_FEATURE = "client_config"

CONTRACT_VERSION = 2

#: The errors of a ``fatal`` that the adapter did not cause.
REFUSED, CRASHED = "ConfigRefused", "ClientCrashed"

Setting = str | int | bool


class Configure(msgspec.Struct, frozen=True, tag="configure", tag_field="cmd", omit_defaults=True):
    """Build the client. ``config`` uses the Java names; the client maps, applies and reports each setting.

    ``client_config`` has settings under the client's own names, which it passes on unchanged. It is present only if
    there are such settings and the client has the feature CLIENT_CONFIG_FEATURE.
    """

    id: int
    run_id: str
    instance: str
    role: str
    config: dict[str, Setting]
    client_config: dict[str, str] = {}


class LoadCommand(msgspec.Struct, frozen=True, tag_field="cmd"):
    """A load command: perform ``count`` elements of the work, numbered from ``first``.

    Each workload has its own subclass. ``op`` is the name of the work on one element in events, and ``element`` is its
    name in messages. ``columns`` are the result columns besides those that every result has. ``steps`` are the calls,
    of ``STEP_OPS``, by which the client may get there: it reports each of them with the command's id, as one row, as
    often as it makes it. Each element is invoked once and has at most one result.
    """

    op: ClassVar[str]
    element: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[tuple[str, ...]] = ()

    id: int
    topic: str
    first: int

    @property
    def count(self) -> int:
        """The number of elements."""
        raise NotImplementedError


class Flush(msgspec.Struct, frozen=True, tag="flush", tag_field="cmd"):
    """Wait until every record sent so far has a result, for at most ``timeout_ms``."""

    id: int
    timeout_ms: int


class Close(msgspec.Struct, frozen=True, tag="close", tag_field="cmd"):
    """Close the client within ``timeout_ms`` and end the process."""

    id: int
    timeout_ms: int


Command = Configure | LoadCommand | Flush | Close | ConsumerCommand

#: The calls that are steps of a load command.
STEP_OPS = ("init_transactions", "begin_transaction", "commit_transaction", "abort_transaction")

#: The ops that do not work on elements.
WHOLE_OPS = ("flush", "close", *STEP_OPS, *CONSUMER_OPS)


class StartupComplete(Event, frozen=True, kw_only=True, tag="startup_complete"):
    """The process has started.

    ``client_version`` is the version that actually runs, and ``library_version`` that of a wrapped library, if there is
    one. ``features`` lists ``producer``, ``idempotence`` and ``transactions`` as far as the client supports them,
    ``trace`` for a client that writes its decisions to the file named by ``KAFKA_TRIAL_TRACE``, ``unplaced`` for a
    client whose application cannot always know where a record was written, and ``client_config`` for a program that
    takes settings under the client's own names.
    """

    client: str
    client_version: str
    language: str
    features: list[str]
    contract_version: Int64
    library_version: str | None = None


class Configured(Event, frozen=True, kw_only=True, tag="configured"):
    """The client is built. ``applied``: Java name -> [own name, value]; ``not_set``: Java name -> why.

    ``client_not_set``: name in ``client_config`` -> why. The others of them are applied.
    """

    id: Int64
    applied: dict[str, tuple[str, Setting]]
    not_set: dict[str, str]
    client_not_set: dict[str, str] = msgspec.field(default_factory=dict)


class OpInvoke(Event, frozen=True, kw_only=True, tag="op_invoke"):
    """The client is about to do ``op``: the op of a load command, flush or close.

    A load command's elements are ``first`` .. ``first + count - 1``.
    """

    op: str
    id: Int64
    first: Int64 = 0
    count: Int64 = 0


class OpComplete(Event, frozen=True, kw_only=True, tag="op_complete"):
    """Results, in columns of equal length. Flush and close have one row, and ``records`` is empty.

    ``records`` are the numbers of the elements. ``outcome`` is ok, fail or info. ``error`` is the client's own name for
    the error, or null. ``offset`` -1 means unknown. ``value`` is what an operation returned, in the notation of its
    workload.
    """

    op: str
    id: Int64
    outcome: list[str]
    error: list[str | None]
    invoke_ns: list[Int64]
    complete_ns: list[Int64]
    records: list[Int64] = msgspec.field(default_factory=list)
    partition: list[Int64] = msgspec.field(default_factory=list)
    offset: list[Int64] = msgspec.field(default_factory=list)
    value: list[str | None] = msgspec.field(default_factory=list)

    @property
    def is_unnumbered(self) -> bool:
        """True for a result in the form of Kafka's own verifiable clients: no number, no wall clock.

        Its ``seq`` is that of the previous event, and its ``mono_ns`` is the time at which the harness read it.
        """
        return self.op == "send" and self.wall_ns == 0


class Stats(Event, frozen=True, kw_only=True, tag="stats"):
    """The heartbeat, once per second. It distinguishes a stuck client from an idle one."""

    sent: Int64
    completed: Int64


class Fatal(Event, frozen=True, kw_only=True, tag="fatal"):
    """The client cannot continue, or could not be built.

    In answer to ``configure``, the error ``ConfigRefused`` means that the client does not accept these settings; the
    trial is then unsupported. At any time, ``ClientCrashed`` means that the client's own code threw where the
    application cannot catch it, which ends the application's process; this is evidence. Any other error is a defect of
    the adapter.
    """

    error: str
    message: str


class UnknownCommand(Event, frozen=True, kw_only=True, tag="unsupported"):
    """The client does not know this command."""

    cmd: str
    id: Int64 = -1


class ShutdownComplete(Event, frozen=True, kw_only=True, tag="shutdown_complete"):
    """The client is closed. No event follows."""


ClientEvent = (
    StartupComplete
    | Configured
    | OpInvoke
    | OpComplete
    | Stats
    | Fatal
    | UnknownCommand
    | ShutdownComplete
    | ConsumerEvent
)

#: The events of a history.
AnyEvent = ClientEvent | HarnessEvent
