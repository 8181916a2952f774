"""Damaged batches: one bit changes, the checksum is wrong, and the row of the response names the offsets."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from harness.model.consumer_rows import OffsetPart
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_response, make, message_class, nested
from harness.wire.records import BatchBuilder, assign_offset, read_batches
from harness.witness.contents import response_contents
from harness.witness.damage import damaged
from harness.witness.rewrites import CannotRewrite, rewrite
from testkit.codes import raises_code

VERSION = 12
KIND = message_class(Api.FETCH, VERSION, "response")


def batch(offset: int, count: int) -> bytes:
    builder = BatchBuilder()
    for n in range(count):
        builder.append(1_700_000_000_000, None, b"value %d" % n)
    return bytes(assign_offset(builder.build(), offset, 0))


def answer(*partitions: bytes) -> bytes:
    """Return the payload of a response with these records of partitions 0, 1, ..."""
    topic, part = nested(KIND, "FetchableTopicResponse"), nested(KIND, "PartitionData")
    parts = tuple(
        make(
            part,
            partition_index=n,
            error_code=ErrorCode.none,
            high_watermark=9,
            aborted_transactions=None,
            records=records,
        )
        for n, records in enumerate(partitions)
    )
    responses = (make(topic, topic="t", partitions=parts),)
    message = make(KIND, throttle_time=timedelta(), error_code=ErrorCode.none, responses=responses)
    return encode_response(message, 7)[4:]


def records(payload: bytes) -> list[bytes]:
    _, message = decode_response(payload, Api.FETCH, VERSION)
    return [bytes(part.records) for topic in message.responses for part in topic.partitions]


def told(payload: bytes, *, is_changed: bool = True) -> tuple[OffsetPart, ...]:
    return response_contents(payload, Api.FETCH, VERSION, {}, is_changed=is_changed).consumer.offsets


@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    nth=st.integers(0, 5),
    in_records=st.booleans(),
    rest_bytes=st.integers(0, 70),
)
def test_one_bit_of_one_batch_differs(counts: list[int], nth: int, in_records: bool, rest_bytes: int) -> None:
    """A batch that the response holds only in part is never damaged."""
    firsts = list(accumulate(counts, initial=100))
    whole = b"".join(batch(first, count) for first, count in zip(firsts, counts, strict=False))
    payload = answer(b"", whole + batch(firsts[-1], 5)[:rest_bytes], batch(0, 1))
    changed = rewrite(payload, Api.FETCH, VERSION, damaged(nth, in_records=in_records))

    at = min(nth, len(counts) - 1)
    flipped = [a ^ b for a, b in zip(payload, changed, strict=True) if a != b]
    assert flipped == [1]
    _, hit, spared = records(changed)
    assert [each.crc_ok for each in read_batches(hit)] == [n != at for n in range(len(counts))]
    assert spared == batch(0, 1)
    assert [part.damaged for part in told(changed)] == [None, (firsts[at], firsts[at] + counts[at]), None]


def test_the_last_value_is_what_changes_in_the_records() -> None:
    changed = rewrite(answer(batch(0, 2)), Api.FETCH, VERSION, damaged(0, in_records=True))
    assert b"value 0" in changed
    assert b"value 1" not in changed


def test_checksums_are_compared_only_of_responses_that_a_rule_changed() -> None:
    changed = rewrite(answer(batch(0, 1)), Api.FETCH, VERSION, damaged(0, in_records=False))
    assert [part.damaged for part in told(changed, is_changed=False)] == [None]


@pytest.mark.parametrize("found", [b"", batch(0, 3)[:-1], b"\x00" * 10])
def test_a_response_without_a_whole_batch_cannot_be_damaged(found: bytes) -> None:
    with raises_code(CannotRewrite, "no-fetched-batch"):
        rewrite(answer(found), Api.FETCH, VERSION, damaged(0, in_records=False))
