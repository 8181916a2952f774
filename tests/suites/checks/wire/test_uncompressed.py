"""Uncompressed batches although a codec was set, by their content."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model import payload
from harness.wire.records import Codec
from harness.wire.records.codecs import compress
from suites.checks.wire.not_as_configured import CHECK, OTHER_CODEC

CODECS = ("gzip", "snappy", "lz4", "zstd")


def story_of(story, codec, values, in_log=True):
    """Return the evidence of one uncompressed batch with these values, of a client with this codec."""
    told = story(config={"compression.type": codec})
    numbers = range(len(values))
    told.deliver([*numbers], 0, at_ms=10)
    told.frames = [
        replace(frame, produce=tuple(replace(part, compression="none") for part in frame.produce))
        for frame in told.frames
    ]
    kept = [payload.kept(value.encode()) for value in values]
    told.log = [
        replace(row, value=text, value_bytes=value_bytes)
        for row, (text, value_bytes) in zip(told.log, kept, strict=True)
    ]
    for n in numbers:
        told.call(n)
    if not in_log:
        told.log = []
    return told.evidence()


def accused(evidence):
    return [finding for finding in CHECK.run(evidence) if finding.anomaly == OTHER_CODEC.code]


def own(n, size_bytes):
    return payload.encode(payload.Identity("run", "t-topic", "p1", n), size_bytes)


@pytest.mark.parametrize("codec", CODECS)
def test_a_single_short_record_may_be_uncompressed(story, codec):
    assert not accused(story_of(story, codec, [own(0, 60)]))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size_bytes", [160, 20_000])
def test_records_with_padding_must_be_compressed(story, codec, size_bytes):
    [finding] = accused(story_of(story, codec, [own(n, size_bytes) for n in range(20)]))
    assert finding.params["found"] == ("none",)


def test_a_batch_that_is_not_in_the_log_is_not_judged(story):
    assert not accused(story_of(story, "gzip", [own(n, 160) for n in range(20)], in_log=False))


def test_a_long_value_of_another_program_is_not_known(story):
    assert not accused(story_of(story, "gzip", ["x" * 5_000] * 20))


@given(
    st.sampled_from(CODECS),
    st.lists(st.text(string.ascii_letters, max_size=payload.SHORT_BYTES), min_size=1, max_size=20),
)
def test_only_a_batch_that_compression_makes_clearly_smaller_is_accused(story, codec, values):
    content = "".join(values).encode()
    compressed = compress(Codec[codec.upper()], content)
    if accused(story_of(story, codec, values)):
        assert len(compressed) < len(content) + 9 * len(values)
    elif len(content) > 2_000:
        assert len(compressed) > len(content) // 2


def test_random_content_may_be_uncompressed(story):
    drawn = random.Random(1)
    values = ["".join(drawn.choices(string.printable, k=1_000)) for _ in range(3)]
    assert not accused(story_of(story, "lz4", values))
