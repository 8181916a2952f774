"""Schedules that are drawn from a table: how many faults, of which kinds, with which parameters, and when. Pure.

The table gives the possible values, and the seed selects among them. The first fault starts while a request of the
workload (such as Produce) is in flight, so that every schedule affects the client. The others start at any moment and
may overlap.
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

#: How often a fault is drawn again because its kind refuses it, or because the schedule already has it.
TRIES: Final = 1_000


class OneOf(msgspec.Struct, frozen=True):
    """One of these numbers; there is at least one."""

    one_of: tuple[int, ...]


#: Raises UsageError for a fault that cannot be made.
Accept = Callable[[FaultSpec], None]

#: A number in a table: a fixed one, a range, or one of several.
Amount = int | tuple[int, int] | OneOf


def ends(amount: Amount) -> tuple[int, int]:
    """Return the least and the greatest possible number."""
    match amount:
        case int():
            return amount, amount
        case OneOf():
            return min(amount.one_of), max(amount.one_of)
    return amount


def drawn(dice: Dice, amount: Amount) -> int:
    """Draw a number."""
    return dice.choice(amount.one_of) if isinstance(amount, OneOf) else dice.between(*ends(amount))


class DrawnFrames(msgspec.Struct, frozen=True):
    """The frames that a fault on single frames applies to; see :class:`~harness.model.spec.FrameMatch`."""

    api: Annotated[
        str | None, Meta(description="The API by its name in the protocol; default: the workload's.")
    ] = None
    direction: Annotated[str, Meta(description="request or response.")] = "response"
    first: Annotated[
        Amount, Meta(description="The number of the first matching frame to act on, from 1.")
    ] = 1
    count: Annotated[Amount, Meta(description="How many matching frames to act on.")] = 1

    def drawn(self, dice: Dice, api: str) -> FrameMatch:
        """Draw a match. ``api`` is that of the workload."""
        return FrameMatch(self.api or api, self.direction, drawn(dice, self.first), drawn(dice, self.count))


@dataclass(frozen=True)
class DrawnKind:
    """A kind of fault: its duration, its parameters, its broker (None for all), and its frames."""

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
    """A table of ``faults`` faults per schedule, of these kinds, within the load of ``workload``."""

    faults: Amount
    kinds: tuple[DrawnKind, ...]
    workload: Workload = DEFAULT_WORKLOAD
    accept: Accept = lambda _: None

    def schedule(self, dice: Dice) -> tuple[FaultSpec, ...]:
        """Draw a schedule of distinct faults. It has fewer faults if there are not enough different ones."""
        load_ms, count = self.workload.load_ms, drawn(dice, self.faults)
        api = registry.workload(self.workload.kind).api

        def more() -> Iterable[FaultSpec]:
            yield dice.choice(self.kinds).drawn(dice, on_its_way(dice, load_ms, api), self.accept, api)
            for _ in range(TRIES):
                yield dice.choice(self.kinds).drawn(dice, any_moment(dice, load_ms, api), self.accept, api)

        return unlike(more(), count)


@dataclass(frozen=True)
class DrawnScenario(Scenario):
    """A scenario that can judge any table of faults. ``unfair`` returns why a fault cannot be judged by it, or None."""

    unfair: Callable[[FaultSpec], str | None] = lambda _: None


def on_its_way(dice: Dice, load_ms: int, api: str) -> OnFrame:
    """Return a trigger in the first half of the load, while a request of ``api`` is in flight."""
    return OnFrame(api, "request", 1, after_ms=dice.between(0, load_ms // 2))


def any_moment(dice: Dice, load_ms: int, api: str) -> Trigger:
    """Return a trigger by time or by traffic.

    It is not at the very end of the load, so that the fault can still hit something.
    """
    at_ms = dice.between(0, 7 * load_ms // 8)
    if dice.between(0, 2) == 0:
        return AtTime(at_ms)
    direction = dice.choice(("request", "response"))
    return OnFrame(api, direction, nth=dice.between(1, 3), after_ms=at_ms)


def unlike(faults: Iterable[FaultSpec], count: int | None = None) -> tuple[FaultSpec, ...]:
    """Return at most ``count`` distinct faults. A plan that has the same fault twice is refused."""
    kept: list[FaultSpec] = []
    for fault in faults:
        if len(kept) == count:
            break
        if fault not in kept:
            kept.append(fault)
    return tuple(kept)
