"""The simulated network behaves like TCP and Toxiproxy: order, FIN, RST, delays, slices and connects."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.model.rows import FrameKind
from harness.simulated.connection import REFUSED, RESET, Tear
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_request, message_class, nested
from harness.wire.records import BatchBuilder
from tests.harness.simulated.conftest import ADDRESS, Line, payload, read, request


def test_a_request_is_answered(line: Line) -> None:
    connection = line.connected()
    connection.send(request(b"hello"))
    line.run(1)
    assert line.received == [payload(b"hello")]
    assert read(connection) == request(b"hello")
    kinds = [row.kind for row in line.network.rows]
    assert kinds == [FrameKind.OPEN, FrameKind.REQUEST, FrameKind.RESPONSE]


@given(
    st.lists(st.binary(max_size=30), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("LlBbSs")), max_size=8),
)
def test_bytes_arrive_complete_and_in_order_under_any_toxics(
    texts: list[bytes], changes: list[tuple[int, str]]
) -> None:
    line = Line()
    connection = line.connected()
    for number, text in enumerate(texts):
        line.scheduler.at(
            line.scheduler.now_ns + number * 5 * NS_PER_MS,
            lambda number=number, text=text: connection.send(request(text, number)),
        )
    for at_ms, change in changes:
        line.scheduler.at(
            line.scheduler.now_ns + at_ms * NS_PER_MS, lambda change=change: _change(line, change)
        )
    line.run(60_000)
    assert line.received == [payload(text, number) for number, text in enumerate(texts)]
    assert read(connection) == b"".join(request(text, number) for number, text in enumerate(texts))
    times = [at_ns for at_ns, _ in line.broker.got]
    assert times == sorted(times)


def _change(line: Line, change: str) -> None:
    """Turn a toxic on (capital letter) or off, in both directions."""
    for way in (line.proxy.up, line.proxy.down):
        if change == "L":
            way.delay("L", 17 * NS_PER_MS)
        elif change == "B":
            way.throttle("B", 1_000)
        elif change == "S":
            way.slice("S", 3, NS_PER_MS)
        else:
            way.restore(change.upper())
    line.proxy.retime()


def test_latency_delays_data_until_it_ends(line: Line) -> None:
    connection = line.connected()
    line.proxy.up.delay("a", 50 * NS_PER_MS)
    line.proxy.up.delay("b", 30 * NS_PER_MS)
    connection.send(request(b"slow"))
    line.run(79)
    assert not line.received
    line.run(2)
    assert line.received
    connection.send(request(b"held"))
    line.run(10)
    line.proxy.up.restore("a")
    line.proxy.up.restore("b")
    line.proxy.retime()
    line.run(1)
    assert len(line.received) == 2


def test_a_fin_arrives_after_delayed_data(line: Line) -> None:
    connection = line.connected()
    line.proxy.up.delay("a", 50 * NS_PER_MS)
    connection.send(request(b"last words"))
    connection.close()
    line.run(40)
    assert not line.received
    assert line.network.rows[-1].kind is FrameKind.OPEN
    line.run(20)
    assert line.received == [payload(b"last words")]
    assert line.network.rows[-1].closed_by == "client"
    assert not line.proxy.connections


def test_bandwidth_delays_data_by_its_size(line: Line) -> None:
    connection = line.connected()
    line.proxy.up.throttle("slow", 1_000)
    data = request(b"x" * 486)  # 500 bytes in all
    connection.send(data)
    connection.send(data)
    line.run(499)
    assert not line.received
    line.run(2)
    assert len(line.received) == 1
    line.run(500)
    assert len(line.received) == 2


def test_a_slicer_spreads_data_over_time(line: Line) -> None:
    connection = line.connected()
    line.proxy.down.slice("fine", 1, 10 * NS_PER_MS)
    connection.send(request(b""))
    line.run(95)
    assert len(read(connection)) == 10
    line.run(40)
    assert len(read(connection)) == 4


def test_silence_drops_data_and_passes_a_fin(line: Line) -> None:
    connection = line.connected()
    line.proxy.up.silence("deaf")
    connection.send(request(b"into the void"))
    connection.close()
    line.run(1)
    assert not line.received
    assert line.proxy.touched["deaf"] == 1
    assert line.network.rows[-1].kind is FrameKind.CLOSE


def test_a_closing_broker_ends_after_its_answer_and_then_resets(line: Line) -> None:
    connection = line.connected()
    connection.send(request(b"good bye"))
    line.run(1)
    assert read(connection) == request(b"good bye")
    assert connection.fin and connection.error is None
    connection.send(request(b"are you there"))
    line.run(1)
    assert connection.error == RESET
    with pytest.raises(ConnectionError, match="reset"):
        connection.send(b"more")


def test_a_cut_loses_data_in_flight(line: Line) -> None:
    connection = line.connected()
    line.broker.takes_ns = 5 * NS_PER_MS
    line.proxy.up.delay("far", 10 * NS_PER_MS)
    connection.send(request(b"on its way"))
    line.run(5)
    line.proxy.cut()
    line.run(20)
    assert not line.received
    assert connection.fin and connection.error is None
    assert [row.closed_by for row in line.network.rows if row.kind is FrameKind.CLOSE] == ["client"]


def test_a_reset_drops_unread_data(line: Line) -> None:
    connection = line.connected()
    connection.send(request(b"answer me"))
    line.run(1)
    assert connection.incoming
    line.proxy.cut(reset=True)
    line.run(1)
    assert connection.error == RESET and not connection.incoming


def test_a_half_open_connection_is_silent_until_the_path_is_restored(line: Line) -> None:
    silent, talking, later = line.connected(), line.connected(), line.connected()
    for connection in (silent, talking, later):
        connection.orphan("lost")
    talking.send(request(b"hello?"))
    line.run(5_000)
    assert not line.received and talking.error is None and not talking.fin
    for connection in (silent, talking, later):
        connection.way_is_back("lost")
    line.run(1)
    assert talking.error == RESET
    assert silent.error is None and later.error is None and not later.fin
    later.send(request(b"hello?"))
    line.run(1)
    assert later.error == RESET and silent.error is None


@given(st.integers(0, 40), st.booleans(), st.booleans())
def test_a_torn_frame_ends_at_the_given_byte(at_byte: int, upstream: bool, reset: bool) -> None:
    line = Line()
    connection = line.connected()
    connection.arm_tear(Tear("t", upstream, at_byte, reset))
    whole = request(b"twelve bytes")
    connection.send(whole)
    line.run(0.25)
    seen = read(connection)
    line.run(1)
    assert (connection.error == RESET) is reset and connection.fin is not reset
    assert line.received == ([] if upstream else [whole[4:]])
    assert seen == (b"" if upstream or (reset and not seen) else whole[: min(at_byte, len(whole) - 1)])
    assert line.proxy.touched["t"] == 1


def test_a_refused_connect_is_an_error(line: Line) -> None:
    line.proxy.refuse("a")
    line.proxy.refuse("b")
    line.proxy.accept("a")
    connection = line.network.connect(ADDRESS)
    nowhere = line.network.connect(("b9", 1))
    line.run(1)
    assert connection.error == REFUSED and nowhere.error == REFUSED
    line.proxy.accept("b")
    line.connected()


def test_an_unanswered_connect_waits_until_it_is_answered(line: Line) -> None:
    line.proxy.ignore("a")
    given_up, waiting = line.network.connect(ADDRESS), line.network.connect(ADDRESS)
    line.run(60_000)
    assert not waiting.is_connected and waiting.error is None
    given_up.close()
    line.proxy.accept("a")
    line.run(1)
    assert waiting.is_connected
    assert [row.kind for row in line.network.rows] == [FrameKind.OPEN]


def test_the_proxy_of_a_stopped_broker_accepts_and_closes(line: Line) -> None:
    line.broker.is_up = False
    connection = line.connected()
    line.run(1)
    assert connection.fin
    assert line.network.rows[-1].closed_by == "broker"


def test_requests_of_a_connection_are_handled_one_by_one(line: Line) -> None:
    line.broker.takes_ns = 10 * NS_PER_MS
    connection = line.connected()
    connection.send(request(b"one", 1) + request(b"two", 2))
    line.run(1)
    connection.send(request(b"three", 3))
    line.run(8)
    assert len(line.received) == 1
    line.run(9)
    assert len(line.received) == 2
    assert read(connection) == request(b"one", 1)
    line.run(20)
    assert len(line.received) == 3


def test_broker_names_resolve(line: Line) -> None:
    assert line.network.resolve("b1", 9092) == (ADDRESS,)
    assert line.network.resolve("nobody", 9092) == ()


def test_an_answer_that_comes_later_reaches_the_client(line: Line) -> None:
    cluster = ScriptedCluster("4.3.1", {1: ADDRESS}, Dice(1, "waits"))
    cluster.create_topic("t", 1)
    line.network.broker = cluster
    connections = [line.connected(), line.connected()]
    for connection, wait_ms in zip(connections, (200, 5_000), strict=True):
        connection.send(encode_request(fetch_request(wait_ms), 7, "client"))
    line.run(190)
    assert not any(connection.incoming for connection in connections)
    line.run(20)
    assert [bool(connection.incoming) for connection in connections] == [True, False]
    builder = BatchBuilder()
    builder.append(0, None, b"v")
    cluster.fill("t", 0, [builder.build()], line.scheduler.now_ns)
    line.run(2)
    _, body = decode_response(read(connections[1])[4:], Api.FETCH, 12)
    assert body.responses[0].partitions[0].high_watermark == 1


def fetch_request(wait_ms: int) -> Any:
    kind = message_class(Api.FETCH, 12, "request")
    part = nested(kind, "FetchPartition")(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    topic = nested(kind, "FetchTopic")(topic="t", partitions=(part,))
    wait = timedelta(milliseconds=wait_ms)
    return kind(max_wait=wait, min_bytes=1, topics=(topic,), forgotten_topics_data=())
