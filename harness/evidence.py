"""Evidence: all that one trial left behind, and the two views of it that judgement needs.

Pure and read-only. ``sends`` folds the client's events into one row a record; ``copies`` finds each record's
places in the log. A record that was invoked and never completed is ``info``: nobody knows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from harness.contract import AnyEvent, OpComplete, OpInvoke
from harness.outcome import Outcome
from harness.rows import FaultRow, Frame, LogRecord, TrialRecord
from harness.value import Identity, decode

PRODUCER = "p1"


@dataclass(frozen=True, slots=True)
class Send:
    """One record as its client told it; ``complete_ns`` None: it never had a result."""

    n: int
    invoke_ns: int
    complete_ns: int | None = None
    outcome: Outcome = Outcome.INFO
    partition: int = -1
    offset: int = -1
    error: str | None = None

    @property
    def pending(self) -> bool:
        """True if the client never gave a result."""
        return self.complete_ns is None


@dataclass(frozen=True)
class Evidence:
    """Everything that judgement may look at."""

    record: TrialRecord
    history: tuple[AnyEvent, ...]
    frames: tuple[Frame, ...]
    faults: tuple[FaultRow, ...]
    log: tuple[LogRecord, ...]

    @cached_property
    def sends(self) -> dict[int, Send]:
        """Record number -> what the client said of it, in invocation order."""
        sends: dict[int, Send] = {}
        for event in self.history:
            if isinstance(event, OpInvoke) and event.op == "send":
                for n in range(event.first, event.first + event.count):
                    sends.setdefault(n, Send(n, event.mono_ns))
            elif isinstance(event, OpComplete) and event.op == "send":
                for row, n in enumerate(event.records):
                    sends[n] = _completed(event, row, n)
        return sends

    @cached_property
    def identities(self) -> tuple[Identity | None, ...]:
        """The identity in each record of ``log``, None where the value is not one of ours or is damaged."""
        return tuple(decode(record.value) for record in self.log)

    @cached_property
    def copies(self) -> dict[int, list[LogRecord]]:
        """Record number -> its places in the log, in log order; foreign and damaged records are left out."""
        copies: dict[int, list[LogRecord]] = defaultdict(list)
        for record, identity in zip(self.log, self.identities, strict=True):
            if identity is not None and not record.control and self.is_ours(identity):
                copies[identity.n].append(record)
        return dict(copies)

    def is_ours(self, identity: Identity) -> bool:
        """True if ``identity`` names this very run, trial and producer."""
        return (identity.run, identity.trial, identity.producer) == (
            self.record.run_id,
            self.record.topic,
            PRODUCER,
        )


def _completed(event: OpComplete, row: int, n: int) -> Send:
    return Send(
        n=n,
        invoke_ns=event.invoke_ns[row],
        complete_ns=event.complete_ns[row],
        outcome=Outcome(event.outcome[row]),
        partition=event.partition[row],
        offset=event.offset[row],
        error=event.error[row],
    )
