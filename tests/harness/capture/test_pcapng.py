"""The pcapng file: the harness and scapy read what was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.utils import RawPcapNgReader

from harness.capture.pcapng import NoCapture, Recording, Writer, read
from harness.capture.tap import Packet

#: The range that CPython guarantees for a wall clock, in whole nanoseconds of 64 bits.
TIMES = st.integers(0, 2**63)
PACKETS = st.builds(
    lambda at, data, more: Packet(at, data, len(data) + more),
    TIMES,
    st.binary(max_size=70),
    st.integers(0, 9),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pcapng") / "capture.pcapng"


def write(path, packets, brokers, span, ahead, seen=0, dropped=0):
    with path.open("wb") as file:
        writer = Writer(file, brokers, span[0], ahead[0])
        for packet in packets:
            writer.packet(packet)
        writer.end(span[1], ahead[1], seen, dropped)


@given(
    st.lists(PACKETS, max_size=5),
    st.dictionaries(st.integers(1, 65_535), st.integers(1, 9), max_size=3),
    st.tuples(TIMES, TIMES),
    st.tuples(st.integers(-(2**63), 2**63), st.integers(-(2**63), 2**63)),
    st.integers(0, 2**40),
    st.integers(0, 2**40),
)
def test_a_written_recording_is_read_back(place, packets, brokers, span, ahead, seen, dropped):
    write(place, packets, brokers, span, ahead, seen, dropped)
    assert read(place) == Recording(tuple(packets), brokers, seen, dropped, span, ahead)


@given(st.lists(PACKETS, max_size=5))
def test_scapy_reads_the_same_packets(place, packets):
    write(place, packets, {1: 1}, (0, 1), (0, 0))
    with RawPcapNgReader(str(place)) as reader:
        found = [
            (data, about.wirelen, about.tshigh << 32 | about.tslow, about.tsresol) for data, about in reader
        ]
    assert found == [(packet.data, packet.size_bytes, packet.wall_ns, 10**9) for packet in packets]


def test_a_truncated_capture_is_refused(place):
    write(place, [Packet(1, b"abc", 3)], {1: 1}, (0, 1), (0, 0))
    whole = place.read_bytes()
    for size in range(len(whole)):
        place.write_bytes(whole[:size])
        with pytest.raises(NoCapture):
            read(place)


def test_changes_of_the_wall_clock_are_compensated():
    moving = Recording((), {}, 0, 0, span_ns=(1_000_000, 2_000_000), ahead_ns=(900_000, 900_500))
    assert moving.monotonic_ns(1_000_000) == 100_000
    assert moving.monotonic_ns(1_500_000) == 599_750
    assert moving.monotonic_ns(2_000_000) == 1_099_500
