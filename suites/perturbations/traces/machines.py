"""Traces of a client that makes an illegal move in a state machine: one perturbation or more for each machine."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.telemetry.trace import StateChanged
from harness.model.verdicts import Verdict
from suites.perturbations.traces.events import gone, of, on_trace, with_fields


def _move(machine: str, cause: str, before: str) -> Callable[[StateChanged], bool]:
    return lambda event: (event.machine, event.cause, event.before) == (machine, cause, before)


PERTURBATIONS = (
    on_trace(
        "trace-illegal-move",
        "takes a batch as stored that was never sent",
        "transition",
        of(StateChanged, _move("batch", "succeed", "IN_FLIGHT")),
        with_fields(before="CLOSED"),
    ),
    on_trace(
        "trace-skipped-move",
        "sends a batch without taking it from its queue",
        ("transition", "bookkeeping"),
        of(StateChanged, _move("batch", "drain", "CLOSED")),
        gone,
    ),
    on_trace(
        "trace-ready-while-connecting",
        "takes a connection as ready that has not been established",
        "transition",
        of(StateChanged, _move("connection", "api-versions", "CHECKING_API_VERSIONS")),
        with_fields(before="CONNECTING"),
        Verdict.DIFFERS,
    ),
    on_trace(
        "trace-unasked-identity",
        "assumes a producer id that it did not request",
        "transition",
        of(StateChanged, _move("producer-id", "initialized", "INITIALIZING")),
        with_fields(before="UNINITIALIZED"),
        Verdict.DIFFERS,
        exactly_once=True,
    ),
    on_trace(
        "trace-retries-unresolved",
        "begins to retry in a partition that waits for the outcome of a batch",
        "transition",
        of(StateChanged, _move("sequence", "goes-again", "CLEAN")),
        with_fields(before="UNRESOLVED"),
        exactly_once=True,
    ),
    on_trace(
        "trace-closed-while-open",
        "is closed while it still accepts records",
        "transition",
        of(StateChanged, _move("life", "drained", "CLOSING")),
        with_fields(before="OPEN"),
    ),
)
