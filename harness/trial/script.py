"""The phases of a trial, sans-IO: the next step of a runner, given the results of the previous one.

The live and the simulated runner both execute these scripts, each with its own clock, client and faults. A script is a
generator: it yields a step and receives the facts after that step. The client first completes its first records without
faults, so that a fault hits a connected and active client. During *load* it works while faults come and go. In *heal*
no fault is left, and it may take its delivery timeout and a margin to finish. *final* closes it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum

from harness.model.spec import Workload
from harness.model.units import NS_PER_MS
from harness.trial.pacing import paced
from harness.trial.patience import CLOSE_TIMEOUT_MS

#: How long the first elements may take without any fault. The checks judge those that are still pending then.
WARM_UP_MS = 20_000
#: How long after the load a fault may still begin while the client has pending elements.
CATCH_UP_MS = 5_000
#: The interval at which a runner checks faults and pending results.
WATCH_INTERVAL_MS = 250


class Phase(StrEnum):
    """A phase whose beginning is recorded."""

    LOAD = "load"
    HEAL = "heal"
    FINAL = "final"


@dataclass(frozen=True)
class HandOver:
    """Give the client the command for these elements."""

    numbers: range


@dataclass(frozen=True)
class AwaitResults:
    """Wait until every element has a result, for at most ``timeout_ms``."""

    timeout_ms: int


@dataclass(frozen=True)
class Begin:
    """Record the beginning of a phase. LOAD starts the faults, and HEAL ends all of them."""

    phase: Phase


@dataclass(frozen=True)
class SleepUntil:
    """Wait until ``at_ns``."""

    at_ns: int


@dataclass(frozen=True)
class AwaitFaults:
    """Wait until no fault is active or waiting, for at most ``timeout_ms``."""

    timeout_ms: int


@dataclass(frozen=True)
class CallOffFaults:
    """Call off the faults that have not begun."""


@dataclass(frozen=True)
class Flush:
    """Ask the client to flush, and wait for its response."""

    timeout_ms: int


@dataclass(frozen=True)
class AwaitPending:
    """Wait for pending results until the client has made no progress for longer than it may (``Patience``)."""


@dataclass(frozen=True)
class Close:
    """Ask the client to close, and wait for its end."""

    timeout_ms: int


Step = (
    HandOver | AwaitResults | Begin | SleepUntil | AwaitFaults | CallOffFaults | Flush | AwaitPending | Close
)


@dataclass(frozen=True)
class Facts:
    """The facts after a step.

    ``phase_ns`` is when the latest phase began. ``crashed`` is True if the client crashed in this step.
    """

    now_ns: int
    phase_ns: int
    settled: bool
    crashed: bool = False
    faults_active: bool = False
    faults_pending: bool = False


Script = Generator[Step, Facts, None]


def load_script(load: Workload) -> Script:
    """The script from the first command until no fault may begin any more."""
    commands = list(paced(load))
    first, rest = commands[: load.shape.producers], commands[load.shape.producers :]
    for _, numbers in first:
        facts = yield HandOver(numbers)
    if not facts.crashed:
        facts = yield from _work(load, rest)
    give_up_ns = facts.now_ns + CATCH_UP_MS * NS_PER_MS
    while facts.faults_pending:
        catching_up = not facts.settled and facts.now_ns < give_up_ns
        if not (facts.faults_active or catching_up):
            break
        facts = yield AwaitFaults(WATCH_INTERVAL_MS)
    yield CallOffFaults()


def _work(load: Workload, rest: list[tuple[int, range]]) -> Generator[Step, Facts, Facts]:
    yield AwaitResults(WARM_UP_MS)
    facts = yield Begin(Phase.LOAD)
    began_ns = facts.phase_ns
    for at_ms, numbers in rest:
        yield SleepUntil(began_ns + at_ms * NS_PER_MS)
        facts = yield HandOver(numbers)
        if facts.crashed:
            return facts
    return (yield SleepUntil(began_ns + load.load_ms * NS_PER_MS))


def heal_script(flush_timeout_ms: int) -> Script:
    """The script from the end of all faults to the end of the client."""
    yield Begin(Phase.HEAL)
    facts = yield Flush(flush_timeout_ms)
    if not facts.crashed:
        yield AwaitPending()
    yield Begin(Phase.FINAL)
    yield Close(CLOSE_TIMEOUT_MS)
