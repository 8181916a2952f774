"""Properties of the suite state transitions: the reference client keeps each, and a client with a defect breaks it."""

from __future__ import annotations

import pytest

from clients.reference.metadata.metadata import Metadata
from clients.reference.metadata.topic_metadata import LeaderEpochs
from clients.reference.network.network_client import NetworkClient
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import BufferPool, RecordAccumulator
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.states import BatchState
from suites.properties.property import properties, try_property

pytestmark = pytest.mark.long("tries properties until they catch a mutant")

MODULES = (
    "accumulator",
    "buffer_pool",
    "connections",
    "idempotence",
    "in_flight",
    "metadata",
    "splits",
    "tables",
)
MINE = {
    id.split("/")[1]: prop
    for id, prop in properties().items()
    if (prop.hold or prop.machine).__module__
    in {f"suites.properties.state_transitions.{name}" for name in MODULES}
}
ENOUGH = 400


class Ended(ProducerBatch):
    def _finish(self, event, result, now_ms):
        self.state = BatchState.IN_FLIGHT if self.state is BatchState.FAILED else self.state
        return super()._finish(event, result, now_ms)


class Hasty(NetworkClient):
    def _handle_connected(self, node_id, now_ms):
        super()._handle_connected(node_id, now_ms)
        self._states.ready(node_id, now_ms)


class Unthrottled(NetworkClient):
    def _maybe_throttle(self, answered, body, now_ms):
        pass


class OnlyOldest(NetworkClient):
    def _cancel_in_flight(self, node_id, now_ms, completions, *, timed_out=False):
        queue = self._in_flight.clear(node_id)
        for request in queue[:1]:
            self._in_flight.add(request)
        super()._cancel_in_flight(node_id, now_ms, completions, timed_out=timed_out)


class AnyEpoch(LeaderEpochs):
    def believes(self, partition, topic_id, epoch):
        self._seen.pop(partition, None)
        return super().believes(partition, topic_id, epoch)


class Gullible(Metadata):
    leader_epochs = AnyEpoch


class Restless(Metadata):
    def failed(self, now_ms, reason):
        super().failed(now_ms, reason)
        self._backoff_until_ms = now_ms


class Crowd(BufferPool):
    def take(self, size_bytes):
        return self._lend(size_bytes) if size_bytes <= self.available_bytes else None


class Unfair(RecordAccumulator):
    buffer_pool = Crowd


class Polite(RecordAccumulator):
    def insert_in_sequence_order(self, batch):
        self._queue(batch.partition).append(batch)


class Always(RecordAccumulator):
    def _drain_node(self, node_id, now_ms):
        self._drain_from.pop(node_id, None)
        return super()._drain_node(node_id, now_ms)


class Young(RecordAccumulator):
    def split_and_reenqueue(self, batch, now_ms):
        parts = super().split_and_reenqueue(batch, now_ms)
        for part in parts:
            part.created_ms, part.expires_ms = now_ms, now_ms + self._config.delivery_timeout_ms
        return parts


class Optimist(TransactionManager):
    def failed(self, batch, error, *, is_definite, now_ms):
        if is_definite:
            super().failed(batch, error, is_definite=is_definite, now_ms=now_ms)
        else:
            self._entry(batch.partition).forget(batch, now_ms)


class Impatient(TransactionManager):
    def pick(self, queue):
        return queue[0] if self.producer_id.is_valid else None


@pytest.mark.parametrize(
    ("name", "components"),
    [
        ("a_batch_takes_one_final_state", Components(batch=Ended)),
        ("ConnectionsWalkTheirStates", Components(network_client=Hasty)),
        ("ConnectionsWalkTheirStates", Components(network_client=Unthrottled)),
        ("RequestsEndOnceAndInOrder", Components(network_client=OnlyOldest)),
        ("NewsOfTheClusterIsBelievedWhenItIsNewer", Components(metadata=Gullible)),
        ("NewsOfTheClusterIsBelievedWhenItIsNewer", Components(metadata=Restless)),
        ("MemoryIsLentInTurnAndReturnedOnce", Components(accumulator=Unfair)),
        ("BatchesGoWhenTheyMayAndInOrder", Components(accumulator=Polite)),
        ("no_partition_starves", Components(accumulator=Always)),
        ("a_split_batch_lives_on_in_its_parts", Components(accumulator=Young)),
        ("EachRecordIsStoredOnceAndInOrder", Components(transaction_manager=Optimist)),
        ("EachRecordIsStoredOnceAndInOrder", Components(transaction_manager=Impatient)),
    ],
)
def test_defect_is_found(name, components):
    assert try_property(MINE[name], components, ENOUGH) is not None
