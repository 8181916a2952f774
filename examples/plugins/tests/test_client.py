"""The client tries one broker after the other until it has a response, and fails a lookup in time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO

import pytest
from kafka_trial_examples.client.asking import Asking
from kafka_trial_examples.client.lookup_client import LookupClient, one_too_many
from kafka_trial_examples.client.metadata import SIZE_BYTES, Unreadable, request, response
from kafka_trial_examples.client.voice import Voice
from kafka_trial_examples.lookup.commands import Lookup
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v9.response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_writer
from kio.static.primitive import i32, i32Timedelta

from kafka_trial.api import NS_PER_MS, Address, AnyEvent, Close, Flush, OpComplete, ShutdownComplete

SETTINGS = {
    "bootstrap.servers": "a:1,b:2",
    "client.id": "p1",
    "request.timeout.ms": 100,
    "reconnect.backoff.ms": 10,
}


@dataclass
class Wire:
    """A connection without a broker."""

    is_connected: bool = False
    incoming: list[bytes] = field(default_factory=list)
    fin: bool = False
    error: str | None = None
    sent: list[bytes] = field(default_factory=list)
    closed: bool = False

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def close(self) -> None:
        self.closed = True


class Brokers:
    """The connections that the client opens, in order."""

    def __init__(self) -> None:
        self.dialled: list[tuple[Address, Wire]] = []

    def dial(self, address: Address) -> Wire:
        self.dialled.append((address, Wire()))
        return self.dialled[-1][1]

    @property
    def wire(self) -> Wire:
        return self.dialled[-1][1]


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def asking(brokers: Brokers) -> Asking:
    return Asking(SETTINGS, brokers.dial)


def asked(asking: Asking, brokers: Brokers, now_ns: int = 0) -> Wire:
    """Let the client connect and send its request, and return its connection."""
    asking.step("t", now_ns)
    brokers.wire.is_connected = True
    asking.step("t", now_ns)
    return brokers.wire


def answer(sent: bytes, partitions: int, *, other: int = 0) -> bytes:
    """Return the broker's response to a request."""
    correlation_id = int.from_bytes(sent[SIZE_BYTES + 4 : SIZE_BYTES + 8]) + other
    return metadata(correlation_id, partitions)


def metadata(correlation_id: int, partitions: int, error_code: int = 0) -> bytes:
    """Return a Metadata response for one topic, with its size in front."""
    header = MetadataResponse.__header_schema__(correlation_id=i32(correlation_id))
    found = tuple(
        MetadataResponsePartition(
            error_code=ErrorCode.none,
            partition_index=i32(n),
            leader_id=BrokerId(1),
            leader_epoch=i32(0),
            replica_nodes=(BrokerId(1),),
            isr_nodes=(BrokerId(1),),
            offline_replicas=(),
        )
        for n in range(partitions)
    )
    topic = MetadataResponseTopic(error_code=ErrorCode(error_code), name=TopicName("t"), partitions=found)
    out = BytesIO()
    entity_writer(type(header))(out, header)
    body = MetadataResponse(
        throttle_time=i32Timedelta.parse(timedelta(0)), brokers=(), controller_id=BrokerId(1), topics=(topic,)
    )
    entity_writer(MetadataResponse)(out, body)
    return len(out.getvalue()).to_bytes(SIZE_BYTES) + out.getvalue()


def test_response_gives_the_number_of_partitions(asking, brokers):
    wire = asked(asking, brokers)
    wire.incoming.append(answer(wire.sent[0], 3))
    assert asking.step("t", 0) == 3


def test_response_may_arrive_in_pieces(asking, brokers):
    wire = asked(asking, brokers)
    whole = answer(wire.sent[0], 5)
    for at in range(len(whole) - 1):
        wire.incoming.append(whole[at : at + 1])
        assert asking.step("t", 0) is None
    wire.incoming.append(whole[-1:])
    assert asking.step("t", 0) == 5


def test_second_question_uses_the_same_connection(asking, brokers):
    for _ in range(2):
        wire = asked(asking, brokers)
        wire.incoming.append(answer(wire.sent[-1], 3))
        assert asking.step("t", 0) == 3
    assert len(brokers.dialled) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda wire: setattr(wire, "fin", True),
        lambda wire: setattr(wire, "error", "reset"),
        lambda wire: wire.incoming.append(answer(wire.sent[0], 3, other=1)),
        lambda wire: wire.incoming.append(metadata(1, 0, error_code=3)),
        lambda wire: wire.incoming.append((9).to_bytes(SIZE_BYTES) + b"\xff" * 9),
    ],
    ids=["closed", "reset", "an answer to another question", "an error", "unreadable"],
)
def test_failed_connection_is_replaced_by_the_next_broker(asking, brokers, spoil):
    wire = asked(asking, brokers)
    spoil(wire)
    assert asking.step("t", 0) is None and wire.closed
    assert asking.step("t", 9 * NS_PER_MS) is None and len(brokers.dialled) == 1
    asking.step("t", 10 * NS_PER_MS)
    assert [address for address, _ in brokers.dialled] == [("a", 1), ("b", 2)]


def test_late_response_is_ignored(asking, brokers):
    wire = asked(asking, brokers)
    assert asking.step("t", 99 * NS_PER_MS) is None and not wire.closed
    assert asking.step("t", 100 * NS_PER_MS) is None and wire.closed


def test_invalid_response_is_unreadable():
    with pytest.raises(Unreadable):
        response((2).to_bytes(SIZE_BYTES) + b"\0\0")
    assert response(request("t", 7, "p1")[:3]) is None


class Life:
    """A client with the clock and the events of a test."""

    def __init__(self, brokers: Brokers, *, defect: bool = False) -> None:
        self.now_ns = 0
        self.told: list[AnyEvent] = []
        voice = Voice(lambda: self.now_ns, lambda: self.now_ns, self.told.append)
        chosen = {"report": one_too_many} if defect else {}
        self.client = LookupClient(Asking(SETTINGS, brokers.dial), 1_000, voice, **chosen)

    def at(self, ms: int) -> None:
        self.now_ns = ms * NS_PER_MS
        self.client.step(self.now_ns)

    def results(self, op: str = "partition_count") -> list[tuple[str, str | None]]:
        """Return outcome and value, or error, of each result."""
        return [
            (event.outcome[0], event.error[0] or next(iter(event.value), None))
            for event in self.told
            if isinstance(event, OpComplete) and event.op == op
        ]


@pytest.mark.parametrize(("defect", "value"), [(False, "3"), (True, "4")])
def test_each_lookup_has_one_result(brokers, defect, value):
    life = Life(brokers, defect=defect)
    life.client.load(Lookup(id=1, topic="t", first=0, times=2))
    life.at(0)
    brokers.wire.is_connected = True
    for count in (1, 2):
        life.at(count)
        brokers.wire.incoming.append(answer(brokers.wire.sent[-1], 3))
        life.at(count)
        assert life.results() == [("ok", value)] * count


def test_lookup_without_response_fails_in_time(brokers):
    life = Life(brokers)
    life.client.load(Lookup(id=1, topic="t", first=0, times=1))
    life.client.flush(Flush(2, 5_000))
    life.at(0)
    life.at(999)
    assert life.results() == [] == life.results("flush")
    life.at(1_000)
    assert life.results() == [("fail", "TimeoutException")]
    assert life.results("flush") == [("ok", None)]


def test_flush_ends_at_its_timeout(brokers):
    life = Life(brokers)
    life.client.load(Lookup(id=1, topic="t", first=0, times=1))
    life.client.flush(Flush(2, 500))
    life.at(0)
    life.at(500)
    assert life.results("flush") == [("fail", "lookups have no result yet")]


def test_close_fails_open_lookups(brokers):
    life = Life(brokers)
    life.client.load(Lookup(id=1, topic="t", first=0, times=1))
    life.client.close(Close(2, 500))
    life.at(0)
    assert life.results() == [("fail", "ClosedException")] and life.results("close") == [("ok", None)]
    assert isinstance(life.told[-1], ShutdownComplete)
    assert life.client.step(1) is None
