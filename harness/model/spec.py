"""What is to be run, as plain data: triggers, faults, workloads, clients, trials, plans.

Behaviour lives elsewhere (a fault's in ``faults``, a client's behind the contract); these can be stored,
compared, generated and shrunk without importing any of it.
"""

from __future__ import annotations

import msgspec

from harness.model.verdicts import Guarantee

#: The version of a client that is anybody's command.
OWN = "own"


class Elapsed(msgspec.Struct, frozen=True, tag="elapsed", tag_field="on"):
    """A moment ``ms`` after the load phase began."""

    ms: int


class FrameSeen(msgspec.Struct, frozen=True, tag="frame", tag_field="on"):
    """The moment when the witness saw the ``nth`` frame (from 1) of this kind, counted from ``after_ms`` of load on."""

    api: str
    direction: str = "response"
    nth: int = 1
    partition: int | None = None
    after_ms: int = 0


class ClientTold(msgspec.Struct, frozen=True, tag="client", tag_field="on"):
    """The moment when the client had told of its ``nth`` record (from 1), counted from ``after_ms`` of load on.

    ``what``: "invoke" for a call of send, or the outcome of one: "ok", "fail", "info".
    """

    what: str = "ok"
    nth: int = 1
    after_ms: int = 0


class PhaseBegan(msgspec.Struct, frozen=True, tag="phase", tag_field="on"):
    """The beginning of a phase: "startup", before the client is told its configuration, or "load"."""

    phase: str


Trigger = Elapsed | FrameSeen | ClientTold | PhaseBegan


class FrameMatch(msgspec.Struct, frozen=True):
    """Which frames a fault is for: of those that fit, ``count`` of them from the ``first`` (from 1) on.

    ``version``, ``client_id``, ``partition`` (of Produce), ``error_code`` (of a response) and ``connection`` (its
    number, from 1 in each trial) narrow it down; null is any.
    """

    api: str
    direction: str = "response"
    first: int = 1
    count: int = 1
    version: int | None = None
    client_id: str | None = None
    partition: int | None = None
    error_code: int | None = None
    connection: int | None = None


class FaultSpec(msgspec.Struct, frozen=True):
    """One fault: ``kind`` starts at ``start`` on the lane of its trial and lasts ``duration_ms``.

    It ends ``until`` if that comes before. ``params`` are whole numbers named with their unit, as the kind declares
    them; ``brokers`` are node ids, empty for all. ``frames`` are for the kinds that act on single frames.
    """

    kind: str
    start: Trigger
    duration_ms: int
    params: dict[str, int] = {}
    brokers: tuple[int, ...] = ()
    frames: FrameMatch | None = None
    until: Trigger | None = None


class Workload(msgspec.Struct, frozen=True):
    """What the client is asked to do during load: ``records`` in commands of ``chunk`` every ``interval_ms``.

    ``kind`` names the workload (:class:`harness.plugins.workload.WorkloadKind`), and ``params`` are its own parameters,
    as whole numbers named with their unit. Where a workload is not about records, these are its elements.
    """

    records: int = 2_400
    chunk: int = 60
    interval_ms: int = 150
    partitions: int = 3
    keys: int = 40
    value_bytes: int = 160
    kind: str = "produce"
    params: dict[str, int] = {}

    @property
    def load_ms(self) -> int:
        """How long the load phase is meant to last."""
        return -(-self.records // self.chunk) * self.interval_ms


class ClientRef(msgspec.Struct, frozen=True):
    """A client under test: a registered ``name`` at a ``version``, or anybody's ``command``, whose version is OWN.

    ValueError for a command with another version: it would pass for what it is not.
    """

    name: str
    version: str
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.command and self.version != OWN:
            raise ValueError(f"a client that is a command has the version {OWN!r}, not {self.version[:80]!r}")

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class TrialSpec(msgspec.Struct, frozen=True):
    """One client@version x one broker x one scenario x one guarantee x one seed.

    ``variant`` names what a campaign file adds to the scenario (a configuration, a generated schedule), empty: nothing.
    ``attempt`` counts from 1 how often the very same was tried.
    """

    trial: str
    client: ClientRef
    broker: str
    scenario: str
    guarantee: Guarantee
    seed: int
    workload: Workload
    faults: tuple[FaultSpec, ...]
    config: dict[str, str | int | bool]
    alone: bool = False
    variant: str = ""
    attempt: int = 1


class Plan(msgspec.Struct, frozen=True):
    """The trials of one run, in the order in which they start."""

    seed: int
    trials: tuple[TrialSpec, ...]
