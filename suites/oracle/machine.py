"""The form of an oracle of a state machine, and its comparison with the table of a client.

States and events have the names that a trace gives them. A move that is not listed is illegal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

Moves = Mapping[tuple[str, str], str]
"""Maps a state and an event to the next state."""


@dataclass(frozen=True, slots=True)
class Move:
    """A legal move. ``source`` is where Kafka says so.

    ``departure`` says where the reference client deliberately differs from Java in this move, and why.
    """

    before: str
    event: str
    after: str
    source: str
    departure: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A move that Java's client has or does not refuse, and the reference client deliberately lacks."""

    before: str
    event: str
    after: str
    source: str
    reason: str


@dataclass(frozen=True)
class MachineOracle:
    """What a machine may do.

    ``requirement`` is the behaviour that an illegal move violates, unless ``special`` has another one for its state and
    event. ``final`` are the states of a result.
    """

    name: str
    about: str
    initial: str
    requirement: str
    moves: tuple[Move, ...]
    left_out: tuple[LeftOut, ...] = ()
    final: frozenset[str] = frozenset()
    special: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.table) < len(self.moves):
            raise ValueError(f"{self.name}: two moves have the same state and event")

    @cached_property
    def table(self) -> Moves:
        """The legal moves."""
        return {(move.before, move.event): move.after for move in self.moves}

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Every state of a legal move, in their order."""
        return tuple(dict.fromkeys(state for move in self.moves for state in (move.before, move.after)))

    @cached_property
    def events(self) -> tuple[str, ...]:
        """Every event of a legal move, in their order."""
        return tuple(dict.fromkeys(move.event for move in self.moves))

    def violated_by(self, before: str, event: str) -> str:
        """Return the behaviour that an illegal move from ``before`` by ``event`` violates."""
        return self.special.get((before, event), self.requirement)


@dataclass(frozen=True, slots=True)
class Table:
    """The table of a client, by the names of its trace."""

    initial: str
    states: frozenset[str]
    events: frozenset[str]
    moves: Moves


def differences(oracle: MachineOracle, client: Table) -> list[str]:
    """Return one line for each difference: what the oracle says and from which source, and what the client has."""
    found = [] if client.initial == oracle.initial else [_initial(oracle, client)]
    found += _names("state", frozenset(oracle.states), client.states)
    found += _names("event", frozenset(oracle.events), client.events)
    for move in oracle.moves:
        after = client.moves.get((move.before, move.event))
        if after != move.after:
            kind, has = (
                ("missing", "does not have it") if after is None else ("different", f"goes to {after}")
            )
            said = f"{move.before} --{move.event}--> {move.after} ({move.source})"
            found.append(f"{kind}: the oracle says {said}, the client {has}")
    for (before, event), after in client.moves.items():
        if (before, event) not in oracle.table:
            found.append(f"extra: the client has {before} --{event}--> {after}, the oracle does not")
    return found


def _initial(oracle: MachineOracle, client: Table) -> str:
    return f"different: the oracle starts in {oracle.initial}, the client in {client.initial}"


def _names(kind: str, wanted: frozenset[str], found: frozenset[str]) -> list[str]:
    missing = [f"missing: the client has no {kind} {name}" for name in sorted(wanted - found)]
    return missing + [f"extra: the oracle has no {kind} {name}" for name in sorted(found - wanted)]
