"""The evidence of a trial with transactions of two records, the first one with the records 0 and 1.

``asked_to`` says which end the plan asks for; the seed of the trial does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from msgspec.structs import replace as restruct

from harness.model.contract import OpComplete, OpInvoke
from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.model.spec import Workload
from harness.model.verdicts import Guarantee
from harness.workloads.transactions.profile import transactional_config
from tests.suites.story import Story, ns

PRODUCER_ID = 7


@dataclass
class TransactionStory(Story):
    """Transactions, their results and their markers."""

    guarantee: Guarantee = Guarantee.TRANSACTIONAL
    workload: Workload = field(
        default_factory=lambda: Workload(
            kind="transactions", records_per_command=2, partitions=2, keys=4, value_bytes=60
        )
    )

    def mark(self, partition: int, key: str = "COMMIT", producer_id: int = PRODUCER_ID) -> None:
        """The coordinator ends the producer's transaction in a partition."""
        self.log.append(self.record(0, partition, control=True, key=key, value=None, producer_id=producer_id))

    def stored(self, *numbers: int, partition: int = 0) -> int:
        """Records are stored in the producer's transaction."""
        return self.append(list(numbers), partition, producer_id=PRODUCER_ID, producer_epoch=0)

    def transact(self, *numbers: int, at_ms: float = 0, outcome: str = "ok") -> None:
        """The harness asks for a transaction, which the client reports to have ended a millisecond later."""
        id = 1 + numbers[0] // 2
        for n in numbers:
            self.called_ms[n] = at_ms
        at = {"seq": 0, "wall_ns": 0, "op": "transact", "id": id}
        self.history.append(OpInvoke(mono_ns=ns(at_ms), first=numbers[0], count=len(numbers), **at))
        self.history.append(
            OpComplete(
                mono_ns=ns(at_ms + 1),
                outcome=[outcome] * len(numbers),
                error=[None] * len(numbers),
                invoke_ns=[ns(at_ms)] * len(numbers),
                complete_ns=[ns(at_ms + 1)] * len(numbers),
                records=list(numbers),
                partition=[-1] * len(numbers),
                offset=[-1] * len(numbers),
                **at,
            )
        )

    def step(self, op: str, begin_ms: float, end_ms: float, outcome: str = "ok") -> None:
        """The application calls the client on the way of its first transaction."""
        at = {"seq": 0, "wall_ns": 0, "op": op, "id": 1}
        self.history.append(OpInvoke(mono_ns=ns(begin_ms), **at))
        self.history.append(
            OpComplete(
                mono_ns=ns(end_ms),
                outcome=[outcome],
                error=[None],
                invoke_ns=[ns(begin_ms)],
                complete_ns=[ns(end_ms)],
                **at,
            )
        )

    def end_txn(self, at_ms: float, answer_ms: float | None = None, conn: int = 9) -> None:
        """The client asks its coordinator to end the transaction."""
        fields = {"api_key": 26, "api": "EndTxn", "correlation_id": 5_000 + int(at_ms)}
        self.open(conn, at_ms - 1)
        self._frame(FrameKind.REQUEST, at_ms, conn)
        self.frames[-1] = restruct(self.frames[-1], **fields)
        if answer_ms is not None:
            self._frame(FrameKind.RESPONSE, answer_ms, conn)
            self.frames[-1] = restruct(self.frames[-1], **fields)

    def evidence(self) -> Evidence:
        told = super().evidence()
        spec = told.record.spec
        config = transactional_config(spec.guarantee, self.config)
        spec = restruct(spec, config=config, scenario="transactions/calm")
        return replace(told, record=restruct(told.record, spec=spec))


def aborting(monkeypatch: pytest.MonkeyPatch, *first: int) -> None:
    """Let the plan ask for an abort of the transactions with these first records."""
    monkeypatch.setattr(
        "harness.workloads.transactions.outcomes.end_of",
        lambda spec, n: "abort" if n in first else "commit",
    )
