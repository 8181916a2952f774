"""Time limits from the settings, and the base class of the monitors that check them.

A clock knows only what the client's events show. A limit is therefore judged only if the client alone decides
when it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from clients.reference.telemetry.trace import StateChanged, TraceEvent
from suites.checks.trace.trace_model import Breach, Handler, Monitor


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that limit times, in ms. ``slack_ms`` is how late an event may be."""

    request_ms: int = 30_000
    setup_ms: int = 10_000
    setup_max_ms: int = 30_000
    reconnect_ms: int = 50
    reconnect_max_ms: int = 1_000
    retry_ms: int = 100
    retry_max_ms: int = 1_000
    delivery_ms: int = 120_000
    linger_ms: int = 5
    max_block_ms: int = 60_000
    metadata_max_age_ms: int = 300_000
    metadata_max_idle_ms: int = 300_000
    connections_max_idle_ms: int = 540_000
    close_ms: int = 10_000
    answers_produce: bool = True
    slack_ms: int = 2


@lru_cache(maxsize=1_024)
def growing_ms(base_ms: int, max_ms: int, earlier: int) -> tuple[int, int]:
    """Return the shortest and the longest backoff after this many earlier failures.

    It doubles each time, with a jitter of 20 % either way.
    """
    if max_ms <= base_ms:
        return max_ms, max_ms
    plain_ms = min(base_ms << min(earlier, 31), max_ms)
    return int(plain_ms * 0.8), min(ceil(plain_ms * 1.2), max_ms)


class Clocks(Monitor):
    """A monitor of time limits. ``late`` holds the breaches that a stalled machine could explain.

    ``moved`` is called with the state changes of ``machines``.
    """

    machines: tuple[str, ...] = ()

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.late: list[Breach] = []

    def too_late(self, requirement: str, at_ms: int, subject: str, what: str) -> None:
        self.late.append(Breach(requirement, at_ms, subject, what))

    def moved(self, event: StateChanged) -> None:
        """Handle a state change of one of ``machines``."""

    def overdue(self, now_ms: int) -> None:
        """Report what should have happened by ``now_ms``, when the trace ends."""


def together(parts: list[Clocks]) -> dict[type[TraceEvent], Handler]:
    """Return one handler per kind of event, for all parts that handle it.

    State changes go only to the parts that name their machine.
    """
    handlers: dict[type[TraceEvent], list[Handler]] = {}
    movers: dict[str, list[Handler]] = {}
    for part in parts:
        for kind, handler in part.handlers.items():
            handlers.setdefault(kind, []).append(handler)
        for machine in part.machines:
            movers.setdefault(machine, []).append(part.moved)
    mover_of = {machine: _all_of(each) for machine, each in movers.items()}.get

    def moved(event: StateChanged) -> None:
        mover = mover_of(event.machine)
        if mover is not None:
            mover(event)

    return {kind: _all_of(each) for kind, each in handlers.items()} | {StateChanged: moved}


def _all_of(handlers: list[Handler]) -> Handler:
    if len(handlers) == 1:
        return handlers[0]

    def handle(event: TraceEvent) -> None:
        for handler in handlers:
            handler(event)

    return handle
