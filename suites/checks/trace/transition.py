"""# transition

## What it does

Follows every state machine of the client through its trace: each connection, each batch, the producer id, the
transactions, each partition's sequence numbers, and the producer itself. Every move must be in the oracle's table
([state machines](machines/README.md)), which is written from Kafka's sources and not from the client, and
begin where the previous one ended. A batch must take exactly one final state.

## Why it is bad

A move that is not in the table leads to a state that the design does not expect: a request on a connection
whose versions are unknown, a second result for a record, a sequence that continues after a gap. It may do no
harm today.

## How it is judged per guarantee

- **all**: forbidden.

## What it needs

The client's own trace; clients without one are not judged.

## References

NET-CON-01, NET-CON-11 (KIP-35, KIP-152), PRD-FIN-01 to PRD-FIN-03 (ProducerBatch.finalState), PRD-IDM-07,
PRD-IDM-11 (KIP-360), PRD-TXN-02, -07, -19, -20 (TransactionManager.State), PRD-CLS-03 (Sender.run).
"""

from __future__ import annotations

from clients.reference.telemetry.trace import BatchEnded, StateChanged
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee
from harness.plugins.check import Check
from suites.analysis.promises import EXACTLY_ONCE
from suites.checks.trace.situations import judged
from suites.checks.trace.trace_model import (
    FINAL,
    MUST,
    SHOULD,
    Monitor,
    accusation,
    breach_anomaly,
    events_of,
)
from suites.oracle import MACHINES

_FORGOTTEN = frozenset({"DISCONNECTED", "AUTHENTICATION_FAILED"})


class Transitions(Monitor):
    """The current state of every machine, and which batches were reported as ended."""

    def __init__(self) -> None:
        super().__init__()
        self._states: dict[str, dict[str, str]] = {machine: {} for machine in MACHINES}
        self._reported: set[str] = set()
        self.handlers = {StateChanged: self._moved, BatchEnded: self._ended}

    def _moved(self, event: StateChanged) -> None:
        machine, subject, before, after = event.machine, event.subject, event.before, event.after
        states = self._states.get(machine)
        if states is None:
            return
        oracle = MACHINES[machine]
        last = states.get(subject) or oracle.initial
        states[subject] = after
        if oracle.table.get((before, event.cause)) != after:
            self._illegal(event, f"went from {before} to {after} by {event.cause}, which is in no table")
        elif last != before and not self._is_new_address(event, last):
            self._illegal(event, f"left {before} by {event.cause}, although it was {last}")

    @staticmethod
    def _is_new_address(event: StateChanged, last: str) -> bool:
        """True if the node has a new address. It then starts again, whatever happened at the old one (NET-CON-10)."""
        return event.machine == "connection" and event.cause == "connect" and last in _FORGOTTEN

    def _illegal(self, event: StateChanged, what: str) -> None:
        rule = MACHINES[event.machine].violated_by(event.before, event.cause)
        self.accuse(rule, event, f"{event.machine} {event.subject}".strip(), what)

    def _ended(self, event: BatchEnded) -> None:
        state = self._states["batch"].get(event.batch)
        if event.batch in self._reported:
            self.accuse("PRD-FIN-01", event, event.batch, "took a second final state")
        elif state not in FINAL:
            self.accuse("PRD-FIN-01", event, event.batch, f"was reported as ended in the state {state}")
        elif (state == "SUCCEEDED") is bool(event.error):
            told = event.error or "stored"
            self.accuse("PRD-FIN-01", event, event.batch, f"was reported as {told} in the state {state}")
        self._reported.add(event.batch)


ANOMALY = breach_anomaly("transition")


def run(evidence: Evidence) -> list[Finding]:
    """Return one finding per requirement, which counts the moves and ends that are not allowed."""
    return accusation(ANOMALY, Transitions().watch(events_of(evidence)))


CHECK = Check(
    name="transition",
    summary=(
        "Moves of the client's state machines that are not in their tables, and batches with more "
        "than one end."
    ),
    requirements=(
        judged("NET-CON-01", SHOULD),
        judged("PRD-FIN-01", MUST),
        judged("PRD-FIN-02", SHOULD),
        judged("PRD-FIN-03", SHOULD),
        judged("PRD-IDM-07", MUST, EXACTLY_ONCE),
        judged("PRD-IDM-11", SHOULD),
        judged("PRD-TXN-02", SHOULD),
        judged("PRD-TXN-07", MUST),
        judged("PRD-TXN-19", SHOULD),
        judged("PRD-TXN-20", SHOULD),
        judged("PRD-CLS-03", MUST),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"trace"}),
    killed_mutant="ends_batches_twice",
    run=run,
)
