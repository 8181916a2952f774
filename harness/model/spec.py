"""What is to be run, as plain data: triggers, faults, workloads, clients, trials, plans.

Behaviour is defined elsewhere (of a fault in ``faults``, of a client in its adapter). These objects can be stored,
compared, generated and shrunk without importing any of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from harness.model.load import Load, bounds, drawn_size, due_ms, mean_bytes
from harness.model.verdicts import Guarantee

#: The version of a client that is given as a command.
OWN = "own"
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,39}", re.ASCII)


class AtTime(msgspec.Struct, frozen=True, tag="elapsed", tag_field="on"):
    """The time ``ms`` after the load phase began."""

    ms: int


class OnFrame(msgspec.Struct, frozen=True, tag="frame", tag_field="on"):
    """The time when the witness saw the ``nth`` such frame (from 1), counted from ``after_ms`` of the load phase."""

    api: str
    direction: str = "response"
    nth: int = 1
    partition: int | None = None
    after_ms: int = 0


class OnClientEvent(msgspec.Struct, frozen=True, tag="client", tag_field="on"):
    """The time when the client reported its ``nth`` record (from 1), counted from ``after_ms`` of the load phase.

    ``what`` is "invoke" for a call of send, or the outcome of one: "ok", "fail", "info".
    """

    what: str = "ok"
    nth: int = 1
    after_ms: int = 0


class OnPhase(msgspec.Struct, frozen=True, tag="phase", tag_field="on"):
    """The beginning of a phase: "startup", before the client is configured, or "load"."""

    phase: str


Trigger = AtTime | OnFrame | OnClientEvent | OnPhase


class FrameMatch(msgspec.Struct, frozen=True):
    """The frames that a fault acts on: ``count`` of the matching frames, from the ``first`` (from 1) on.

    ``version``, ``client_id``, ``partition`` (of Produce), ``error_code`` (of a response) and ``connection`` (its
    number, from 1 in each trial) restrict the match; null matches any.
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

    It ends at ``until`` if that is earlier. ``params`` are whole numbers named with their unit, as the kind declares
    them; ``brokers`` are node ids, empty for all. ``frames`` is for the kinds that act on single frames.
    """

    kind: str
    start: Trigger
    duration_ms: int
    params: dict[str, int] = {}
    brokers: tuple[int, ...] = ()
    frames: FrameMatch | None = None
    until: Trigger | None = None


_PLAIN = Load()
#: The room for the identity in a value: marks, names, a number and a checksum.
IDENTITY_BYTES = 128
#: The largest load of the user's own that is traced.
TRACED_RECORDS = 20_000


class Workload(msgspec.Struct, frozen=True):
    """What the client does during load: ``records`` in commands of ``records_per_command`` every ``interval_ms``.

    ``kind`` names the workload (:class:`harness.plugins.workload.WorkloadKind`), and ``params`` are its own parameters,
    as whole numbers named with their unit. For a workload that does not send records, ``records`` counts its elements.
    ``load`` has what the user chose besides: sizes, rate, bursts, skew, producers, topics.
    """

    records: int = 2_400
    records_per_command: int = 60
    interval_ms: int = 150
    partitions: int = 3
    keys: int = 40
    value_bytes: int = 160
    kind: str = "produce"
    params: dict[str, int] = {}
    load: Load | None = None

    @property
    def shape(self) -> Load:
        """The load, with the defaults of a workload that has none."""
        return self.load or _PLAIN

    @property
    def is_traced(self) -> bool:
        """True if clients write their decisions: those about a large load are too many, and none are told by topic."""
        return self.load is None or (self.load.topics == 1 and self.records <= TRACED_RECORDS)

    @property
    def load_ms(self) -> int:
        """The planned duration of the load phase."""
        if self.shape.rate:
            return -(-self.records * 1_000 // self.shape.rate)
        return -(-self.records // self.records_per_command) * self.interval_ms

    @property
    def warm_up(self) -> int:
        """The number of records before the load phase: the first command of each producer."""
        return min(self.records, self.records_per_command * self.shape.producers)

    @property
    def largest_bytes(self) -> int:
        """The size of the largest value that the load may have."""
        body = max((len(line.encode()) for line in self.shape.payloads), default=0)
        drawn = self.value_bytes if self.shape.sizes is None else bounds(self.shape.sizes)[1]
        return body + IDENTITY_BYTES if body else drawn

    @property
    def mean_bytes(self) -> int:
        """The mean size of a value."""
        if lines := self.shape.payloads:
            return sum(len(line.encode()) for line in lines) // len(lines) + IDENTITY_BYTES
        return self.value_bytes if self.shape.sizes is None else mean_bytes(self.shape.sizes)

    def turn_of(self, n: int) -> int:
        """Return the number of the command that hands over record ``n``, from 0."""
        return n // self.records_per_command

    def at_ms(self, turn: int) -> int:
        """Return when a command is due, in milliseconds since the load began."""
        if self.shape.rate:
            return due_ms(self.shape, turn * self.records_per_command)
        return turn * self.interval_ms

    def producer_of(self, n: int) -> str:
        """Return the name of the producer of record ``n``. Commands go to the producers in turn."""
        return f"p{self.turn_of(n) % self.shape.producers + 1}"

    def topic_of(self, n: int) -> int:
        """Return the index of the topic of record ``n``. Each producer sends its commands to the topics in turn."""
        return self.turn_of(n) // self.shape.producers % self.shape.topics

    def size_of(self, n: int) -> int:
        """Return the size of the value of record ``n``, unless its identity alone is larger."""
        sizes = self.shape.sizes
        return self.value_bytes if sizes is None else drawn_size(sizes, self.shape.draw, n)

    def body_of(self, n: int) -> str | None:
        """Return the body of the value of record ``n``, or None if it is padding."""
        lines = self.shape.payloads
        return lines[n % len(lines)] if lines else None


def is_version(text: str) -> bool:
    """True if a command may have this version: up to 40 letters, digits, dots, hyphens, underscores and pluses."""
    return _VERSION.fullmatch(text) is not None


class ClientRef(msgspec.Struct, frozen=True):
    """A client under test: a registered ``name`` at a ``version``, or a ``command`` of the user.

    The version of a command is the one that it announces, or OWN.

    A command runs in ``folder``; empty means the current one. ``env`` names the environment variables that the client
    gets besides the usual ones; their values are not stored.

    Raises ValueError for a command with a version that is none, since it could look like another client.
    """

    name: str
    version: str
    command: tuple[str, ...] = ()
    folder: str = ""
    env: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.command and not is_version(self.version):
            raise ValueError(f"a client that is a command cannot have the version {self.version[:80]!r}")

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class Origin(StrEnum):
    """Where the value of a setting comes from."""

    PROFILE = "profile"
    SCENARIO = "scenario"
    SEED = "seed"
    GUARANTEE = "guarantee"
    USER = "user"


def own_name(client: str, key: str) -> str:
    """Return the name of a client's own setting beside those in the Java names."""
    return f"{client}:{key}"


def upgraded(
    config: Mapping[str, str | int | bool], change: Mapping[str, str | int | bool | None]
) -> dict[str, str | int | bool]:
    """Return settings with a change, in which None takes a setting away."""
    return {name: value for name, value in {**config, **change}.items() if value is not None}


class TrialSpec(msgspec.Struct, frozen=True):
    """One client@version x one broker x one scenario x one guarantee x one seed.

    ``variant`` names what the user adds to the scenario (a generated schedule, a configuration, settings); empty means
    nothing. ``attempt`` numbers repetitions of the same trial from 1. ``config`` holds the settings in the Java names,
    ``client_config`` those of this client alone, under its own names and as text. ``origins`` says where a setting of
    ``config`` comes from (:class:`Origin`); those that it lacks are of the common profile. ``companions`` are other
    clients in the group of the client under test, each in a place of its own. They are not judged. ``upgrades`` are
    what the second, third, ... process in each place of a group changes in ``config``, where null takes a setting away.
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
    exclusive_cluster: bool = False
    variant: str = ""
    attempt: int = 1
    client_config: dict[str, str] = {}
    origins: dict[str, str] = {}
    companions: tuple[ClientRef, ...] = ()
    upgrades: tuple[dict[str, str | int | bool | None], ...] = ()

    @property
    def configs(self) -> tuple[dict[str, str | int | bool], ...]:
        """The settings of the first process in each place of a group, and of those that follow it there."""
        return (self.config, *(upgraded(self.config, each) for each in self.upgrades))

    @property
    def clients(self) -> tuple[ClientRef, ...]:
        """The client under test and its companions."""
        return (self.client, *self.companions)

    @property
    def chosen(self) -> dict[str, str | int | bool]:
        """The settings that the user chose, a client's own with its name before them: ``CLIENT:KEY``."""
        of_user = {
            name: value for name, value in self.config.items() if self.origins.get(name) == Origin.USER
        }
        return of_user | {own_name(self.client.name, key): value for key, value in self.client_config.items()}


class Plan(msgspec.Struct, frozen=True):
    """The trials of one run, in the order in which they start."""

    seed: int
    trials: tuple[TrialSpec, ...]
