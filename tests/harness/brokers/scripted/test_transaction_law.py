"""The laws of transactions: they hold whatever producers ask for, zombies among them, and whatever befalls brokers."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.wire.apis import Api
from tests.harness.brokers.scripted.transactions import MS, V1, V2, Transactor

AT_REST = {"Empty", "CompleteCommit", "CompleteAbort"}
PREPARED = {"PrepareCommit": "COMMIT", "PrepareAbort": "ABORT"}
#: Kafka's TransactionState: to each state, the states that may precede it.
PRECEDING = {
    "Empty": AT_REST,
    "Ongoing": AT_REST | {"Ongoing"},
    "PrepareCommit": {"Ongoing"},
    "PrepareAbort": AT_REST | {"Ongoing", "PrepareEpochFence"},
    "CompleteCommit": {"PrepareCommit"},
    "CompleteAbort": {"PrepareAbort"},
    "Dead": AT_REST,
    "PrepareEpochFence": {"Ongoing"},
}
NODES, PARTITIONS = 3, 3
REQUESTS = [
    "init",
    "keep",
    "add",
    "produce",
    "produce",
    "produce",
    "offset",
    "group",
    "commit",
    "abort",
    "wait",
]
FAULTS = ["sleep", "expire", "load", "move", "pause", "resume", "kill", "restart", "lead"]


def steps(actions: list[str]) -> st.SearchStrategy[list[tuple[str, int, int]]]:
    """Draw actions of four producers: two of each transactional id, before and since KIP-890."""
    return st.lists(
        st.tuples(st.sampled_from(actions), st.integers(0, 3), st.integers(0, PARTITIONS - 1)), max_size=50
    )


class Life:
    """A cluster with two transactional ids, and with two producers for each of them."""

    def __init__(self, it) -> None:
        self.it = it
        kinds = (("x", V1), ("x", V1), ("y", V2), ("y", V2))
        self.producers = [Transactor(it, name, versions) for name, versions in kinds]
        self.sequences: Counter = Counter()
        it.cluster.settings.transaction_marker_delay_ms = 30
        for producer in self.producers[::2]:
            assert producer.init() is ErrorCode.none

    def log(self, partition: int):
        return self.it.cluster.state.topics["t"].partitions[partition].log

    @property
    def logs(self):
        return [self.log(partition) for partition in range(PARTITIONS)]

    def do(self, action: str, at: int, partition: int) -> None:
        cluster = self.it.cluster
        if action == "wait":
            self.it.now_ns += (5, 30, 100)[partition] * MS
        elif action in REQUESTS:
            self.request(action, at, partition)
        else:
            self.fault(action, at, partition)
        cluster.wake(self.it.now_ns)

    def fault(self, action: str, at: int, partition: int) -> None:
        it, cluster, node_id = self.it, self.it.cluster, partition + 1
        alive = [each for each in cluster.node_ids if cluster.accepts(each)]
        match action:
            case "sleep":
                it.now_ns += 61_000 * MS
            case "expire":
                it.now_ns += 7 * 86_400_000 * MS
            case "load":
                cluster.settings.coordinator_load_in_progress = partition == 0
            case "move":
                cluster.move_coordinators()
            case "pause" if node_id in alive:
                cluster.pause(node_id)
            case "resume":
                cluster.resume(node_id)
            case "kill" if node_id in alive and len(alive) > 1:
                cluster.kill(node_id, it.now_ns)
            case "restart" if node_id not in alive:
                cluster.restart(node_id, it.now_ns)
            case "lead" if node_id in alive:
                cluster.move_leader("t", at % PARTITIONS, node_id, it.now_ns)

    def request(self, action: str, at: int, partition: int) -> None:
        producer, cluster = self.producers[at], self.it.cluster
        node_id = producer.node_id
        if action == "produce":
            node_id = cluster.leader("t", partition)[0]
        elif action == "offset":
            node_id = cluster.coordinator("g")
        is_stranger = producer.ids.producer_id < 0 and action != "init"
        if is_stranger or node_id < 0 or cluster.state.nodes[node_id].paused_until_ns is not None:
            return
        match action:
            case "init" | "keep":
                producer.init(keeps=action == "keep")
            case "add":
                producer.add(partition)
            case "produce":
                self.produce(producer, partition, node_id)
            case "offset":
                producer.commit_offset(partition, partition)
            case "group":
                producer.add_offsets()
            case _:
                producer.end(commits=action == "commit")

    def produce(self, producer: Transactor, partition: int, node_id: int) -> None:
        """Produce, and check that only the current producer writes: none that the coordinator has fenced before."""
        key, end = (producer.ids, partition), self.log(partition).log_end_offset
        known = self.it.cluster.transaction(producer.name)
        body = self.it.produce_many(
            [(partition, producer.batch(self.sequences[key]))],
            node_id=node_id,
            version=producer.versions[Api.PRODUCE],
            transactional_id=producer.name,
        ).body
        if body is not None and not body.responses[0].partition_responses[0].error_code:
            self.sequences[key] += 1
        if self.log(partition).log_end_offset > end and not known.is_pending:
            assert (known.producer_id, known.producer_epoch) == producer.ids

    def settle(self) -> None:
        """Undo every fault, and let open transactions reach their timeouts."""
        cluster = self.it.cluster
        cluster.settings.coordinator_load_in_progress = False
        for node_id in cluster.node_ids:
            if not cluster.accepts(node_id):
                cluster.restart(node_id, self.it.now_ns)
            cluster.resume(node_id)
        for _ in range(4):
            self.it.now_ns += 61_000 * MS
            cluster.wake(self.it.now_ns)


def first_open(log) -> int | None:
    """Return the offset of the first record that no end marker follows, as a reader of the log finds it."""
    begun: dict[int, int] = {}
    for batch in log.batches:
        if batch.header.is_control:
            begun.pop(batch.header.producer_id, None)
        else:
            begun.setdefault(batch.header.producer_id, batch.base_offset)
    return min(begun.values(), default=None)


@settings(max_examples=200, deadline=None)
@given(steps(REQUESTS + FAULTS), st.sampled_from([1, 2]))
def test_any_life_keeps_to_the_table_and_ends_every_transaction(client, drawn, level):
    """Every move is one of Kafka's, and the last stable offset never passes an open transaction. All of them end.

    A fenced producer writes nothing, and the epochs of a producer never fall in a log.
    """
    life = Life(client(nodes=NODES))
    life.it.cluster.set_transaction_version(level)
    known = {}
    for action, at, partition in drawn:
        life.do(action, at, partition)
        for log in life.logs:
            first = first_open(log)
            assert first is None or log.last_stable_offset <= first
        for name in "xy":
            metadata = life.it.cluster.transaction(name)
            if metadata is not None:
                known[id(metadata)] = metadata
    life.settle()
    for metadata in known.values():
        moves = [str(each) for each in metadata.moves]
        assert all(before in PRECEDING[after] for before, after in pairwise(moves))
        assert moves[-1] in AT_REST | {"Dead"}
    for log in life.logs:
        assert first_open(log) is None
        assert log.last_stable_offset == log.high_watermark == log.log_end_offset
        epochs: dict[int, int] = {}
        for batch in log.batches:
            header = batch.header
            assert header.producer_epoch >= epochs.get(header.producer_id, 0)
            epochs[header.producer_id] = header.producer_epoch
    assert not any(each.pending for each in life.it.cluster.state.groups.offsets.logs.values())


@settings(max_examples=200, deadline=None)
@given(steps(REQUESTS))
def test_every_transaction_puts_exactly_one_marker_into_each_of_its_partitions(client, drawn):
    """Decisions are compared with the logs at the end. They agree as long as no coordinator moves."""
    life = Life(client())
    cluster, due, seen = life.it.cluster, Counter(), {}
    for action, at, partition in [*drawn, ("wait", 0, 2)]:
        life.do(action, at, partition)
        for name in "xy":
            found = cluster.transaction(name)
            if len(found.moves) != seen.get(name) and found.state in PREPARED:
                for topic, index in found.partitions:
                    if topic == "t":
                        due[index, PREPARED[found.state], found.producer_id, found.producer_epoch] += 1
            seen[name] = len(found.moves)
    written = Counter(
        (row.partition, row.key, row.producer_id, row.producer_epoch)
        for row in cluster.read_log("t")
        if row.control
    )
    assert written == due
