"""The metrics of whole consumers in virtual time: they agree with what happened."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.reference.telemetry import trace as event
from clients.reference.telemetry.consumer_metrics import (
    COORDINATOR,
    FETCH,
    PARTITION,
    TOPIC,
    ConsumerMetrics,
)
from clients.reference.telemetry.metrics import MetricName, Scope
from harness.simulated.scheduler import WALL_MS_AT_ZERO
from harness.wire.apis import Api
from harness.wire.error_table import error_for
from harness.wire.records import BatchBuilder, Codec, read_headers
from suites.properties.group_member import Member
from suites.properties.group_simulation import Group

A, B = ("t", 0), ("t", 1)
HEADER_BYTES = 61
#: A window that ends after every trial.
WHOLE_MS = 3_600_000


def of(values: dict[MetricName, float], scope: Scope, subject: str = "") -> dict[str, float]:
    """Return the metrics of one subject by name."""
    tags = (("client-id", "c"), *scope.tags(subject))
    return {
        name.name: value for name, value in values.items() if (name.group, name.tags) == (scope.group, tags)
    }


class Measured:
    """A member and its metrics, which are folded whenever ``look`` is called."""

    def __init__(self, member: Member) -> None:
        config = member.config
        protocol = None if config.group_id is None else config.group_protocol
        self.member, self.metrics = member, ConsumerMetrics("c", protocol, window_ms=WHOLE_MS)
        self._folded = 0
        self._totals: dict[MetricName, float] = {}

    def look(self) -> dict[MetricName, float]:
        """Fold what has happened, and return the values. Fail if a total has fallen."""
        trace = self.member.trace
        self.metrics.fold(deque(trace[self._folded :]))
        self._folded = len(trace)
        replicas = self.member.core.read_replicas()
        self.metrics.assigned(replicas)
        values = self.metrics.read(replicas, self.member.world.now_ms)
        assert set(values) == set(self.metrics.names())
        totals = {name: value for name, value in values.items() if name.name.endswith("-total")}
        assert all(totals[name] >= value for name, value in self._totals.items())
        self._totals = totals
        return values

    def partitions(self) -> set[str]:
        """Return the partitions that have metrics."""
        tags = [dict(name.tags) for name in self.look() if "partition" in dict(name.tags)]
        return {f"{each['topic']}-{each['partition']}" for each in tags}


def batch(count: int, codec: Codec) -> bytes:
    builder = BatchBuilder(codec, WALL_MS_AT_ZERO)
    for number in range(count):
        builder.append(WALL_MS_AT_ZERO, None, b"v" * number, ())
    return builder.build()


def plain_bytes(counts: Iterable[int]) -> int:
    """Return the size of the records of batches, uncompressed."""
    whole = [batch(count, Codec.NONE) for count in counts]
    assert all(len(read_headers(each)) == 1 for each in whole)
    return sum(len(each) - HEADER_BYTES for each in whole)


@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(1, 40), max_size=6),
    later=st.lists(st.integers(1, 40), max_size=3),
    most=st.integers(1, 60),
    codec=st.sampled_from([Codec.NONE, Codec.GZIP]),
    looks_ms=st.lists(st.integers(1, 400), max_size=5),
    cut_at=st.integers(0, 8),
)
def test_totals_are_what_happened(counts, later, most, codec, looks_ms, cut_at):
    """The consumed records are those that poll() returned, once. Lag and lead fit the position. No total falls."""
    group = Group(partitions=2)
    member = group.member(
        group_id=None, enable_auto_commit=False, fetch_max_wait_ms=100, max_poll_records=most
    )
    measured = Measured(member)
    member.do(member.core.assign([A, B]))
    group.cluster.fill("t", 0, [batch(count, codec) for count in counts], group.scheduler.now_ns)
    member.polls(timeout_ms=50)
    for number, for_ms in enumerate(looks_ms):
        group.run(for_ms)
        if number == cut_at:
            group.proxy().refuse("test")
        if number == cut_at + 1:
            group.proxy().accept("test")
        told = of(measured.look(), FETCH)
        assert told["records-consumed-total"] <= len(member.records)
    group.proxy().accept("test")
    group.cluster.fill("t", 1, [batch(count, codec) for count in later], group.scheduler.now_ns)
    stored = sum((*counts, *later))
    group.until(lambda: len(member.records) == stored)
    group.run(2_000)  # the brokers have told the end of every partition
    values = measured.look()
    for partition in (A, B):
        end = sum(counts if partition == A else later)
        told = of(values, PARTITION, f"t-{partition[1]}")
        assert member.do(member.core.position(partition)) == end
        assert (told["records-lag"], told["records-lead"]) == (0, end)
    told, topic = of(values, FETCH), of(values, TOPIC, "t")
    assert told["records-consumed-total"] == topic["records-consumed-total"] == stored
    assert told["bytes-consumed-total"] == topic["bytes-consumed-total"] == plain_bytes((*counts, *later))


@settings(max_examples=15, deadline=None)
@given(count=st.integers(2, 60), most=st.integers(1, 59), close=st.booleans())
def test_a_response_that_is_given_up_counts_as_far_as_it_was_returned(count, most, close):
    group = Group(partitions=1)
    member = group.member(group_id=None, max_poll_records=most)
    measured = Measured(member)
    member.do(member.core.assign([A]))
    group.cluster.fill("t", 0, [batch(count, Codec.NONE)], group.scheduler.now_ns)
    member.loop = lambda: None
    returned = 0
    while not returned:
        returned = member.do(member.core.poll(1_000)).count
    of_position = of(measured.look(), PARTITION, "t-0")
    assert of_position["records-lag"] == count - returned and of_position["records-lead"] == returned
    member.do(member.core.close() if close else member.core.unsubscribe())
    told = of(measured.look(), FETCH)
    assert told["records-consumed-total"] == returned == min(count, most)
    builder = BatchBuilder(Codec.NONE, WALL_MS_AT_ZERO)
    for number in range(returned):
        builder.append(WALL_MS_AT_ZERO, None, b"v" * number, ())
    assert told["bytes-consumed-total"] == len(builder.build()) - HEADER_BYTES


def test_records_before_the_position_are_not_consumed():
    """A position in the middle of a batch: the broker sends the whole batch."""
    group = Group(partitions=1)
    member = group.member(group_id=None)
    measured = Measured(member)
    member.do(member.core.assign([A]))
    group.cluster.fill("t", 0, [batch(10, Codec.NONE)], group.scheduler.now_ns)
    member.core.seek(A, 7)
    member.polls(timeout_ms=50)
    group.until(lambda: len(member.records) == 3)
    group.run(1_000)
    told = of(measured.look(), FETCH)
    assert told["records-consumed-total"] == 3
    assert told["bytes-consumed-total"] == plain_bytes([10]) - plain_bytes([7])


@settings(max_examples=10, deadline=None)
@given(
    protocol=st.sampled_from(["classic", "consumer"]),
    steps=st.lists(st.sampled_from(["join", "leave", "commit", "wait"]), min_size=1, max_size=5),
)
def test_a_group_is_told_as_it_was(protocol, steps):
    """Requests are those that the brokers answered, partitions those that are owned, rebalances those that ended."""
    group = Group(partitions=4)
    first = group.member(group_protocol=protocol, enable_auto_commit=False).subscribe().polls()
    measured = Measured(first)
    others: list[Member] = []
    group.until(lambda: len(first.owned) == 4)
    for step in steps:
        if step == "join":
            others.append(group.member(group_protocol=protocol).subscribe().polls())
        elif step == "leave" and others:
            gone = others.pop()
            gone.do(gone.core.close())
        elif step == "commit":
            group.until(lambda: first.coordinator.state.told == "STABLE")
            first.do(first.core.commit_sync())
        group.run(10_000)
        assert measured.partitions() == {f"t-{index}" for index in first.owned}
    told = of(measured.look(), COORDINATOR[protocol])
    assert told["assigned-partitions"] == len(first.owned)
    assert told["commit-total"] == len(first.kinds(event.OffsetCommitEnded))
    assert told["heartbeat-total"] == sum(
        each.api in ("Heartbeat", "ConsumerGroupHeartbeat") for each in first.kinds(event.ResponseReceived)
    )
    assert 0 <= told["last-heartbeat-seconds-ago"] <= 6
    assert told["rebalance-total"] >= 1 and told["rebalance-latency-total"] >= 0
    heard = [what for what, _ in first.told]
    for what in ("assigned", "revoked", "lost"):
        assert isnan(told[f"partition-{what}-latency-max"]) == (what not in heard)
    if protocol == "classic":
        assert told["rebalance-total"] == told["sync-total"] == first.states().count("STABLE")
        assert told["join-total"] == first.states().count("COMPLETING_REBALANCE")
        assert first.states()[-1] == "STABLE"
        tried = [each for each in first.kinds(event.StateChanged) if each.cause == "join"]
        assert told["failed-rebalance-total"] == len(tried) - told["sync-total"] >= 1  # without a member id


@pytest.mark.parametrize("code", [14, 25])  # COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID
def test_a_heartbeat_that_is_refused_fails_only_a_reconciliation_in_progress(code):
    group = Group(partitions=1)
    member = group.member(group_protocol="consumer").subscribe()
    measured = Measured(member)
    member.do(member.core.poll(0))  # it joins, and does not poll again, so it does not reconcile
    group.until(lambda: member.coordinator.state.told == "RECONCILING")
    group.brokers.fates(code, api=Api.CONSUMER_GROUP_HEARTBEAT)
    sent = len(group.brokers.requests(Api.CONSUMER_GROUP_HEARTBEAT))
    group.until(lambda: len(group.brokers.requests(Api.CONSUMER_GROUP_HEARTBEAT)) > sent)
    group.run(100)
    [failed] = member.kinds(event.RebalanceFailed)
    assert failed.error == error_for(code).name
    member.polls()
    group.until(lambda: member.owned == [0] and member.coordinator.state.told == "STABLE")
    group.brokers.fates(code, api=Api.CONSUMER_GROUP_HEARTBEAT)
    group.run(10_000)
    told = of(measured.look(), COORDINATOR["consumer"])
    assert told["failed-rebalance-total"] == 1 and told["rebalance-total"] >= 1
