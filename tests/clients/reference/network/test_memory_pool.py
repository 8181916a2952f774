"""Memory for responses: the pool's account, and channels that stop reading without memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.network.channel import Channel
from clients.reference.network.memory_pool import SimpleMemoryPool
from clients.reference.ports import ChannelState, Polled
from harness.wire.frames import frame


@given(st.integers(1, 100), st.booleans(), st.lists(st.integers(1, 120) | st.none(), max_size=30))
def test_account_is_exact_and_a_strict_pool_is_never_exceeded(size_bytes, strict, steps):
    pool, held = SimpleMemoryPool(size_bytes, strict=strict), []
    for step in steps:
        if step is None:
            if held:
                pool.release(held.pop())
        elif step > size_bytes:
            with pytest.raises(ValueError, match="allows"):
                pool.try_reserve(step)
        else:
            before = pool.available_bytes
            granted = pool.try_reserve(step)
            assert granted is (before >= step if strict else before > 0)
            held += [step] * granted
        assert pool.available_bytes == size_bytes - sum(held)
        assert pool.available_bytes >= 0 or not strict


def test_more_than_was_reserved_cannot_be_returned():
    with pytest.raises(ValueError, match="reserved"):
        SimpleMemoryPool(10).release(1)
    for wrong in ({"size_bytes": 0}, {"size_bytes": 5, "largest_bytes": 6}):
        with pytest.raises(ValueError, match="largest"):
            SimpleMemoryPool(**wrong)


@given(
    st.lists(st.binary(max_size=20), min_size=1, max_size=8),
    st.integers(20, 40),
    st.integers(1, 30),
    st.booleans(),
)
def test_every_frame_arrives_within_the_limit(payloads, limit_bytes, piece_bytes, strict):
    """In order and once, although the channel stops reading whenever the pool is empty."""
    pool = SimpleMemoryPool(limit_bytes, 20, strict=strict)
    channel = Channel(7, pool=pool)
    channel.established()
    channel.report(Polled())
    stream, told = b"".join(map(frame, payloads)), []
    while stream or channel.has_news:
        if stream and channel.wants_to_read:
            channel.feed(stream[:piece_bytes])
            stream = stream[piece_bytes:]
        assert pool.available_bytes == limit_bytes - channel.held_bytes
        channel.report(polled := Polled())
        told += [payload for _, payload in polled.received]
        for _, payload in polled.received:
            pool.release(len(payload))
            channel.take_frames()
        assert channel.has_news or channel.wants_to_read
    assert told == payloads
    assert pool.available_bytes == limit_bytes


def test_channel_without_memory_does_not_read_until_there_is_some():
    pool = SimpleMemoryPool(10)
    assert pool.try_reserve(8)
    channel = Channel(7, pool=pool)
    channel.established()
    channel.feed(frame(b"four"))
    assert channel.is_muted and not channel.wants_to_read and channel.held_bytes == 0
    pool.release(8)
    channel.take_frames()
    assert not channel.is_muted and channel.held_bytes == 4


def test_frame_that_never_fits_ends_the_channel():
    """NET-INF-10."""
    channel = Channel(7, pool=SimpleMemoryPool(10))
    channel.established()
    channel.feed(frame(b"eleven byte"))
    assert channel.ended and channel.ended.state is ChannelState.INVALID_RECEIVE


@pytest.mark.parametrize("size", [2**31 - 1, 200 * 1024 * 1024, int.from_bytes(b"HTTP", "big")])
def test_announced_size_takes_no_memory(size):
    """NET-INF-10: a client has no limit, as in Java, but only bytes that arrive are stored."""
    channel = Channel(7)
    channel.established()
    tracemalloc.start()
    channel.feed(size.to_bytes(4, "big") + b"x" * 1_000)
    channel.feed(b"x" * 1_000)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert channel.wants_to_read and not channel.ended
    assert peak_bytes < 100_000
