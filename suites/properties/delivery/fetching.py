"""What poll() returns: every record once and in order, and what makes a partition wait, skip, go back or fail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from hypothesis import strategies as st

from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import (
    ConsumerError,
    CorruptRecordError,
    LogTruncationError,
    OffsetOutOfRangeError,
)
from clients.reference.telemetry.fetch_events import FetchSent
from harness.simulated.scheduler import WALL_MS_AT_ZERO
from harness.wire.apis import Api
from harness.wire.records import BatchBuilder, Codec, end_transaction_marker
from suites.properties.group_member import Member
from suites.properties.group_simulation import Group
from suites.properties.property import consumer_property, example

A, B = ("t", 0), ("t", 1)
#: More requests than a consumer needs to read what a property has stored.
MOST_REQUESTS = 400
DISTURBANCES = st.sampled_from(["cut", "reset", "move", "epoch", "nothing"])
KINDS = st.sampled_from(["plain", "commit", "abort", "empty"])


def batch(*values: bytes, producer_id: int = -1, codec: Codec = Codec.NONE) -> bytes:
    """Return a batch of records, in a transaction if it has a producer."""
    builder = BatchBuilder(codec, WALL_MS_AT_ZERO)
    for value in values:
        builder.append(WALL_MS_AT_ZERO, None, value, ())
    if producer_id < 0:
        return builder.build()
    return builder.build(producer_id, 0, 0, transactional=True)


class Reading:
    """A consumer without a group that reads partitions of topic t, and what it has read."""

    def __init__(self, components: Components, partitions: int = 1, nodes: int = 1, **settings: Any) -> None:
        self.group = Group(components, nodes=nodes, partitions=partitions)
        own = {"group_id": None, "enable_auto_commit": False, "fetch_max_wait_ms": 100}
        self.member: Member = self.group.member(**(own | settings))
        self.member.do(self.member.core.assign([("t", index) for index in range(partitions)]))
        self.core = self.member.core

    @property
    def offsets(self) -> list[int]:
        """The offsets that were read of partition 0, in order."""
        return [offset for partition, offset in self.member.records if partition == 0]

    def fill(self, batches: Iterable[bytes], partition: int = 0) -> None:
        """Append batches."""
        self.group.cluster.fill("t", partition, batches, self.group.scheduler.now_ns)

    def read(self, quiet_ms: int = 1_500) -> None:
        """Poll until nothing has come for that long, or poll() has raised. Fail if fetches never end."""
        self.member.polls(timeout_ms=500)
        most = len(self.group.brokers.seen) + MOST_REQUESTS

        def is_over() -> bool:
            return bool(self.member.errors) or len(self.group.brokers.seen) > most

        before = -1
        while before != len(self.member.records) and not is_over():
            before = len(self.member.records)
            self.group.run_until(is_over, quiet_ms)
        assert len(self.group.brokers.seen) <= most, "the same records are fetched again and again"
        self.member.loop = lambda: None
        self.group.until(lambda: self.member._call is None, 5_000)


@consumer_property(
    "CSM-FET-02",
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    most=st.sampled_from([1, 2, 500]),
    disturbances=st.lists(DISTURBANCES, max_size=3),
    codec=st.sampled_from([Codec.NONE, Codec.LZ4]),
)
@example(counts=[3, 2], most=2, disturbances=["cut"], codec=Codec.NONE)
def every_record_is_returned_once_in_order(
    components: Components, counts: list[int], most: int, disturbances: list[str], codec: Codec
) -> None:
    """Records come in the order of their offsets, none twice and none left out, whatever happens to connections."""
    reading = Reading(components, nodes=2, max_poll_records=most)
    total = 0
    for number, count in enumerate(counts):
        reading.fill([batch(*(b"x" for _ in range(count)), codec=codec)])
        total += count
        if number < len(disturbances):
            _disturb(reading, disturbances[number])
        reading.read()
    assert reading.offsets == list(range(total)), f"read {reading.offsets} of {total} records"
    assert reading.member.errors == []


def _disturb(reading: Reading, how: str) -> None:
    """Disturb the network or the cluster while a fetch waits for records."""
    group = reading.group
    reading.member.polls(timeout_ms=500)
    group.run(30)
    if how in ("cut", "reset"):
        for proxy in group.network.proxies:
            proxy.cut(reset=how == "reset")
    elif how == "move":
        leader, _ = group.cluster.leader("t", 0)
        group.cluster.move_leader("t", 0, 3 - leader, group.scheduler.now_ns)
    elif how == "epoch":
        group.cluster.begin_epoch("t", 0)


@consumer_property("CSM-FET-02", "CSM-FET-08", records=st.integers(1, 8), most=st.integers(1, 4))
@example(records=7, most=3)
def a_poll_returns_no_more_than_it_may(components: Components, records: int, most: int) -> None:
    """A poll returns at most max.poll.records, and the rest comes with the next ones."""
    reading = Reading(components, partitions=2, max_poll_records=most)
    for partition in (0, 1):
        reading.fill([batch(*(b"x" for _ in range(records)))], partition)
    found: list[int] = []
    for _ in range(4 * records):
        found.append(reading.member.do(reading.core.poll(1_000)).count)
        if sum(found) == 2 * records:
            break
    assert max(found) <= most, f"{max(found)} records in one poll, and max.poll.records is {most}"
    assert sum(found) == 2 * records


@consumer_property("CSM-FET-03", target=st.integers(0, 9), most=st.sampled_from([1, 4]))
@example(target=7, most=1)
def after_a_seek_only_its_target_is_read(components: Components, target: int, most: int) -> None:
    """What was fetched for another position is dropped: the first record after a seek is its target."""
    reading = Reading(components, max_poll_records=most)
    reading.fill([batch(*(b"x" for _ in range(10)))])
    while not reading.member.do(reading.core.poll(1_000)).count:
        pass
    reading.core.seek(A, target)
    reading.read()
    assert reading.offsets == list(range(target, 10)), f"read {reading.offsets} after a seek to {target}"


@consumer_property(
    "CSM-FET-04",
    "CSM-FET-05",
    log=st.lists(st.tuples(KINDS, st.integers(1, 3)), min_size=1, max_size=5),
    committed=st.booleans(),
    most=st.sampled_from([1, 500]),
)
@example(log=[("abort", 2), ("plain", 1), ("commit", 1)], committed=True, most=500)
@example(log=[("commit", 1), ("empty", 2)], committed=True, most=500)
@example(log=[("abort", 1), ("commit", 1)], committed=True, most=1)
def aborted_records_and_markers_are_passed(
    components: Components, log: list[tuple[str, int]], committed: bool, most: int
) -> None:
    """With read_committed no aborted record is returned, without it all are. Markers never are, and nothing stalls."""
    isolation = "read_committed" if committed else "read_uncommitted"
    reading = Reading(components, isolation_level=isolation, max_poll_records=most)
    wanted: list[int] = []
    end = 0
    for kind, count in log:
        values = [b"x"] * count
        if kind == "plain":
            reading.fill([batch(*values)])
        elif kind != "empty":
            reading.fill([batch(*values, producer_id=1)])
        if kind != "empty":
            if kind != "abort" or not committed:
                wanted += range(end, end + count)
            end += count
        if kind != "plain":
            ends: Literal["ABORT", "COMMIT"] = "ABORT" if kind == "abort" else "COMMIT"
            reading.fill([end_transaction_marker(ends, 1, 0, WALL_MS_AT_ZERO)])
            end += 1
    reading.read()
    assert reading.offsets == wanted, f"read {reading.offsets} in place of {wanted}"
    assert reading.member.do(reading.core.position(A, 1_000)) == end, "the position stands before a marker"


@consumer_property("CSM-FET-05", open_records=st.integers(1, 3), later=st.integers(1, 3))
@example(open_records=1, later=2)
def an_open_transaction_holds_up_what_follows(components: Components, open_records: int, later: int) -> None:
    """With read_committed nothing is returned from the first open transaction on, until it has ended."""
    reading = Reading(components, isolation_level="read_committed")
    reading.fill([batch(b"first"), batch(*[b"x"] * open_records, producer_id=1), batch(*[b"y"] * later)])
    reading.read()
    assert reading.offsets == [0], f"read {reading.offsets} while a transaction is open"
    reading.fill([end_transaction_marker("COMMIT", 1, 0, WALL_MS_AT_ZERO)])
    reading.read()
    assert reading.offsets == list(range(1 + open_records + later))


@consumer_property("CSM-FET-04", kept=st.sets(st.integers(0, 7), max_size=6), most=st.sampled_from([1, 500]))
@example(kept={1, 6}, most=500)
@example(kept=set(), most=1)
def compacted_offsets_are_passed(components: Components, kept: set[int], most: int) -> None:
    """The position passes offsets whose records compaction has removed, also at the end of a batch."""
    reading = Reading(components, max_poll_records=most)
    reading.fill([batch(*(b"x" for _ in range(4))), batch(*(b"x" for _ in range(4)))])
    reading.group.cluster.compact("t", 0, set(range(8)) - kept)
    reading.fill([batch(b"last")])
    reading.read()
    assert reading.offsets == [*sorted(kept), 8], f"read {reading.offsets}, and {sorted(kept)} were kept"


@consumer_property(
    "CSM-FET-06",
    policy=st.sampled_from(["earliest", "latest", "none"]),
    trimmed=st.integers(2, 4),
    read=st.integers(0, 1),
)
@example(policy="earliest", trimmed=3, read=1)
@example(policy="none", trimmed=3, read=1)
def beyond_the_log_the_policy_decides(components: Components, policy: str, trimmed: int, read: int) -> None:
    """A position that the log no longer has is reset as configured. Without a policy an error names it."""
    reading = Reading(components, auto_offset_reset=policy)
    reading.fill([batch(b"x") for _ in range(5)])
    reading.core.seek(A, read)
    reading.group.cluster.trim("t", 0, trimmed)
    reading.read()
    if policy == "none":
        error = reading.member.errors[0] if reading.member.errors else None
        assert isinstance(error, OffsetOutOfRangeError) and error.offsets == {A: read}, f"{error!r}"
        assert reading.offsets == []
        return
    reading.fill([batch(b"y")])
    reading.read()
    assert reading.offsets == ([*range(trimmed, 6)] if policy == "earliest" else [5])
    assert reading.member.errors == []


@consumer_property("CSM-FET-06", code=st.sampled_from([3, 6, 9, 56, 74, 75, -1]), times=st.integers(1, 2))
@example(code=6, times=1)
@example(code=3, times=2)
def no_other_error_moves_a_position(components: Components, code: int, times: int) -> None:
    """An error of a fetch that is not about the offset leaves the position where it is, and reading goes on there."""
    reading = Reading(components, auto_offset_reset="latest")
    reading.fill([batch(b"x") for _ in range(4)])
    reading.core.seek(A, 1)
    reading.group.brokers.fates(*[code] * times, api=Api.FETCH)
    reading.read(quiet_ms=3_000)
    assert reading.offsets == [1, 2, 3], f"read {reading.offsets} from offset 1 on after error {code}"
    assert not reading.group.brokers.requests(Api.LIST_OFFSETS), "the position was looked up"


@consumer_property("CSM-FET-07", policy=st.sampled_from(["earliest", "none"]), lost=st.integers(1, 3))
@example(policy="earliest", lost=1)
@example(policy="none", lost=2)
def a_truncated_log_is_noticed(components: Components, policy: str, lost: int) -> None:
    """After an unclean election reading goes on where the logs differ, or the application learns of the truncation."""
    reading = Reading(components, nodes=3, auto_offset_reset=policy)
    cluster = reading.group.cluster
    cluster.alter_config("t", {"min.insync.replicas": "1"})
    leader, _ = cluster.leader("t", 0)
    behind = next(node for node in (1, 2, 3) if node != leader)
    reading.core.seek(A, 0)
    reading.fill([batch(b"a", b"b")])
    cluster.drop_from_isr(behind)
    reading.fill([batch(*[b"lost"] * lost)])
    reading.read()
    assert reading.offsets == list(range(2 + lost))
    cluster.elect_uncleanly("t", 0, behind)
    reading.fill([batch(b"c", b"d", b"e", b"f")])
    reading.read(quiet_ms=4_000)
    if policy == "none":
        assert isinstance(reading.member.errors[0] if reading.member.errors else None, LogTruncationError)
    else:
        assert reading.offsets[2 + lost :] == [2, 3, 4, 5], f"read {reading.offsets}"


@consumer_property("CSM-FET-08", records=st.integers(2, 6), most=st.integers(1, 3), polls=st.integers(1, 3))
@example(records=5, most=2, polls=2)
def a_paused_partition_keeps_what_it_has(components: Components, records: int, most: int, polls: int) -> None:
    """A paused partition yields nothing and is not fetched. After its resumption each record comes once."""
    reading = Reading(components, partitions=2, max_poll_records=most)
    reading.fill([batch(*(b"x" for _ in range(records)))])
    first = 0
    while not first:
        first = reading.member.do(reading.core.poll(1_000)).count
    reading.core.pause([A])
    reading.group.run(500)
    sent = len(reading.member.kinds(FetchSent))
    for _ in range(polls):
        assert not reading.member.do(reading.core.poll(300)).count, "a paused partition was returned"
    asked = [
        [part.partition for topic in seen.body.topics for part in topic.partitions]
        for seen in reading.group.brokers.requests(Api.FETCH)[sent:]
    ]
    assert not any(0 in each for each in asked), "a paused partition was fetched"
    reading.core.resume([A])
    reading.read()
    assert reading.offsets == list(range(first, records)), f"read {first} records, then {reading.offsets}"


@consumer_property("CSM-FET-09", good=st.integers(0, 3), checks=st.booleans())
@example(good=2, checks=True)
def a_damaged_batch_is_an_error_with_its_place(components: Components, good: int, checks: bool) -> None:
    """Good records before a damaged batch are returned first. Then each poll fails with its place, until a seek."""
    reading = Reading(components, check_crcs=checks)
    reading.fill([batch(b"good") for _ in range(good)])
    reading.fill([batch(b"damaged"), batch(b"after")])
    log = reading.group.cluster.state.topics["t"].partitions[0].log
    at = log.batches[good]
    log.batches[good] = at._replace(data=_damaged(at.data))
    reading.read()
    if not checks:
        return
    assert reading.offsets == list(range(good)), f"read {reading.offsets} before offset {good}"
    error = reading.member.errors[0] if reading.member.errors else None
    assert isinstance(error, CorruptRecordError), f"{error!r}"
    assert (error.partition, error.offset) == (A, good)
    reading.member.errors.clear()
    reading.core.seek(A, good + 1)
    reading.read()
    assert reading.offsets[good:] == [good + 1] and not reading.member.errors


def _damaged(data: bytes) -> bytes:
    changed = bytearray(data)
    changed[-3] ^= 0xFF
    return bytes(changed)


@consumer_property("CSM-FET-11", policy=st.sampled_from(["earliest", "latest", "none"]), stored=st.booleans())
def a_new_owner_begins_where_the_group_is(components: Components, policy: str, stored: bool) -> None:
    """Reading begins at the committed offset. Without one the policy decides, or an error says that there is none."""
    group = Group(components, partitions=1)
    group.fill(0, b"a", b"b", b"c")
    if stored:
        group.cluster.commit("g", "t", 0, 1)
    member = (
        group.member(auto_offset_reset=policy, enable_auto_commit=False).subscribe().polls(timeout_ms=500)
    )
    group.run_until(lambda: bool(member.errors), 4_000)
    if member.errors:
        member.loop = lambda: None
    group.fill(0, b"d")
    group.run(1_000)
    offsets = [offset for _, offset in member.records]
    wanted = {"earliest": [0, 1, 2, 3], "latest": [3], "none": []}[policy]
    assert offsets == ([1, 2, 3] if stored else wanted), f"read {offsets}"
    assert bool(member.errors) is (policy == "none" and not stored)
    assert all(isinstance(error, ConsumerError) for error in member.errors)
