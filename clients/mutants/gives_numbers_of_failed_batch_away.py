"""The sequence numbers of a batch that must be sent again are given to the next batch, as kafkajs does."""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.producer import Components
from clients.reference.producer_batch import NO_PRODUCER_ID, NO_SEQUENCE, ProducerBatch
from clients.reference.transaction_manager import TransactionManager


class Generous(TransactionManager):
    """Lets the next batch go under the numbers of the one that failed."""

    def pick(self, queue: Sequence[ProducerBatch]) -> ProducerBatch | None:
        oldest = queue[0]
        entry = self._entry(oldest.partition)
        waits = oldest.has_sequence and oldest.attempts > 0 and entry.in_flight == [oldest]
        if waits and len(queue) > 1 and not queue[1].has_sequence:
            entry.forget(oldest, oldest.retry_at_ms)
            entry.next_sequence = oldest.base_sequence
            oldest.assign_sequence(NO_PRODUCER_ID, NO_SEQUENCE)
            return queue[1]
        return super().pick(queue)


COMPONENTS = Components(transaction_manager=Generous)
