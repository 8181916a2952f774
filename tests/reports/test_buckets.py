"""The bucket of a trial, compared with Spark's own hash (tests/reports/spark) and with known values."""

from __future__ import annotations

import pytest

from harness.storage.buckets import bucket_of, buckets_for, murmur3


@pytest.mark.parametrize(
    ("text", "hashed"), [("", 142593372), ("a", 1485273170), ("ab", -97053317), ("abc", 1322437556)]
)
def test_the_hash_is_that_of_spark(text: str, hashed: int) -> None:
    assert murmur3(text.encode()) == hashed % 2**32


def test_every_bucket_gets_some_of_many_trials() -> None:
    buckets = buckets_for(840)
    assert {bucket_of(f"trial-{number}", buckets) for number in range(840)} == set(range(buckets))
