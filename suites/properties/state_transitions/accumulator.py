"""The accumulator: which batch a record joins, which batches may be sent when, and that nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from clients.reference.errors import SendError
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.reference.producer.record_size import size_of_record
from clients.reference.producer.send_handle import Delivery, Outgoing
from harness.model.verdicts import Outcome
from harness.wire.records import BATCH_OVERHEAD_BYTES, read_batches
from suites.properties.property import client_property, stateful_property
from suites.properties.state_transitions import wire
from suites.properties.walks.accumulator import WALKS

TOPIC, NODES, PARTITIONS = "t", (1, 2), 4
BATCH_BYTES, REQUEST_BYTES, MEMORY_BYTES = 150, 320, 1_200
LINGER_MS, BACKOFF_MS, BACKOFF_MAX_MS, DELIVERY_TIMEOUT_MS = 40, 20, 100, 3_000
SIZES = st.sampled_from([0, 10, 40, 70, 200])
WHICH = st.integers(0, 7)


@dataclass(slots=True)
class Line:
    """A partition: its batches, oldest first, and the records of each, by number."""

    queue: list[ProducerBatch] = field(default_factory=list)
    muted: bool = False


def outgoing(partition: int, number: int, size_bytes: int) -> Outgoing:
    """Return a record with its number in its value."""
    value = b"%06d" % number + bytes(size_bytes)
    whole = size_of_record(None, value, (), 0, partition)
    return Outgoing(TOPIC, partition, None, value, (), 0, None, whole, Delivery(0))


class World:
    """What an accumulator needs: settings, and metadata that assigns partitions to nodes as the property chooses."""

    def __init__(self, components: Components) -> None:
        self.components = components

    def make(self, **settings: int) -> RecordAccumulator:
        self.config = wire.config(
            **{
                "batch_size": BATCH_BYTES,
                "linger_ms": LINGER_MS,
                "max_request_size": REQUEST_BYTES,
                "buffer_memory": MEMORY_BYTES,
                "delivery_timeout_ms": DELIVERY_TIMEOUT_MS,
                "request_timeout_ms": 100,
                "retry_backoff_ms": BACKOFF_MS,
                "retry_backoff_max_ms": BACKOFF_MAX_MS,
                "metadata_max_age_ms": 10**12,
            }
            | settings
        )
        self.metadata = self.components.metadata(self.config, float, lambda event: None)
        self.metadata.add(TOPIC, 0)
        return self.components.accumulator(
            self.config, self.metadata, None, float, lambda event: None, self.components.batch
        )

    def lead(self, leaders: dict[int, int], epoch: int, now_ms: int) -> None:
        """Update the metadata with these leaders."""
        self.metadata.request_update()
        question = self.metadata.next_question(now_ms)
        nodes = {node_id: (f"node{node_id}", 9092) for node_id in NODES}
        shown: dict[str, wire.TopicAnswer] = {
            TOPIC: (0, [(index, leader, epoch) for index, leader in leaders.items()])
        }
        self.metadata.update(question, wire.metadata(wire.metadata_versions()[1], nodes, shown), now_ms)


@stateful_property(
    "PRD-ACC-01",
    "PRD-ACC-02",
    "PRD-ACC-03",
    "PRD-ACC-04",
    "PRD-ACC-05",
    "PRD-ACC-07",
    "PRD-ACC-08",
    "PRD-ACC-11",
    "PRD-EXP-01",
    "PRD-EXP-05",
    "PRD-SND-02",
    walks=WALKS,
)
class BatchesGoWhenTheyMayAndInOrder(RuleBasedStateMachine):
    """A partition's oldest batch is sent when full, old or requested.

    A failed one waits for its backoff, at the front.
    """

    components = Components()

    @initialize()
    def begin(self) -> None:
        self.world = World(self.components)
        self.now_ms = 1_000
        self.epoch = 0
        self.leaders = {index: NODES[index % 2] for index in range(PARTITIONS)}
        self.accumulator = self.world.make()
        self.world.lead(self.leaders, self.epoch, self.now_ms)
        self.lines = {index: Line() for index in range(PARTITIONS)}
        self.made_ms: dict[ProducerBatch, int] = {}
        self.backoff: dict[ProducerBatch, tuple[int, int]] = {}
        self.records: dict[ProducerBatch, list[int]] = {}
        self.payloads: dict[ProducerBatch, bytes] = {}
        self.sent_under: dict[ProducerBatch, int] = {}  # the leader epoch of the newest attempt
        self.out: list[ProducerBatch] = []
        self.sent = 0
        self.flushing = False

    # records

    @rule(partition=st.integers(0, PARTITIONS - 1), size_bytes=SIZES)
    def append(self, partition: int, size_bytes: int) -> None:
        """The newest open batch takes the record if it has room, else the next one.

        Without free memory nothing happens.
        """
        record = outgoing(partition, self.sent, size_bytes)
        line = self.lines[partition].queue
        newest = line[-1] if line and line[-1].state.value == "OPEN" else None
        before, free = list(line), self.accumulator.pool.available_bytes
        appended = self.accumulator.append(record, (TOPIC, partition), self.now_ms)
        if appended is None:
            needed = max(BATCH_BYTES, record.size_bytes + BATCH_OVERHEAD_BYTES)
            assert free < needed, f"no memory for {needed} of {free} free bytes"
            assert line == before
            return
        batch = appended.batch
        if batch is newest:
            assert batch.size_bytes <= BATCH_BYTES or len(self.records[batch]) == 0, "beyond batch.size"
        else:
            assert newest is None or newest.size_bytes + record.size_bytes > BATCH_BYTES, "there was room"
            assert newest is None or newest.state.value == "CLOSED", "two batches are open"
            assert batch not in self.made_ms and batch.partition == (TOPIC, partition)
            line.append(batch)
            self.made_ms[batch], self.records[batch] = self.now_ms, []
        assert appended.index == len(self.records[batch])
        self.records[batch].append(self.sent)
        self.sent += 1

    # when

    def _may_go_ms(self, line: Line) -> int:
        """Return when the first batch of a queue may be sent: after its backoff, at once if urgent, or after linger."""
        first = line.queue[0]
        if first in self.backoff:
            since_epoch, until_ms = self.backoff[first]
            return 0 if self.epoch > since_epoch else until_ms
        is_full = first.state.value != "OPEN" or first.size_bytes >= BATCH_BYTES
        urged = is_full or len(line.queue) > 1 or self.flushing
        return 0 if urged else self.made_ms[first] + LINGER_MS

    @rule()
    def look(self) -> None:
        """The nodes with sendable batches, and the time of the next check, are exactly those of the rules."""
        found = self.accumulator.ready(self.now_ms)
        nodes, later = set(), []
        for index, line in self.lines.items():
            leader = self.leaders[index]
            if line.queue and leader >= 0 and not line.muted:
                at_ms = self._may_go_ms(line)
                nodes |= {leader} if at_ms <= self.now_ms else set()
                later += [at_ms] if at_ms > self.now_ms else []
        assert found.nodes == nodes, f"ready are {found.nodes}, not {nodes}"
        lost = {TOPIC} if any(each.queue and self.leaders[i] < 0 for i, each in self.lines.items()) else set()
        assert found.unknown_leader_topics == lost
        if not nodes:
            assert found.next_check_ms == min(later, default=None), "it looks again too early or too late"

    @rule(nodes=st.sets(st.sampled_from(NODES), min_size=1))
    def drain(self, nodes: set[int]) -> None:
        """One batch per partition, the oldest. Together at most max.request.size, except for a single larger batch."""
        for node_id, batches in self.accumulator.drain(nodes, self.now_ms).items():
            partitions = [batch.partition[1] for batch in batches]
            assert len(set(partitions)) == len(partitions), "two batches of a partition"
            total_bytes = sum(batch.size_bytes for batch in batches)
            assert total_bytes <= REQUEST_BYTES or len(batches) == 1, f"{total_bytes} bytes in a request"
            for batch in batches:
                self._goes(batch, node_id)

    def _goes(self, batch: ProducerBatch, node_id: int) -> None:
        line = self.lines[batch.partition[1]]
        assert self.leaders[batch.partition[1]] == node_id, "sent to a node that does not lead"
        assert not line.muted, "sent from a muted partition"
        assert line.queue and line.queue[0] is batch, "an older batch was overtaken"
        if batch in self.backoff:
            assert self._may_go_ms(line) <= self.now_ms, "sent again before its backoff had passed"
        line.queue.pop(0)
        payload = batch.payload()
        [read] = read_batches(payload)
        assert [int((record.value or b"")[:6]) for record in read.records] == self.records[batch]
        assert self.payloads.setdefault(batch, payload) == payload, "other bytes than at the first attempt"
        self.sent_under[batch] = self.epoch
        self.out.append(batch)

    # what happens to batches in flight

    def _take(self, which: int) -> ProducerBatch | None:
        return self.out.pop(which % len(self.out)) if self.out else None

    @rule(which=WHICH)
    def fails(self, which: int) -> None:
        """The batch is sent again: before all younger ones, after its backoff."""
        batch = self._take(which)
        if batch is not None:
            attempts = batch.attempts
            self.accumulator.reenqueue(batch, self.now_ms)
            until_ms = self.now_ms + min(BACKOFF_MS * 2**attempts, BACKOFF_MAX_MS)
            self.backoff[batch] = self.sent_under[batch], until_ms
            queue = self.lines[batch.partition[1]].queue
            older = sum(self.records[each] < self.records[batch] for each in queue)
            queue.insert(older, batch)
            assert batch.attempts == attempts + 1

    @rule(which=WHICH)
    def ends(self, which: int) -> None:
        batch = self._take(which)
        if batch is not None:
            batch.succeed(0, -1, self.now_ms)
            self._let_go(batch)

    def _let_go(self, batch: ProducerBatch) -> None:
        self.accumulator.release(batch)
        try:
            self.accumulator.release(batch)
        except ValueError:
            return
        raise AssertionError("the memory of a batch was taken back twice")

    # what happens around the accumulator

    @rule(partition=st.integers(0, PARTITIONS - 1), muted=st.booleans())
    def mute(self, partition: int, muted: bool) -> None:
        (self.accumulator.mute if muted else self.accumulator.unmute)((TOPIC, partition))
        self.lines[partition].muted = muted

    @rule(partition=st.integers(0, PARTITIONS - 1), leader=st.sampled_from([*NODES, -1]))
    def move(self, partition: int, leader: int) -> None:
        """A partition has another leader, or none. With a newer leader, the backoff from the old one does not apply."""
        self.epoch += 1
        self.leaders[partition] = leader
        self.world.lead(self.leaders, self.epoch, self.now_ms)

    @rule(flushing=st.booleans())
    def flush(self, flushing: bool) -> None:
        if flushing is not self.flushing:
            (self.accumulator.begin_flush if flushing else self.accumulator.end_flush)()
            self.flushing = flushing

    @rule(passed_ms=st.sampled_from([1, LINGER_MS - 1, LINGER_MS, BACKOFF_MS, BACKOFF_MAX_MS, 1_000]))
    def wait(self, passed_ms: int) -> None:
        """Expired batches end where they are, neither early nor late."""
        self.now_ms += passed_ms
        queued = [batch for line in self.lines.values() for batch in line.queue]
        due = min((self.made_ms[batch] + DELIVERY_TIMEOUT_MS for batch in queued), default=None)
        told = self.accumulator.next_expiry_ms()
        assert told == due, f"the next batch expires at {due}, not at {told}"
        expired = self.accumulator.take_expired(self.now_ms)
        old = [batch for batch in queued if self.now_ms >= self.made_ms[batch] + DELIVERY_TIMEOUT_MS]
        assert set(expired) == set(old)
        for batch in expired:
            self.lines[batch.partition[1]].queue.remove(batch)
            batch.fail(SendError("too-old", "too old", outcome=Outcome.FAIL), self.now_ms)
            self._let_go(batch)

    # invariants

    @invariant()
    def every_batch_is_in_one_place(self) -> None:
        queued = [batch for line in self.lines.values() for batch in line.queue]
        assert self.accumulator.queued() == sorted(queued, key=self.accumulator.queued().index)
        assert self.accumulator.has_queued() is bool(queued)
        lent = sum(batch.grant.size_bytes for batch in queued + self.out if batch.grant)
        assert self.accumulator.pool.available_bytes == MEMORY_BYTES - lent

    def teardown(self) -> None:
        """An abort ends the remaining batches, and all memory is free again."""
        if hasattr(self, "accumulator"):
            for batch in self.accumulator.abort_queued(
                lambda _: SendError("producer-over", "over"), self.now_ms
            ):
                self.accumulator.release(batch)
            while self.out:
                self.ends(0)
            assert self.accumulator.pool.available_bytes == MEMORY_BYTES


@client_property(
    "PRD-ACC-06",
    partitions=st.integers(2, 6),
    rounds=st.integers(1, 3),
    sizes=st.lists(SIZES, min_size=6, max_size=6),
)
def no_partition_starves(components: Components, partitions: int, rounds: int, sizes: list[int]) -> None:
    """With room for one batch per request, each partition has its turn in as many requests as there are partitions."""
    world = World(components)
    accumulator = world.make(max_request_size=1, linger_ms=0, buffer_memory=100_000)
    world.lead(dict.fromkeys(range(partitions), NODES[0]), 0, 0)
    for number in range((rounds + 1) * partitions * 4):
        index = number % partitions
        accumulator.append(outgoing(index, number, 100 + sizes[index]), (TOPIC, index), 0)
    served: list[TopicPartition] = []
    for _ in range(rounds * partitions):
        [batch] = accumulator.drain([NODES[0]], 0)[NODES[0]]
        served.append(batch.partition)
    for first in range(0, len(served), partitions):
        turn = served[first : first + partitions]
        assert len(set(turn)) == partitions, f"one turn served {turn}"
