"""Kafka layers for scapy: they read what the harness writes, and the harness reads what they build."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import TCP
from scapy.layers.l2 import Ether

from harness.capture.layers import KafkaRequest, KafkaResponse, bind, dissected, unbind
from harness.wire.frames import frame
from harness.wire.headers import RequestHeader, read_request_header, write_request_header

INT16, INT32 = st.integers(0, 2**15 - 1), st.integers(-(2**31), 2**31 - 1)


@given(st.integers(0, 60), st.integers(0, 3), INT32, st.none() | st.text(max_size=9), st.binary(max_size=30))
def test_a_layer_reads_every_field_of_a_request(api_key, version, correlation_id, client_id, body):
    header = RequestHeader(api_key, version, correlation_id, client_id)
    data = frame(write_request_header(header), body)
    read = KafkaRequest(data)
    assert (read.size, read.api_key, read.api_version, read.correlation_id) == (
        len(data) - 4, api_key, version, correlation_id,
    )  # fmt: skip
    assert (None if read.client_id_size < 0 else read.client_id.decode()) == client_id
    assert bytes(read) == data
    assert read.body.endswith(body)


@given(INT16, INT16, INT32, st.binary(max_size=9), st.binary(max_size=30))
def test_a_built_layer_has_the_right_sizes(api_key, version, correlation_id, client_id, body):
    built = KafkaRequest(
        api_key=api_key, api_version=version, correlation_id=correlation_id, client_id=client_id, body=body
    )
    assert bytes(KafkaRequest(bytes(built))) == bytes(built)
    assert int.from_bytes(bytes(built)[:4]) == len(bytes(built)) - 4
    answer = bytes(KafkaResponse(correlation_id=correlation_id, body=body))
    assert answer == frame(correlation_id.to_bytes(4, signed=True), body)


def test_our_reader_reads_a_request_built_with_scapy():
    built = bytes(KafkaRequest(api_key=3, api_version=5, correlation_id=9, client_id=b"p1", body=b"xyz"))
    header, at = read_request_header(built[4:])
    assert (header, built[4:][at:]) == (RequestHeader(3, 5, 9, "p1"), b"xyz")


@pytest.fixture
def bound():
    bind(20_011)
    yield
    unbind(20_011)


@pytest.mark.usefixtures("bound")
def test_several_frames_in_a_packet_are_separate_layers(talk, asked, answered):
    both = talk()
    both.ask(asked(1, b"one"), asked(2, client_id=None))
    both.answer(answered(1), answered(2, b"two"))
    request, response = map(Ether, both.packets)
    assert [(request[KafkaRequest:n].correlation_id, request[KafkaRequest:n].body) for n in (1, 2)] == [
        (1, b"one"),
        (2, b""),
    ]
    assert [(response[KafkaResponse:n].correlation_id, response[KafkaResponse:n].body) for n in (1, 2)] == [
        (1, b""),
        (2, b"two"),
    ]


def test_an_unbound_port_is_not_dissected(talk, asked):
    plain = talk()
    plain.ask(asked(1))
    assert not Ether(plain.packets[0])[TCP].haslayer(KafkaRequest)


def test_the_frames_of_a_capture_are_complete_and_in_order(talk, asked, answered, tmp_path):
    cut = talk().open()
    stream = asked(1, b"x" * 30) + asked(2)
    cut.ask(stream[:20])
    cut.ask(stream[20:])
    cut.answer(answered(1), answered(2))
    cut.write(tmp_path / "capture.pcapng")
    found = [
        (t_ns, port, type(one), one.correlation_id)
        for t_ns, port, one in dissected(tmp_path / "capture.pcapng")
    ]
    assert found == [
        (4_000, 40_001, KafkaRequest, 1), (4_000, 40_001, KafkaRequest, 2),
        (5_000, 40_001, KafkaResponse, 1), (5_000, 40_001, KafkaResponse, 2),
    ]  # fmt: skip
