"""Schedules drawn from a table: how many faults, of which kinds, with which parameters, at any moment. Pure.

A table says what may be, a seed what is. The first fault begins with a request of the workload on its way (such as
Produce), so that a schedule says something about the client; the others come as they come, and may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from harness.model.dice import Dice
from harness.model.errors import UsageError
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnFrame, Trigger, Workload
from harness.plugins import registry
from harness.plugins.scenario import DEFAULT_WORKLOAD, Scenario

#: So often a fault is drawn anew that its kind refuses, or that is there already.
TRIES: Final = 1_000


class OneOf(msgspec.Struct, frozen=True):
    """One of these numbers, at least one."""

    one_of: tuple[int, ...]


#: Raises UsageError for a fault that cannot be had.
Accept = Callable[[FaultSpec], None]

#: A number as a table has it: this one, any from the first to the second, one of these.
Amount = int | tuple[int, int] | OneOf


def ends(amount: Amount) -> tuple[int, int]:
    """The least and the greatest that it may be."""
    match amount:
        case int():
            return amount, amount
        case OneOf():
            return min(amount.one_of), max(amount.one_of)
    return amount


def drawn(dice: Dice, amount: Amount) -> int:
    """A number that it may be."""
    return dice.choice(amount.one_of) if isinstance(amount, OneOf) else dice.between(*ends(amount))


class DrawnFrames(msgspec.Struct, frozen=True):
    """Which frames a fault on single frames is for, as :class:`~harness.model.spec.FrameMatch` says it."""

    api: Annotated[
        str | None, Meta(description="Of which API, as the protocol names it; else the workload's.")
    ] = None
    direction: Annotated[str, Meta(description="request or response.")] = "response"
    first: Annotated[Amount, Meta(description="Of those that fit, the first that is meant, from 1.")] = 1
    count: Annotated[Amount, Meta(description="How many are meant from there on.")] = 1

    def drawn(self, dice: Dice, api: str) -> FrameMatch:
        """Return one such match. ``api`` is that of the workload."""
        return FrameMatch(self.api or api, self.direction, drawn(dice, self.first), drawn(dice, self.count))


@dataclass(frozen=True)
class DrawnKind:
    """A kind of fault, how long it lasts, its parameters, on which broker (none: on all), and for which frames."""

    kind: str
    duration_ms: Amount
    params: Mapping[str, Amount] = field(default_factory=dict)
    broker: Amount | None = None
    frames: DrawnFrames | None = None

    def drawn(self, dice: Dice, start: Trigger, accept: Accept, api: str) -> FaultSpec:
        """One such fault that ``accept`` accepts. Its UsageError where there seems to be none."""
        for _ in range(TRIES):
            fault = FaultSpec(
                kind=self.kind,
                start=start,
                duration_ms=drawn(dice, self.duration_ms),
                params={name: drawn(dice, amount) for name, amount in self.params.items()},
                brokers=() if self.broker is None else (drawn(dice, self.broker),),
                frames=None if self.frames is None else self.frames.drawn(dice, api),
            )
            try:
                accept(fault)
            except UsageError as error:
                refused = error
            else:
                return fault
        raise refused


@dataclass(frozen=True)
class FaultTable:
    """``faults`` of them a schedule, of these kinds, within the load of ``workload``."""

    faults: Amount
    kinds: tuple[DrawnKind, ...]
    workload: Workload = DEFAULT_WORKLOAD
    accept: Accept = lambda _: None

    def schedule(self, dice: Dice) -> tuple[FaultSpec, ...]:
        """A schedule without any fault twice; fewer faults where there are not so many different ones."""
        load_ms, count = self.workload.load_ms, drawn(dice, self.faults)
        api = registry.workload(self.workload.kind).api

        def more() -> Iterable[FaultSpec]:
            yield dice.choice(self.kinds).drawn(dice, on_its_way(dice, load_ms, api), self.accept, api)
            for _ in range(TRIES):
                yield dice.choice(self.kinds).drawn(dice, any_moment(dice, load_ms, api), self.accept, api)

        return unlike(more(), count)


@dataclass(frozen=True)
class DrawnScenario(Scenario):
    """A scenario that can stand behind any table of faults; ``unfair`` says why a fault could not be judged by it."""

    unfair: Callable[[FaultSpec], str | None] = lambda _: None


def on_its_way(dice: Dice, load_ms: int, api: str) -> OnFrame:
    """When a request of ``api`` is on its way, in the first half of the load."""
    return OnFrame(api, "request", 1, after_ms=dice.between(0, load_ms // 2))


def any_moment(dice: Dice, load_ms: int, api: str) -> Trigger:
    """Some time of the load, or the traffic from then on: not at its very end, for there must be something to hit."""
    at_ms = dice.between(0, 7 * load_ms // 8)
    if dice.between(0, 2) == 0:
        return AtTime(at_ms)
    direction = dice.choice(("request", "response"))
    return OnFrame(api, direction, nth=dice.between(1, 3), after_ms=at_ms)


def unlike(faults: Iterable[FaultSpec], count: int | None = None) -> tuple[FaultSpec, ...]:
    """Each of them once, ``count`` at most: a plan with the very same fault twice is refused."""
    kept: list[FaultSpec] = []
    for fault in faults:
        if len(kept) == count:
            break
        if fault not in kept:
            kept.append(fault)
    return tuple(kept)
