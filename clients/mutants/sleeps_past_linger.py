"""Nothing wakes the client when linger.ms is over: the batch goes when something else happens."""

from __future__ import annotations

from clients.reference.producer.batch_drain import ReadyCheck
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator


class Dreamer(RecordAccumulator):
    """Does not say when the next batch comes of age."""

    def ready(self, now_ms: int) -> ReadyCheck:
        check = super().ready(now_ms)
        check.next_check_ms = None
        return check


COMPONENTS = Components(accumulator=Dreamer)
