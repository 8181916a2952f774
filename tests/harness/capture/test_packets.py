"""Packet headers: fields are read as scapy wrote them, and an incomplete header is not read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from harness.capture.packets import segment

U16, U32 = st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1)
FLAGS = {"F": 1, "S": 2, "R": 4, "A": 16, "P": 0, "U": 0}


@given(
    U16,
    U16,
    U32,
    U16,
    st.binary(max_size=50),
    st.sets(st.sampled_from(sorted(FLAGS))),
    st.booleans(),
    st.booleans(),
)
def test_all_fields_are_read(source, destination, seq, window, payload, flags, ip_options, tcp_options):
    tcp = TCP(sport=source, dport=destination, seq=seq, window=window, flags="".join(flags))
    if tcp_options:
        tcp.options = [("MSS", 1_000), ("WScale", 7)]
    ip = IP(options=[b"\x01\x01\x01\x00"]) if ip_options else IP()
    found = segment(7, bytes(Ether() / ip / tcp / payload))
    assert found == (7, source, destination, seq, sum(FLAGS[flag] for flag in flags), window, payload)


def test_a_packet_without_a_length_is_read_to_its_end():
    packet = bytearray(bytes(Ether() / IP() / TCP() / (b"x" * 100)))
    packet[16:18] = bytes(2)
    assert len(segment(0, bytes(packet)).payload) == 100


def test_padding_is_not_part_of_the_payload():
    assert segment(0, bytes(Ether() / IP() / TCP() / b"abc") + bytes(9)).payload == b"abc"


@given(st.binary(max_size=80))
def test_arbitrary_bytes_raise_nothing(data):
    segment(0, data)


def test_an_incomplete_header_is_not_a_segment():
    packet = bytes(Ether() / IP() / TCP() / b"abc")
    assert [size for size in range(len(packet)) if segment(0, packet[:size]) is not None] == [54, 55, 56]
