"""The estimated size of an open batch: it rises fast and falls slowly (PRD-SPL-05)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.producer.compression_ratio_estimator import CompressionRatioEstimator
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.telemetry.trace import BatchSent
from harness.wire.records import Codec

RATIOS = st.floats(0.001, 3)


def learn(estimator, ratio):
    """Show the estimator batches of topic "t" with this ratio until its estimate has reached the ratio."""
    while estimator.estimation("t") > ratio:
        estimator.observed("t", ratio)


@pytest.mark.parametrize(
    ("before", "observed", "after"),
    [(0.8, 0.84, 0.85), (0.6, 0.7, 0.7), (0.6, 0.4, 0.595), (0.004, 0.001, 0.001)],
)
def test_steps_are_javas(before, observed, after):
    """PRD-SPL-05: the four cases of CompressionRatioEstimatorTest."""
    estimator = CompressionRatioEstimator(Codec.ZSTD)
    learn(estimator, before)
    estimator.observed("t", observed)
    assert estimator.estimation("t") == pytest.approx(after)


@given(st.lists(RATIOS, max_size=50))
def test_estimate_is_at_least_the_last_observation(observed):
    """PRD-SPL-05."""
    estimator = CompressionRatioEstimator(Codec.LZ4)
    for ratio in observed:
        before = estimator.estimation("t")
        estimator.observed("t", ratio)
        after = estimator.estimation("t")
        assert after >= ratio
        assert after >= before - 0.005 - 1e-12
        assert after >= before + 0.05 - 1e-12 if ratio > before else after <= before


@given(RATIOS)
def test_split_resets_the_estimate(ratio):
    """PRD-SPL-05: the estimate is at least 1 afterwards."""
    estimator = CompressionRatioEstimator(Codec.GZIP)
    learn(estimator, 0.2)
    estimator.was_split("t", ratio)
    assert estimator.estimation("t") == max(1.0, ratio)
    assert estimator.growth("t") == pytest.approx(1.05 * max(1.0, ratio))


def test_topics_have_separate_estimates_and_no_codec_has_none():
    estimator = CompressionRatioEstimator(Codec.LZ4)
    estimator.observed("a", 0.1)
    assert estimator.estimation("a") < estimator.estimation("b") == 1.0
    assert CompressionRatioEstimator(Codec.NONE).growth("a") == 1.0


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressible_batches_exceed_batch_size_and_account_for_memory(world, codec):
    """PRD-ACC-01, PRD-ACC-11: their size on the wire is below batch.size, and their memory is accounted for."""
    w = world(batch_size=2_000, linger_ms=1_000, compression_type=codec, buffer_memory=100_000)
    learn(w.accumulator.estimator, 0.05)
    deliveries = [w.send(value=b"x" * 300) for _ in range(40)]
    w.until(lambda: not deliveries[-1].is_blocked)
    held = w.accumulator.pool.total_bytes - w.accumulator.pool.available_bytes
    assert held >= 40 * 300
    w.until(lambda: bool(w.told(BatchSent)))
    in_flight = w.sender.in_flight()
    assert [batch.grant.size_bytes for batch in in_flight] == [
        2_000
    ]  # encoding returns the additional memory
    w.settle(*deliveries)
    (first, *_) = w.told(BatchSent)
    assert first.record_count > 6
    assert first.size_bytes <= 2_000 < first.uncompressed_bytes
    assert w.core.not_at_rest() == []


def held_bytes(batch: ProducerBatch) -> int:
    """Return the size of a batch's records if it is open, and of its encoded bytes otherwise."""
    return batch.builder.size_bytes if batch.builder.record_count else len(batch.payload())


def test_compressible_batch_is_closed_when_memory_ends(world):
    """PRD-ACC-09: a batch that would exceed the available memory is closed, and does not wait for memory."""
    w = world(batch_size=1_000, linger_ms=1_000, compression_type="gzip", buffer_memory=3_000)
    w.settle(w.send())
    learn(w.accumulator.estimator, 0.01)
    deliveries = []
    for _ in range(30):
        deliveries.append(w.send(value=b"x" * 300))
        pool = w.accumulator.pool
        batches = w.accumulator.unreleased()
        truly = sum(held_bytes(batch) for batch in batches)
        assert truly <= pool.total_bytes - pool.available_bytes <= 3_000
        w.until(lambda made=deliveries[-1]: not made.is_blocked)
    w.settle(*deliveries)
    assert w.core.not_at_rest() == []
