"""The speed of the wire format: our writer and reader compared with kio's, in one run.

    .venv/bin/python benchmarks/wire.py [--seconds 0.2] [--json]

Each figure is the best of many short rounds. The rounds of the two implementations alternate, so that other load on the
machine affects both. A ratio above 1 says how many times faster ours is. kio's reader is compiled Rust that trusts its
input. Its writer is Python, and so are its reader and writer of record batches.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from time import perf_counter
from typing import Any, Literal
from uuid import UUID

from kio.records.readers import read_batch as kio_read_batch
from kio.records.schema import NewRecordBatch
from kio.records.schema import Record as KioRecord
from kio.records.writers import write_batch as kio_write_batch
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader as kio_reader
from kio.serial import entity_writer as kio_writer

from harness.wire.apis import Api
from harness.wire.makers import make, maker, nested
from harness.wire.messages import message_class
from harness.wire.readers import entity_reader
from harness.wire.records import BatchBuilder, read_batches
from harness.wire.writers import entity_writer

ROUNDS = 20
RECORDS = 500
KEY, VALUE = b"key-0123", bytes(92)
NOW_MS = 1_700_000_000_000
TOPIC_ID = UUID(int=0x123456789ABCDEF)
Work = Callable[[], Any]


@dataclass(frozen=True)
class Figure:
    """One operation, with the time in seconds of each implementation."""

    what: str
    ours_s: float
    theirs_s: float

    @property
    def ratio(self) -> float:
        return self.theirs_s / self.ours_s


def measured(what: str, ours: Work, theirs: Work, seconds: float, divisor: int = 1) -> Figure:
    """Measure both implementations in alternating rounds, and return the best round of each."""
    hands = (ours, theirs)
    times = [max(1, int(seconds / ROUNDS / len(hands) / max(_once(hand, 3), 1e-9))) for hand in hands]
    best = [
        min(both)
        for both in zip(
            *([_once(*each) for each in zip(hands, times, strict=True)] for _ in range(ROUNDS)), strict=True
        )
    ]
    return Figure(what, best[0] / divisor, best[1] / divisor)


def _once(work: Work, times: int) -> float:
    begin = perf_counter()
    for _ in range(times):
        work()
    return (perf_counter() - begin) / times


def messages() -> Iterator[Any]:
    """Yield messages between a producer and its broker."""
    yield _produce_request(9)
    yield _produce_response(9)
    yield _produce_request(13)
    yield _produce_response(13)
    yield _message(Api.METADATA, 12, "request", topics=_metadata_topics(), allow_auto_topic_creation=False)
    yield _metadata_response()
    yield _message(
        Api.INIT_PRODUCER_ID, 4, "request", transaction_timeout=timedelta(seconds=60), producer_id=-1
    )
    yield _message(Api.INIT_PRODUCER_ID, 4, "response", producer_id=7)
    yield _message(Api.API_VERSIONS, 3, "request", client_software_name="kafka", client_software_version="1")
    versions = message_class(Api.API_VERSIONS, 3, "response")
    keys = tuple(
        make(nested(versions, "ApiVersion"), api_key=i, min_version=0, max_version=9) for i in range(60)
    )
    yield _message(Api.API_VERSIONS, 3, "response", api_keys=keys)
    yield _message(Api.FIND_COORDINATOR, 4, "request", key_type=0, coordinator_keys=("group",))


def _message(api: Api, version: int, kind: Literal["request", "response"], **values: Any) -> Any:
    common = {
        "error_code": ErrorCode.none,
        "include_topic_authorized_operations": False,
        "producer_epoch": 0,
        "throttle_time": timedelta(0),
        "transactional_id": None,
    }
    return make(message_class(api, version, kind), **{**common, **values})


def _produce_request(version: int) -> Any:
    request = message_class(Api.PRODUCE, version, "request")
    parts = tuple(
        make(nested(request, "PartitionProduceData"), index=i, records=bytes(1000)) for i in range(3)
    )
    topic = make(nested(request, "TopicProduceData"), name="topic", topic_id=TOPIC_ID, partition_data=parts)
    return make(request, acks=-1, timeout=timedelta(seconds=30), topic_data=(topic,))


def _produce_response(version: int) -> Any:
    response = message_class(Api.PRODUCE, version, "response")
    parts = tuple(
        make(
            nested(response, "PartitionProduceResponse"),
            index=i,
            error_code=ErrorCode.none,
            base_offset=1000 * i,
            log_append_time=None,
            log_start_offset=0,
            record_errors=(),
        )
        for i in range(3)
    )
    topic = make(
        nested(response, "TopicProduceResponse"), name="topic", topic_id=TOPIC_ID, partition_responses=parts
    )
    return make(response, responses=(topic,), throttle_time=timedelta(0))


def _metadata_topics() -> tuple[Any, ...]:
    request = message_class(Api.METADATA, 12, "request")
    return (make(nested(request, "MetadataRequestTopic"), name="topic", topic_id=None),)


def _metadata_response() -> Any:
    response = message_class(Api.METADATA, 12, "response")
    brokers = tuple(
        make(
            nested(response, "MetadataResponseBroker"), node_id=i, host="localhost", port=9092 + i, rack=None
        )
        for i in range(3)
    )
    partitions = tuple(
        make(
            nested(response, "MetadataResponsePartition"),
            error_code=ErrorCode.none,
            partition_index=i,
            leader_id=i % 3,
            leader_epoch=4,
            replica_nodes=(0, 1, 2),
            isr_nodes=(0, 1, 2),
            offline_replicas=(),
        )
        for i in range(6)
    )
    topic = make(
        nested(response, "MetadataResponseTopic"),
        error_code=ErrorCode.none,
        name="topic",
        topic_id=TOPIC_ID,
        is_internal=False,
        partitions=partitions,
    )
    return _message(
        Api.METADATA, 12, "response", brokers=brokers, cluster_id="cluster", controller_id=0, topics=(topic,)
    )


def of_message(message: Any, seconds: float) -> Iterator[Figure]:
    """Measure making, writing and reading one message, without headers and frame."""
    entity: Any = type(message)
    name = f"{entity.__name__} v{entity.__version__}"
    values = {field.name: getattr(message, field.name) for field in fields(entity)}
    ours, theirs = entity_writer(entity), kio_writer(entity)
    out = BytesIO()
    theirs(out, message)
    data = out.getvalue()
    if ours(message) != data or entity_reader(entity)(data, 0)[:2] != kio_reader(entity)(data, 0):
        raise AssertionError(f"{name}: the two implementations do not agree")
    yield measured(f"make  {name}", partial(maker(entity), **values), partial(entity, **values), seconds)
    yield measured(f"write {name}", partial(ours, message), lambda: theirs(BytesIO(), message), seconds)
    yield measured(
        f"read  {name}",
        partial(entity_reader(entity), data, 0),
        partial(kio_reader(entity), data, 0),
        seconds,
    )


def of_records(seconds: float) -> Iterator[Figure]:
    """Measure a record of 100 bytes, as a share of a whole batch that is written and read."""

    def write() -> bytes:
        builder = BatchBuilder()
        for index in range(RECORDS):
            builder.append(NOW_MS + index // 50, KEY, VALUE)
        return builder.build(1, 0, 0)

    def write_with_kio() -> bytes:
        make_record: Any = KioRecord
        make_batch: Any = NewRecordBatch
        records = tuple(
            make_record(
                attributes=0,
                timestamp=datetime.fromtimestamp((NOW_MS + index // 50) / 1000, UTC),
                offset=index,
                key=KEY,
                value=VALUE,
                headers=(),
            )
            for index in range(RECORDS)
        )
        out = BytesIO()
        batch = make_batch(
            producer_id=1,
            producer_epoch=0,
            partition_leader_epoch=-1,
            base_sequence=0,
            attributes=0,
            records=records,
        )
        kio_write_batch(out, batch)
        return out.getvalue()

    data = write()
    yield measured("write a record of 100 bytes", write, write_with_kio, seconds, RECORDS)
    yield measured(
        "read a record of 100 bytes",
        lambda: list(read_batches(data)),
        lambda: kio_read_batch(data, 0),
        seconds,
        RECORDS,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Our wire format compared with kio's.")
    parser.add_argument("--seconds", type=float, default=0.2, help="seconds per figure (default 0.2)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, in seconds")
    options = parser.parse_args()
    figures = [figure for message in messages() for figure in of_message(message, options.seconds)]
    figures += of_records(options.seconds)
    if options.json:
        sys.stdout.write(json.dumps([{**asdict(figure), "ratio": figure.ratio} for figure in figures]) + "\n")
        return 0
    sys.stdout.write(f"{'':36}{'ours':>10}{'kio':>12}{'ratio':>9}\n")
    for figure in figures:
        ours_us, theirs_us = 1e6 * figure.ours_s, 1e6 * figure.theirs_s
        sys.stdout.write(f"{figure.what:36}{ours_us:7.2f} us{theirs_us:9.2f} us{figure.ratio:8.1f}x\n")
    write, read = figures[-2:]
    sys.stdout.write(f"\nrecords per second: {1 / write.ours_s:,.0f} written, {1 / read.ours_s:,.0f} read\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
