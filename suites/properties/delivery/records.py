"""How a record is stored, what its sender is told, and which records are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from clients.reference.errors import RecordTooLargeError
from clients.reference.producer.producer import Components
from harness.model.errors import UsageError
from harness.simulated.scheduler import WALL_MS_AT_ZERO
from harness.wire.records import read_batches
from suites.properties.property import client_property, example
from suites.properties.simulation import TOPIC, Simulation

BYTES = st.none() | st.binary(max_size=20)
HEADERS = st.lists(st.tuples(st.sampled_from(["a", "b", ""]), BYTES), max_size=3)
CODECS = st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"])


@dataclass(frozen=True)
class Given:
    """A record as the application gives it. Its age in ms is relative to the brokers' time."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    age_ms: int

    @property
    def timestamp_ms(self) -> int:
        return WALL_MS_AT_ZERO - self.age_ms


RECORD = st.builds(Given, BYTES, BYTES, HEADERS, st.integers(0, 100_000))
THREE = [
    Given(None, b"", [("a", None), ("b", b"1"), ("a", b"")], 50_000),
    Given(b"", None, [], 20_000),
    Given(b"k", b"v", [], 0),
]


def send(simulation: Simulation, given: Given, **more: Any) -> Any:
    delivery, _ = simulation.core.send(
        TOPIC,
        given.key,
        given.value,
        timestamp_ms=given.timestamp_ms,
        now_ms=simulation.now_ms,
        headers=given.headers,
        partition=0,
        **more,
    )
    return delivery


@client_property(
    "PRD-ISP-08",
    "PRD-ISP-09",
    "PRD-SND-01",
    "PRD-SND-02",
    "PRD-SND-13",
    records=st.lists(RECORD, min_size=1, max_size=12),
    codec=CODECS,
    appends=st.booleans(),
    refusals=st.integers(0, 2),
)
@example(records=THREE, codec="none", appends=False, refusals=1)
@example(records=THREE, codec="gzip", appends=True, refusals=0)
def what_was_sent_is_stored_and_told(
    components: Components, records: list[Given], codec: str, appends: bool, refusals: int
) -> None:
    """Records are stored as given, also by a later attempt. Callbacks run in order, each with its record's place."""
    kind = "LogAppendTime" if appends else "CreateTime"
    simulation = Simulation(
        components, {"compression.type": codec}, topic_config={"message.timestamp.type": kind}
    )
    simulation.warm(partition=0)
    simulation.cluster.inject_error(0, 19, refusals)
    before, began_ms = len(simulation.log()), simulation.now_ms
    told: list[tuple[int, Any]] = []
    for number, given in enumerate(records):
        send(
            simulation, given, callback=lambda metadata, error, n=number: told.append((n, error or metadata))
        )
    assert simulation.flush(), "flush() does not return"
    simulation.run(60_000)
    assert [number for number, _ in told] == list(range(len(records))), "each callback runs once and in order"
    stored = [
        (batch.header.base_offset + index, record)
        for data in simulation.cluster.log_batches(TOPIC, 0)
        for batch in read_batches(data)
        for index, record in enumerate(batch.records)
    ][before:]
    for given, (offset, record), (_, metadata) in zip(records, stored, told, strict=True):
        assert (record.key, record.value) == (given.key, given.value)
        assert list(record.headers) == given.headers
        assert metadata.offset == offset, f"told {metadata.offset}, stored at {offset}"
        if appends:
            assert metadata.timestamp_ms >= WALL_MS_AT_ZERO + began_ms, "the broker's time counts"
        else:
            assert metadata.timestamp_ms == record.timestamp_ms == given.timestamp_ms


@client_property(
    "PRD-ACC-10",
    "PRD-ISP-09",
    limit_bytes=st.integers(200, 2_000),
    beyond_bytes=st.integers(-400, 400),
    memory=st.booleans(),
)
@example(limit_bytes=500, beyond_bytes=200, memory=False)
@example(limit_bytes=500, beyond_bytes=200, memory=True)
def a_record_beyond_the_limit_fails_at_once(
    components: Components, limit_bytes: int, beyond_bytes: int, memory: bool
) -> None:
    """A record beyond max.request.size or buffer.memory fails without waiting, and an invalid one is refused."""
    setting = "buffer.memory" if memory else "max.request.size"
    simulation = Simulation(components, {setting: limit_bytes, "batch.size": 100})
    simulation.warm()
    size_bytes = max(limit_bytes + beyond_bytes, 0)
    delivery = simulation.send(bytes(size_bytes))
    simulation.run(0)
    if size_bytes > limit_bytes:
        assert isinstance(delivery.error, RecordTooLargeError), f"{delivery.error}"
        assert setting in str(delivery.error)
    elif size_bytes < limit_bytes - 120:
        assert delivery.error is None
        simulation.flush()
        assert delivery.is_done and delivery.error is None
    for timestamp_ms, partition in ((-1, 0), (0, -1)):
        try:
            simulation.core.send(
                TOPIC, None, b"", timestamp_ms=timestamp_ms, now_ms=simulation.now_ms, partition=partition
            )
        except UsageError:
            continue
        raise AssertionError(f"timestamp {timestamp_ms} and partition {partition} were accepted")
