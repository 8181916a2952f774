"""A batch that is sent again says so in a header of its first record."""

from __future__ import annotations

from dataclasses import replace

from clients.mutants.rebuilt import rebuilt
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from harness.wire.records import Record


class Labelled(ProducerBatch):
    """Counts its attempts where every consumer reads it."""

    def reenqueued(self, now_ms: int, retry_at_ms: int) -> None:
        super().reenqueued(now_ms, retry_at_ms)
        self._payload = rebuilt(self._payload, _labelled)


def _labelled(records: list[Record]) -> list[Record]:
    first, *others = records
    return [replace(first, headers=(*first.headers, ("retried", b"1"))), *others]


COMPONENTS = Components(batch=Labelled)
