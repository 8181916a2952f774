"""TCP facts and Kafka frames, read from packets that scapy built."""

from __future__ import annotations

from harness.capture.connections import connections, facts, follow
from harness.capture.pcapng import read


def told(talk):
    return [(fact.what.value, fact.by.value) for one in talk.connections for fact in one.facts]


OPENED = [("syn", "client"), ("syn", "proxy")]


def test_a_connection_has_a_begin_an_end_and_its_frames(talk, asked, answered):
    calm = talk().open()
    calm.ask(asked(1, b"body"))
    calm.answer(answered(1, b"what"))
    calm.close()
    assert told(calm) == [*OPENED, ("fin", "client"), ("fin", "proxy")]
    [one] = calm.connections
    assert (one.broker, one.client_port, one.begun_ns) == (7, 40_001, 0)
    assert not one.is_unread
    [request], [response] = one.requests, one.responses
    assert (request.api_key, request.api_version, request.correlation_id, request.client_id) == (
        0,
        9,
        1,
        "p1",
    )
    assert (request.size_bytes, request.t_ns) == (len(asked(1, b"body")), 3_000)
    assert (response.correlation_id, response.size_bytes) == (1, len(answered(1, b"what")))


def test_the_end_of_a_connection_names_its_kind_and_side(talk):
    assert told(talk().open().close(by_client=False)) == [*OPENED, ("fin", "proxy"), ("fin", "client")]
    for by_client in (True, False):
        reset = talk().open()
        reset.send("R", client=by_client)
        reset.send("R", client=by_client)
        assert told(reset) == [*OPENED, ("rst", "client" if by_client else "proxy")]


def test_a_refused_connection_is_recorded(talk):
    refused = talk()
    refused.send("S", client=True)
    refused.send("RA", client=False)
    assert told(refused) == [("syn", "client"), ("refused", "proxy")]


def test_a_retransmission_is_not_a_second_frame(talk, asked, answered):
    again = talk()
    seq = again.send("S", client=True)
    again.send("S", client=True, seq=seq)
    again.send("SA", client=False)
    seq = again.ask(asked(1))
    again.send("PA", asked(1), client=True, seq=seq)
    seq = again.answer(answered(1))
    again.send("PA", answered(1), client=False, seq=seq)
    seq = again.send("FA", client=True)
    again.send("FA", client=True, seq=seq)
    assert told(again) == [
        ("syn", "client"), ("retransmission", "client"), ("syn", "proxy"), ("retransmission", "client"),
        ("retransmission", "proxy"), ("fin", "client"), ("retransmission", "client"),
    ]  # fmt: skip
    [one] = again.connections
    assert (len(one.requests), len(one.responses)) == (1, 1)


def test_a_zero_window_is_recorded_once_each_time_it_closes(talk):
    slow = talk().open()
    for window in (0, 0, 9, 0):
        slow.send("A", client=False, window=window)
    slow.send("R", client=False, window=0)
    assert told(slow)[2:] == [("zero_window", "proxy"), ("zero_window", "proxy"), ("rst", "proxy")]


def test_a_reused_port_is_another_connection(talk, asked):
    first = talk()
    first.open().ask(asked(1))
    first.send("R", client=True)
    second = talk(seq=77, packets=first.packets)
    second.open().ask(asked(2))
    assert [[frame.correlation_id for frame in one.requests] for one in second.connections] == [[1], [2]]


def test_connections_that_began_before_the_capture_are_ignored(talk, asked):
    older = talk()
    older.ask(asked(1))
    older.close()
    assert older.connections == []
    assert talk(packets=older.packets).open().connections[0].requests == []


def test_frames_are_read_across_segments(talk, asked, answered):
    cut = talk().open()
    stream = asked(1, b"one") + asked(2, b"two" * 30, client_id=None) + asked(3)
    for at in range(0, len(stream), 10):
        cut.ask(stream[at : at + 10])
    cut.answer(answered(1), answered(2), answered(3)[:5])
    [one] = cut.connections
    assert [(frame.correlation_id, frame.client_id) for frame in one.requests] == [
        (1, "p1"),
        (2, None),
        (3, "p1"),
    ]
    assert [frame.correlation_id for frame in one.responses] == [1, 2]
    assert one.proxy.cutter.rest_bytes == 5


def test_a_missing_packet_is_a_gap(talk, asked):
    lossy = talk().open()
    lossy.ask(asked(1))
    lossy.ask(asked(2))
    del lossy.packets[3]
    [one] = lossy.connections
    assert one.is_gapped and one.is_unread
    assert one.requests == []


def test_data_that_is_not_kafka_is_unread(talk, asked):
    strange = talk().open()
    strange.ask(asked(1), b"GET / HTTP/1.1")
    [one] = strange.connections
    assert one.is_unread and not one.is_gapped
    assert [frame.correlation_id for frame in one.requests] == [1]


def test_facts_and_frames_are_rows_in_order_of_time(talk, asked, answered):
    calm = talk().open()
    calm.ask(asked(1, b"body"))
    calm.answer(answered(1, b"what"))
    second = talk(40_002, packets=calm.packets).open()
    second.ask(asked(5))
    rows = facts(calm.connections)
    assert [(row.conn, row.client_port, row.what.value, row.by.value, row.t_ns) for row in rows] == [
        (1, 40_001, "syn", "client", 0),
        (1, 40_001, "syn", "proxy", 1_000),
        (1, 40_001, "frame", "client", 3_000),
        (1, 40_001, "frame", "proxy", 4_000),
        (2, 40_002, "syn", "client", 5_000),
        (2, 40_002, "syn", "proxy", 6_000),
        (2, 40_002, "frame", "client", 8_000),
    ]
    assert [(row.correlation_id, row.size_bytes) for row in rows[1:4]] == [
        (None, None),
        (1, len(asked(1, b"body"))),
        (1, len(answered(1, b"what"))),
    ]


def test_a_capture_file_is_read_on_the_monotonic_clock(talk, asked, tmp_path):
    calm = talk().open()
    calm.ask(asked(1))
    calm.close()
    calm.write(tmp_path / "capture.pcapng")
    [read_back], [one] = connections(read(tmp_path / "capture.pcapng")), calm.connections
    assert (read_back.facts, read_back.requests) == (one.facts, one.requests)


def test_packets_of_other_ports_are_ignored(talk):
    assert follow(talk().open().segments, {9: 1}) == []
