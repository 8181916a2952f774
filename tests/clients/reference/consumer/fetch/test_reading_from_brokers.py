"""The reading side over a network to the scripted brokers: every committed record once, in order, whatever happens.

CSM-FET-02, -04, -05, -07, -10: connections are reset, leaders move, transactions abort, records are compacted away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.adapters.reference.simulated import SimulatedSelector
from clients.reference.config.consumer_config import ConsumerConfig
from clients.reference.consumer.calls import Call, Clock, Invoke, Timer
from clients.reference.consumer.consumer_metadata import ConsumerMetadata
from clients.reference.consumer.consumer_network_client import ConsumerNetworkClient
from clients.reference.consumer.consumer_record import ConsumerRecord
from clients.reference.consumer.deserializers import Deserializers, StringDeserializer
from clients.reference.consumer.errors import LogTruncationError
from clients.reference.consumer.fetch.fetcher import Fetcher
from clients.reference.consumer.offsets.offset_fetcher import OffsetFetcher
from clients.reference.consumer.offsets.position_validator import PositionValidator
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.reference.network.channel import Channel
from clients.reference.network.metadata_updater import MetadataUpdater
from clients.reference.network.network_client import NetworkClient
from clients.reference.telemetry.fetch_events import FetchSent
from clients.reference.telemetry.trace import TraceEvent
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.simulated.network import Network
from harness.simulated.scheduler import NS_PER_MS, WALL_MS_AT_ZERO, Scheduler
from harness.wire.records import Codec, end_transaction_marker, read_batches

NODES, PARTITIONS = (1, 2, 3), 2


class Reading:
    """A consumer without a group that reads all partitions of topic t, in virtual time."""

    def __init__(self, **given: Any) -> None:
        self.scheduler = Scheduler(1_000 * NS_PER_MS)
        addresses = {node: (f"broker-{node}", 9092) for node in NODES}
        self.cluster = ScriptedCluster("4.3.1", addresses, Dice(0, "t"), wall_ms_at_zero=WALL_MS_AT_ZERO)
        self.cluster.create_topic("t", PARTITIONS, None, len(NODES))
        self.network = Network(self.scheduler, self.cluster, addresses, None)
        self.selector = SimulatedSelector(self.network, Channel)
        own = {"bootstrap.servers": "broker-1:9092,broker-2:9092", "auto.offset.reset": "earliest"}
        self.config = ConsumerConfig.from_mapping(own | {k.replace("_", "."): v for k, v in given.items()})
        self.clock = Clock(1_000)
        self.trace: list[TraceEvent] = []
        told = self.trace.append
        self.subscriptions = SubscriptionState(self.config.auto_offset_reset, self.clock, told)
        self.metadata = ConsumerMetadata(self.config, self.subscriptions, self._jitter, told)
        client = NetworkClient(self.config, self.selector, self.metadata, self._jitter, told)
        updater = MetadataUpdater(self.config, client, self.metadata)
        self.client = ConsumerNetworkClient(self.config, client, self.metadata, updater)
        parts = (self.config, self.client, self.metadata, self.subscriptions)
        self.fetcher = Fetcher(*parts, Deserializers(value=StringDeserializer()), self.clock, told)
        self.offsets = OffsetFetcher(*parts, self.clock, lambda: WALL_MS_AT_ZERO + self.clock.now_ms, told)
        self.validator = PositionValidator(*parts, self.clock, told)
        self.subscriptions.assign_from_user([("t", index) for index in range(PARTITIONS)])
        if self.subscriptions.has_default_reset_policy:
            self.subscriptions.reset_initializing()
        self.records: dict[int, list[ConsumerRecord]] = {index: [] for index in range(PARTITIONS)}

    @staticmethod
    def _jitter() -> float:
        return 0.0

    def fill(self, partition: int, batches: Iterable[bytes]) -> None:
        self.cluster.fill("t", partition, batches, self.scheduler.now_ns)

    def poll(self, timeout_ms: int) -> Call[bool]:
        """One poll, as ClassicKafkaConsumer does it. Return whether there was a result."""
        timer = Timer(self.clock, timeout_ms)
        while True:
            self.validator.validate_if_needed()
            self.offsets.reset_if_needed()
            fetch = yield from self.fetcher.collect()
            self.fetcher.send_fetches(timer.now_ms)
            if not fetch.is_empty:
                for (_, index), records in fetch.records.items():
                    self.records[index] += records
                return True
            if timer.is_expired:
                return False
            yield from self.client.wait(timer, is_done=lambda: self.fetcher.has_available_fetches)

    def read(self, quiet_ms: int = 3_000) -> None:
        """Poll until there is nothing new for that long."""
        while self.run(self.poll(quiet_ms)):
            pass

    def run(self, call: Call[Any]) -> Any:
        answer: Any = None
        while True:
            try:
                step = call.send(answer)
            except StopIteration as end:
                return end.value
            answer = step.call() if isinstance(step, Invoke) else self._wait(step.until_ms)

    def _wait(self, until_ms: int | None) -> int:
        self.client.poll(self.clock.now_ms)
        own = [each for each in (until_ms, self.client.next_deadline_ms()) if each is not None]
        due_ns = max(min(own), self.clock.now_ms) * NS_PER_MS
        news = self.network.news or self.selector.has_news
        next_ns = self.scheduler.now_ns if news else min(due_ns, self.scheduler.next_ns() or due_ns)
        self.scheduler.run(max(next_ns, self.scheduler.now_ns))
        self.clock.now_ms = self.scheduler.now_ns // NS_PER_MS
        self.client.poll(self.clock.now_ms)
        return self.clock.now_ms

    def expected(self, partition: int, aborted: set[int]) -> list[tuple[int, str]]:
        """Return what the log holds for the application, without the values of aborted transactions."""
        return [
            (record.offset, record.value.decode())
            for data in self.cluster.log_batches("t", partition)
            for batch in read_batches(data)
            if not batch.header.is_control
            for record in batch.records
            if record.offset not in aborted
        ]

    def read_so_far(self, partition: int) -> list[tuple[int, str]]:
        return [(record.offset, record.value) for record in self.records[partition]]


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[str, int, int, Codec]]:
    """Batches of a log: kind, number of records, producer, codec."""
    kinds = st.sampled_from(["plain", "commit", "abort"])
    return draw(
        st.lists(st.tuples(kinds, st.integers(1, 4), st.integers(1, 2), st.sampled_from(Codec)), max_size=6)
    )


def written(make_batch, log, first):
    """Return the batches of a log, and the offsets of aborted records, if it begins at ``first``."""
    batches, aborted, at = [], set(), first
    for kind, count, producer, codec in log:
        values = [b"%d" % (at + index) for index in range(count)]
        if kind == "plain":
            batches.append(make_batch(0, values, codec=codec))
        else:
            batches.append(make_batch(0, values, codec=codec, producer_id=producer, transactional=True))
            ends = {"commit": "COMMIT", "abort": "ABORT"}[kind]
            batches.append(end_transaction_marker(ends, producer, 0, WALL_MS_AT_ZERO))
            aborted |= set(range(at, at + count)) if kind == "abort" else set()
            at += 1
        at += count
    return batches, aborted, at


EVENTS = st.sampled_from(["move", "reset", "kill", "epoch", "compact", "nothing"])


@settings(max_examples=15)
@given(st.data())
def test_every_committed_record_is_read_once_in_order(make_batch, data):
    w = Reading(isolation_level="read_committed", max_poll_records=data.draw(st.sampled_from([1, 3, 500])))
    ends, aborted = [0] * PARTITIONS, [set() for _ in range(PARTITIONS)]
    seen = [[] for _ in range(PARTITIONS)]
    for event in data.draw(st.lists(EVENTS, min_size=1, max_size=5)):
        for index in range(PARTITIONS):
            batches, gone, ends[index] = written(make_batch, data.draw(logs()), ends[index])
            w.fill(index, batches)
            aborted[index] |= gone
        if event == "compact":
            compact(w, data.draw(st.sets(st.integers(0, 9), max_size=5)), aborted[0])
            w.fill(0, [make_batch(0, [b"newest"])])  # the end of a log is never compacted
            ends[0] += 1
        for index in range(PARTITIONS):
            last = seen[index][-1][0] if seen[index] else -1
            seen[index] += [each for each in w.expected(index, aborted[index]) if each[0] > last]
        disturb(w, event, data.draw(st.sampled_from(NODES)))
        w.read(quiet_ms=5_000)
        for index in range(PARTITIONS):
            assert w.read_so_far(index) == seen[index]
            assert w.subscriptions.position(("t", index)).offset == ends[index]


def compact(w, indexes, aborted):
    """Remove some of the committed records of partition 0."""
    offsets = [offset for offset, _ in w.expected(0, aborted)]
    w.cluster.compact("t", 0, {offset for index, offset in enumerate(offsets) if index in indexes})


def disturb(w, event, node):
    now_ns = w.scheduler.now_ns
    if event == "move":
        w.cluster.move_leader("t", 0, node, now_ns)
    elif event == "reset":
        for proxy in w.network.proxies:
            proxy.cut(reset=True)
    elif event == "epoch":
        w.cluster.begin_epoch("t", 1)
    elif event == "kill":
        w.cluster.kill(node, now_ns)
        w.run(w.poll(2_000))
        w.cluster.restart(node, w.scheduler.now_ns)


def test_a_trimmed_log_resets_to_its_beginning(make_batch):
    """CSM-FET-06."""
    w = Reading()
    w.fill(0, [make_batch(0, [b"a", b"b"])])
    w.read()
    w.fill(0, [make_batch(0, [b"c", b"d"]), make_batch(0, [b"e"])])
    w.cluster.trim("t", 0, 4)
    w.read()
    assert w.read_so_far(0) == [(0, "a"), (1, "b"), (4, "e")]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_an_open_transaction_holds_up_committed_reading_only(make_batch, isolation):
    w = Reading(isolation_level=isolation)
    w.fill(0, [make_batch(0, [b"open"], producer_id=1, transactional=True), make_batch(0, [b"later"])])
    w.read()
    held_up = isolation == "read_committed"
    assert len(w.records[0]) == (0 if held_up else 2)
    w.fill(0, [end_transaction_marker("COMMIT", 1, 0, WALL_MS_AT_ZERO)])
    w.read()
    assert w.read_so_far(0) == [(0, "open"), (1, "later")]
    assert w.run(w.offsets.end_offsets([("t", 0)], Timer(w.clock, 5_000))) == {("t", 0): 3}


def test_offsets_for_times_and_by_duration(make_batch):
    w = Reading()
    w.fill(0, [make_batch(0, [b"a", b"b"])])
    found = w.run(w.offsets.offsets_for_times({("t", 0): 5, ("t", 1): 5}, Timer(w.clock, 5_000)))
    assert (found["t", 0].offset, found["t", 0].timestamp_ms) == (0, 1_000)
    assert found["t", 1] is None


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_an_unclean_election_is_noticed(make_batch, policy):
    """CSM-FET-07: reading goes on where the logs differ, or the application learns of it."""
    w = Reading(auto_offset_reset=policy)
    for index in range(PARTITIONS):
        w.subscriptions.request_offset_reset(("t", index), "earliest")
    w.cluster.alter_config("t", {"min.insync.replicas": "1"})
    leader, _ = w.cluster.leader("t", 0)
    behind = next(node for node in NODES if node != leader)
    w.fill(0, [make_batch(0, [b"a", b"b"])])
    w.cluster.drop_from_isr(behind)
    w.fill(0, [make_batch(0, [b"lost"])])
    w.read()
    assert w.read_so_far(0) == [(0, "a"), (1, "b"), (2, "lost")]
    w.cluster.elect_uncleanly("t", 0, behind)
    w.fill(0, [make_batch(0, [b"c", b"d"])])
    if policy == "none":
        with pytest.raises(LogTruncationError) as caught:
            w.read()
        assert caught.value.offsets == {("t", 0): 3}
        assert caught.value.divergent["t", 0][0] == 2
    else:
        w.read()
        assert w.read_so_far(0)[3:] == [(2, "c"), (3, "d")]


def test_a_replica_in_the_own_rack_is_read(make_batch):
    """KIP-392: the leader sends the client there, and everything is read once."""
    w = Reading(client_rack="here")
    leader, _ = w.cluster.leader("t", 0)
    near = next(node for node in NODES if node != leader)
    w.cluster.set_racks({node: "here" if node == near else "far" for node in NODES})
    w.fill(0, [make_batch(0, [b"a"])])
    w.read()
    w.fill(0, [make_batch(0, [b"b"])])
    w.read()
    assert w.read_so_far(0) == [(0, "a"), (1, "b")]
    assert w.subscriptions.preferred_replica(("t", 0), w.clock.now_ms) == near
    sent = [event.node for event in w.trace if isinstance(event, FetchSent)]
    assert sent[-1] == near
