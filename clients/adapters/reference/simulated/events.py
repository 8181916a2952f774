"""The events of the contract: numbered, timestamped, with results of sends grouped into columns, and a heartbeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clients.adapters.reference.consumer_features import FEATURES as OF_CONSUMER
from clients.reference.consumer.consumer_record import ConsumerRecord
from clients.reference.errors import SendError
from clients.reference.producer.producer_batch import RecordMetadata
from harness.model.consumer_contract import Consumed, OffsetsCommitted, Position, RecordsConsumed
from harness.model.contract import (
    CONTRACT_VERSION,
    AnyEvent,
    Configure,
    Configured,
    Fatal,
    OpComplete,
    OpInvoke,
    ShutdownComplete,
    StartupComplete,
    Stats,
)
from harness.model.verdicts import Outcome
from harness.simulated.ports import Tell
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO
from harness.workloads.transactions.commands import Transact

RESULTS_INTERVAL_NS = 20 * NS_PER_MS
STATS_INTERVAL_NS = 1_000 * NS_PER_MS
WALL_NS_AT_ZERO = WALL_MS_AT_ZERO * NS_PER_MS
FEATURES = ["producer", "idempotence", "transactions", "trace", *OF_CONSUMER]


class Events:
    """All events of one client, in order, at the time ``now_ns``, which is constant within a step."""

    def __init__(self, now_ns: int, tell: Tell) -> None:
        self.now_ns = now_ns
        self._tell = tell
        self._seq = 0
        self._rows: dict[int, list[tuple[Any, ...]]] = {}
        self._completed = 0
        self._started_ns = now_ns
        self._results_ns: int | None = None
        self._stats_ns = self._started_ns + STATS_INTERVAL_NS

    def _event(self, kind: type[Any], **fields: Any) -> int:
        now_ns = self.now_ns
        event: AnyEvent = kind(seq=self._seq, mono_ns=now_ns, wall_ns=WALL_NS_AT_ZERO + now_ns, **fields)
        self._seq += 1
        self._tell(event)
        return now_ns

    def emit(self, kind: type[Any], **fields: Any) -> None:
        """Report an event of this kind."""
        self._event(kind, **fields)

    # Lifecycle

    def startup_complete(self, client: str, version: str) -> None:
        """Report that the client has started."""
        self._event(
            StartupComplete,
            client=client,
            client_version=version,
            language="python",
            features=FEATURES,
            contract_version=CONTRACT_VERSION,
        )

    def configured(self, command: Configure, known: dict[str, Any]) -> None:
        """Report the settings that the client supports, and those that it does not."""
        self._event(
            Configured,
            id=command.id,
            applied={name: (name, value) for name, value in known.items()},
            not_set={
                name: "the reference client has no such setting"
                for name in command.config
                if name not in known
            },
        )

    def refused(self, why: str) -> None:
        """Report that the client rejects the settings."""
        self._event(Fatal, error="ConfigRefused", message=why)

    def shutdown_complete(self) -> None:
        """Report that the client is closed."""
        self._event(ShutdownComplete)

    # Operations

    def op_invoke(self, op: str, id: int, first: int = 0, count: int = 0) -> int:
        """Report the start of a call, and return its time."""
        return self._event(OpInvoke, op=op, id=id, first=first, count=count)

    def op_complete(
        self, op: str, id: int, invoke_ns: int, error: str | None, outcome: Outcome | None = None
    ) -> None:
        """Report the end of a flush, a close or a step, after all stored results. An error means a failure."""
        self.write()
        self._event(
            OpComplete,
            op=op,
            id=id,
            outcome=[outcome or ("fail" if error else "ok")],
            error=[error],
            invoke_ns=[invoke_ns],
            complete_ns=[self.now_ns],
        )

    def result(
        self, id: int, n: int, invoke_ns: int, metadata: RecordMetadata, error: SendError | None
    ) -> None:
        """Store the result of record ``n`` of the command ``id``. It is reported with others, a little later."""
        now_ns = self.now_ns
        row: tuple[Any, ...]
        if error is None:
            row = ("ok", None, invoke_ns, now_ns, n, metadata.partition, metadata.offset)
        else:
            row = ("fail" if error.outcome == "fail" else "info", error.name, invoke_ns, now_ns, n, -1, -1)
        rows = self._rows.get(id)
        if rows is None:
            rows = self._rows[id] = []
        rows.append(row)
        self._completed += 1
        if self._results_ns is None:
            passed_ns = now_ns - self._started_ns
            self._results_ns = self._started_ns + (passed_ns // RESULTS_INTERVAL_NS + 1) * RESULTS_INTERVAL_NS

    def transacted(
        self,
        command: Transact,
        invoke_ns: int,
        outcome: Outcome,
        error: str | None,
        places: Mapping[int, tuple[int, int]],
    ) -> None:
        """Report one outcome for all records of a transaction, and where they were written, as far as that is known."""
        numbers = range(command.first, command.first + command.count)
        self._completed += command.count
        at = [places.get(n, (-1, -1)) for n in numbers]
        self._event(
            OpComplete,
            op=command.op,
            id=command.id,
            outcome=[outcome] * command.count,
            error=[error] * command.count,
            invoke_ns=[invoke_ns] * command.count,
            complete_ns=[self.now_ns] * command.count,
            records=list(numbers),
            partition=[partition for partition, _ in at],
            offset=[offset for _, offset in at],
        )

    def write(self) -> None:
        """Report all stored results."""
        self._results_ns = None
        kept, self._rows = self._rows, {}
        for id, rows in kept.items():
            outcome, error, invoke_ns, complete_ns, records, partition, offset = map(
                list, zip(*rows, strict=True)
            )
            self._event(
                OpComplete,
                op="send",
                id=id,
                outcome=outcome,
                error=error,
                invoke_ns=invoke_ns,
                complete_ns=complete_ns,
                records=records,
                partition=partition,
                offset=offset,
            )

    # Consuming

    def consumed(self, records: Sequence[ConsumerRecord], polled_ns: int) -> None:
        """Report records that the application has processed, partition by partition."""
        by_place: dict[tuple[str, int], list[ConsumerRecord]] = {}
        for each in records:
            by_place.setdefault((each.topic, each.partition), []).append(each)
        parts = [
            Consumed(
                topic,
                partition,
                len(own),
                own[0].offset,
                own[-1].offset,
                [each.offset for each in own],
                [
                    None if each.value is None else each.value.decode(errors="backslashreplace")
                    for each in own
                ],
            )
            for (topic, partition), own in by_place.items()
        ]
        self._event(RecordsConsumed, count=len(records), partitions=parts, polled_ns=polled_ns)

    def committed(
        self, offsets: Mapping[tuple[str, int], int], how: str, invoke_ns: int, error: str | None
    ) -> None:
        """Report the result of a commit."""
        self._event(
            OffsetsCommitted,
            offsets=[Position(topic, partition, offset) for (topic, partition), offset in offsets.items()],
            success=error is None,
            how=how,
            invoke_ns=invoke_ns,
            complete_ns=self.now_ns,
            error=error,
        )

    # Clock

    def beat(self, sent: int, completed: int | None = None) -> int:
        """Report the results and the heartbeat that are due. Return the next time that something is due.

        ``completed`` are the results that are not those of sends.
        """
        now_ns, results_ns = self.now_ns, self._results_ns
        if results_ns is not None and results_ns <= now_ns:
            self.write()
            results_ns = None
        if self._stats_ns <= now_ns:
            self._stats_ns += STATS_INTERVAL_NS
            self._event(Stats, sent=sent, completed=self._completed if completed is None else completed)
        return self._stats_ns if results_ns is None or self._stats_ns < results_ns else results_ns
