"""The filter program, run by an interpreter of this test on packets that scapy built."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether

from harness.capture.bpf import MAX_PORTS, program

PORTS = (20_011, 20_014, 20_017)
HOST, OUTGOING = 0, 4


def passes(instructions: bytes, packet: bytes, packet_type: int = HOST) -> bool:
    """Return whether the kernel would accept a packet, by the definition of the instructions."""
    code = [struct.unpack_from("=HBBI", instructions, at) for at in range(0, len(instructions), 8)]
    at = a = x = 0
    while True:
        kind, then, otherwise, k = code[at]
        at += 1
        match kind:
            case 0x20 if k == 0xFFFFF004:
                a = packet_type
            case 0x28 | 0x30 | 0x48:
                width = 1 if kind == 0x30 else 2
                start = k + (x if kind == 0x48 else 0)
                if start + width > len(packet):
                    return False
                a = int.from_bytes(packet[start : start + width])
            case 0xB1:
                x = (packet[k] & 15) * 4
            case 0x15:
                at += then if a == k else otherwise
            case 0x45:
                at += then if a & k else otherwise
            case 0x06:
                return k > 0
            case _:
                raise AssertionError(f"no such instruction: {kind:#x}")


@given(st.integers(1, 65_535), st.integers(1, 65_535), st.binary(max_size=20), st.booleans())
def test_only_tcp_of_the_given_ports_passes(source, destination, payload, has_options):
    options = IP(options=[b"\x01\x01\x01\x00"]) if has_options else IP()
    packet = bytes(Ether() / options / TCP(sport=source, dport=destination) / payload)
    assert passes(program(PORTS), packet) == bool({source, destination} & set(PORTS))


@pytest.mark.parametrize("count", [1, 3, MAX_PORTS])
def test_each_port_passes_as_source_and_as_destination(count):
    ports = range(20_000, 20_000 + count)
    for port in ports:
        for tcp in (TCP(sport=port, dport=9), TCP(sport=9, dport=port)):
            packet = bytes(Ether() / IP() / tcp)
            assert passes(program(ports), packet)
            assert not passes(program(ports), packet, OUTGOING)


@pytest.mark.parametrize(
    "other",
    [
        IP() / UDP(sport=PORTS[0], dport=PORTS[0]),
        IP() / ICMP(),
        IP(frag=3) / TCP(sport=PORTS[0], dport=PORTS[0]),
        IPv6() / TCP(sport=PORTS[0], dport=PORTS[0]),
        ARP(),
    ],
    ids=lambda packet: packet.summary(),
)
def test_only_tcp_over_ipv4_passes(other):
    assert not passes(program(PORTS), bytes(Ether() / other))


@pytest.mark.parametrize("count", [0, MAX_PORTS + 1])
def test_no_ports_and_too_many_ports_are_refused(count):
    with pytest.raises(ValueError, match="ports"):
        program(range(20_000, 20_000 + count))
