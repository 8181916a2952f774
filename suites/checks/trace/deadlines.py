"""# deadlines

## What it does

Checks every time limit of the client with a clock that runs on its trace: requests, connection setup,
backoffs, throttling and idleness of connections; the age and the backoff of metadata; linger, retries and
delivery of batches; blocked sends; close. Nothing may happen before its time, and nothing that the client
alone decides may happen after it.

## Why it is bad

A client that is early sends requests to brokers more often than they can bear, or gives up what would have
succeeded. One that is late leaves the application waiting for results that it was promised.

## How it is judged per guarantee

- **all**: forbidden. In simulated mode an event may be 2 ms late. In live mode it may be 1,500 ms
  late, and lateness within 5 seconds of a stall is inconclusive.

## What it needs

The client's own trace; clients without one are not judged. A new connection or a retry need not happen soon,
because it does not depend on the client alone. The check also does not judge whether flush() or a full batch
is the true reason for ending linger early. Metadata requests that are too early are judged until
metadata.max.idle.ms has passed.

## References

NET-TMO-01, -04, NET-CON-05 to -08, -12, -14 (KIP-144, KIP-601, KIP-219), MET-01 to -03, -11, -14 (KIP-580),
PRD-ACC-02 to -04, -09, PRD-EXP-01, -02, -05 (KIP-91), PRD-CLS-04, -07.
"""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.telemetry.trace import TraceEvent
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee
from harness.plugins.check import Check, Inconclusive
from suites.analysis.disturbance import stalled_by
from suites.analysis.excuses import grants
from suites.checks.trace.application_clocks import ApplicationClocks
from suites.checks.trace.batch_clocks import BatchClocks
from suites.checks.trace.clocks import Clocks, Limits, together
from suites.checks.trace.metadata_clocks import MetadataClocks
from suites.checks.trace.network_clocks import ConnectionClocks
from suites.checks.trace.situations import judged
from suites.checks.trace.trace_model import (
    SHOULD,
    Breach,
    Monitor,
    accusation,
    breach_anomaly,
    events_of,
    number,
)

DEADLINES = breach_anomaly("deadlines")
SIMULATED_SLACK_MS, LIVE_SLACK_MS = 2, 1_500
#: The time within which a client catches up after a stall.
LOOK_BACK_MS = 5_000


class Deadlines(Monitor):
    """All clocks, in one pass. ``early`` holds what happened too early or with a wrong length, ``late`` the rest."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        kinds = (ConnectionClocks, MetadataClocks, BatchClocks, ApplicationClocks)
        self._parts: list[Clocks] = [kind(limits) for kind in kinds]
        self.handlers = together(self._parts)

    def watch(self, events: Sequence[TraceEvent]) -> list[Breach]:
        super().watch(events)
        if events:
            for part in self._parts:
                part.overdue(events[-1].at_ms)
        return sorted(self.early + self.late, key=lambda breach: breach.at_ms)

    @property
    def early(self) -> list[Breach]:
        return [breach for part in self._parts for breach in part.breaches]

    @property
    def late(self) -> list[Breach]:
        return [breach for part in self._parts for breach in part.late]


#: The close() of a trial has this timeout, in either mode.
CLOSE_TIMEOUT_MS = 10_000


def limits_of(evidence: Evidence) -> Limits:
    """Return the limits from the trial's settings and its mode."""

    def ms(name: str, default: int) -> int:
        return number(evidence, name, default)

    reconnect_ms = ms("reconnect.backoff.ms", 50)
    is_constant = "reconnect.backoff.ms" in evidence.record.spec.config
    request_ms, linger_ms = ms("request.timeout.ms", 30_000), ms("linger.ms", 5)
    simulated = evidence.record.spec.broker.startswith("scripted:")
    return Limits(
        request_ms=request_ms,
        setup_ms=ms("socket.connection.setup.timeout.ms", 10_000),
        setup_max_ms=ms("socket.connection.setup.timeout.max.ms", 30_000),
        reconnect_ms=reconnect_ms,
        reconnect_max_ms=ms("reconnect.backoff.max.ms", reconnect_ms if is_constant else 1_000),
        retry_ms=ms("retry.backoff.ms", 100),
        retry_max_ms=ms("retry.backoff.max.ms", 1_000),
        delivery_ms=ms("delivery.timeout.ms", max(120_000, linger_ms + request_ms)),
        linger_ms=linger_ms,
        max_block_ms=ms("max.block.ms", 60_000),
        metadata_max_age_ms=ms("metadata.max.age.ms", 300_000),
        metadata_max_idle_ms=ms("metadata.max.idle.ms", 300_000),
        connections_max_idle_ms=ms("connections.max.idle.ms", 540_000),
        close_ms=CLOSE_TIMEOUT_MS,
        answers_produce=str(evidence.record.spec.config.get("acks", "all")) != "0",
        slack_ms=SIMULATED_SLACK_MS if simulated else LIVE_SLACK_MS,
    )


def run(evidence: Evidence) -> list[Finding]:
    """Return one finding per requirement, which counts the limits that were not kept."""
    limits = limits_of(evidence)
    monitor = Deadlines(limits)
    breaches = monitor.watch(events_of(evidence))
    if limits.slack_ms != LIVE_SLACK_MS:
        return accusation(DEADLINES, breaches)
    stalls = [None if breach in monitor.early else _stalled(evidence, breach) for breach in breaches]
    accused = [breach for breach, stall in zip(breaches, stalls, strict=True) if stall is None]
    if breaches and not accused:
        kind, stalled_ms = next(stall for stall in stalls if stall is not None)
        told = accusation(DEADLINES, breaches)[0]
        raise Inconclusive(kind.reason(of=told.anomaly, told=told.message, stalled_ms=stalled_ms))
    return accusation(DEADLINES, accused)


@grants("stalled-before-deadline")
def _stalled(evidence: Evidence, late: Breach) -> tuple[ReasonKind, int] | None:
    """Return what stalled shortly before a late event. The trace uses the machine's monotonic clock."""
    return stalled_by(evidence, (late.at_ms - LOOK_BACK_MS) * NS_PER_MS, late.at_ms * NS_PER_MS)


CHECK = Check(
    name="deadlines",
    summary="Events that happened before their time, or that the client let become late.",
    requirements=(
        *(judged(f"NET-TMO-0{n}", SHOULD) for n in (1, 4)),
        *(judged(f"NET-CON-{n}", SHOULD) for n in ("05", "06", "07", "08", "12", "14")),
        *(judged(f"MET-{n}", SHOULD) for n in ("01", "02", "03", "11", "14")),
        *(judged(f"PRD-ACC-0{n}", SHOULD) for n in (2, 3, 4, 9)),
        *(judged(f"PRD-EXP-0{n}", SHOULD) for n in (1, 2, 5)),
        *(judged(f"PRD-CLS-0{n}", SHOULD) for n in (4, 7)),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"trace"}),
    killed_mutant="never_expires",
    run=run,
)
