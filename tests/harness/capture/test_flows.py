"""Captured bytes are put in order, whatever the segments, and no missing byte is made up."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from harness.capture.flows import Cutter, Flow

STREAM = st.binary(min_size=1, max_size=60)
START = st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**32 - 30])


def pieces(draw: st.DrawFn, stream: bytes) -> list[tuple[int, bytes]]:
    """Return the stream as segments that may overlap, in any order."""
    cuts = sorted({0, len(stream), *draw(st.lists(st.integers(0, len(stream)), max_size=6))})
    found = [(low, stream[low:high]) for low, high in pairwise(cuts)]
    for _ in range(draw(st.integers(0, 3))):
        low = draw(st.integers(0, len(stream) - 1))
        found.append((low, stream[low : draw(st.integers(low + 1, len(stream)))]))
    return draw(st.permutations(found))


@given(STREAM, START, st.data())
def test_a_stream_is_reassembled_from_any_segments(stream, start, data):
    flow = Flow()
    flow.begin(start)
    read = b"".join(flow.take((start + at) % 2**32, part)[0] for at, part in pieces(data.draw, stream))
    assert read == stream
    assert not flow.is_gapped


@given(STREAM, START, st.data())
def test_a_missing_byte_is_a_gap(stream, start, data):
    lost = data.draw(st.integers(0, len(stream) - 1))
    flow = Flow()
    flow.begin(start)
    read = flow.take(start, stream[:lost])[0]
    read += flow.take((start + lost + 1) % 2**32, stream[lost + 1 :])[0]
    assert read == stream[:lost]
    assert flow.is_gapped


@given(STREAM.filter(lambda stream: len(stream) > 1), START)
def test_a_retransmission_is_reported(stream, start):
    flow = Flow()
    flow.begin(start)
    assert [flow.take(start, stream) for _ in range(3)] == [(stream, False), (b"", True), (b"", True)]
    assert flow.take((start + len(stream) - 1) % 2**32, b"") == (b"", False), (
        "asks whether the other side lives"
    )


@given(STREAM, START)
def test_a_fin_counts_as_one_byte_even_if_it_arrives_first(stream, start):
    flow = Flow()
    flow.begin(start)
    behind = (start + len(stream) + 1) % 2**32
    assert flow.take((start + len(stream)) % 2**32, b"", is_last=True) == (b"", False)
    assert flow.take(behind, b"") == (b"", False)
    assert flow.take(start, stream) == (stream, False)
    assert flow.take(behind, b"") == (b"", False)
    assert not flow.is_gapped


@given(st.lists(st.binary(min_size=4, max_size=9), max_size=5), st.data())
def test_frames_are_found_in_any_pieces(payloads, data):
    frames = [len(payload).to_bytes(4) + payload for payload in payloads]
    stream = b"".join(frames)
    cuts = sorted({0, len(stream), *data.draw(st.lists(st.integers(0, len(stream)), max_size=6))})
    cutter = Cutter()
    found = [frame for low, high in pairwise(cuts) for frame in cutter.feed(stream[low:high])]
    assert found == frames
    assert cutter.rest_bytes == 0


def test_an_impossible_size_ends_the_reading():
    for size in (-1, 0, 3, 2**31 - 1):
        cutter = Cutter()
        assert list(cutter.feed(size.to_bytes(4, signed=True) + bytes(20))) == []
        assert cutter.is_lost
        assert list(cutter.feed(bytes(20))) == []
