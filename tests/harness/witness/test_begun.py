"""The bytes of a request that has begun are reserved before it is complete, in any fragments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.limits.meter import BEGUN_BYTES, Meter
from harness.wire.frames import REQUEST_LIMIT_BYTES, frame
from harness.witness.begun import MIN_REQUEST_BYTES, Begun
from harness.witness.lane import WitnessLane
from testkit.codes import has_error

payloads = st.lists(st.binary(min_size=MIN_REQUEST_BYTES, max_size=19), max_size=5)


@given(
    payloads,
    st.binary(max_size=9),
    st.integers(MIN_REQUEST_BYTES, 40),
    st.lists(st.integers(0, 2**10), max_size=9),
)
def test_only_the_incomplete_request_is_reserved(chunked, whole, begun, missing, places):
    size_bytes = len(begun) + missing
    data = b"".join(map(frame, whole)) + size_bytes.to_bytes(4, "big") + begun
    counted = Begun()
    for chunk in chunked(data, places):
        counted.feed(chunk)
    assert counted.reserved_bytes == size_bytes

    counted.feed(bytes(missing))
    assert counted.reserved_bytes == 0


def test_a_size_that_a_broker_refuses_is_not_reserved():
    counted = Begun()
    counted.feed(b"GET / HTTP/1.1\r\n\r\n")
    assert counted.reserved_bytes == 0
    counted = Begun()
    counted.feed(REQUEST_LIMIT_BYTES.to_bytes(4, "big"))
    assert counted.reserved_bytes == REQUEST_LIMIT_BYTES


@pytest.mark.parametrize("size_bytes", [-1, 0, MIN_REQUEST_BYTES - 1, REQUEST_LIMIT_BYTES + 1])
def test_nothing_is_reserved_after_an_invalid_size(size_bytes):
    counted = Begun()
    counted.feed(size_bytes.to_bytes(4, "big", signed=True) + frame(bytes(20))[:10])
    counted.feed(frame(bytes(20))[:10])
    assert counted.reserved_bytes == 0


def test_a_lane_limits_the_bytes_of_incomplete_requests():
    lane, meter = WitnessLane(0), Meter("hostile", 10)
    lane.record(lambda _: None, meter)
    often = BEGUN_BYTES.base // REQUEST_LIMIT_BYTES
    assert [lane.reserves(REQUEST_LIMIT_BYTES) for _ in range(often + 1)] == [True] * often + [False]
    assert has_error(meter.exceeded, "over-limit")
