"""The consumer protocol: golden bytes, and decoding what was encoded. tests/testkit compares Java's own bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.assignors.assignor import Subscription
from clients.reference.consumer.consumer_protocol import (
    AssignedPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from harness.wire.errors import WireError
from testkit.codes import raises_code

TOPICS = st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1, max_size=6)
PARTITIONS = st.lists(st.tuples(TOPICS, st.integers(0, 2**31 - 1)), max_size=6, unique=True)
USER_DATA = st.none() | st.binary(max_size=6)
SUBSCRIPTIONS = st.builds(
    Subscription,
    topics=st.lists(TOPICS, max_size=4, unique=True).map(sorted).map(tuple),
    user_data=USER_DATA,
    owned_partitions=PARTITIONS.map(sorted).map(tuple),
    generation_id=st.none() | st.integers(0, 2**31 - 1),
    rack_id=st.none() | st.text("ab", min_size=1, max_size=4),
)


def test_a_subscription_has_the_fields_of_its_version_and_sorts_them():
    told = Subscription(("b", "a"), b"\x09", (("b", 1), ("a", 2), ("b", 0)), 7, "r")
    version_0 = "00000002 000161 000162 00000001 09"
    owned = "00000002 000161 00000001 00000002 000162 00000002 00000000 00000001"
    for version, parts in enumerate((version_0, owned, "00000007", "000172")):
        encoded = encode_subscription(told, version)
        assert encoded[:2] == version.to_bytes(2, "big")
        assert encoded.endswith(bytes.fromhex(parts))
        assert len(encoded) == len(encode_subscription(told, version - 1) if version else b"12") + len(
            bytes.fromhex(parts)
        )


def test_without_user_data_generation_and_rack_the_fields_are_null():
    assert encode_subscription(Subscription(())) == bytes.fromhex(
        "0003 00000000 ffffffff 00000000 ffffffff ffff"
    )


def test_an_assignment_keeps_the_order_of_topics():
    encoded = encode_assignment([("b", 1), ("a", 2), ("b", 0)])
    assert encoded == bytes.fromhex(
        "0003 00000002 000162 00000002 00000001 00000000 000161 00000001 00000002 ffffffff"
    )
    assert decode_assignment(encoded).partitions == (("b", 1), ("b", 0), ("a", 2))


@given(SUBSCRIPTIONS, st.binary(max_size=4))
def test_a_subscription_is_decoded_as_it_was_encoded(told, more):
    assert decode_subscription(encode_subscription(told) + more) == told


@given(SUBSCRIPTIONS)
def test_an_older_version_loses_only_the_fields_that_it_lacks(told):
    assert decode_subscription(encode_subscription(told, 0)) == Subscription(told.topics, told.user_data)
    assert decode_subscription(encode_subscription(told, 1)) == Subscription(
        told.topics, told.user_data, told.owned_partitions
    )
    assert decode_subscription(encode_subscription(told, 2)) == Subscription(
        told.topics, told.user_data, told.owned_partitions, told.generation_id
    )


@given(PARTITIONS.map(sorted), USER_DATA, st.integers(0, 3))
def test_an_assignment_is_decoded_as_it_was_encoded(partitions, user_data, version):
    encoded = encode_assignment(partitions, user_data, version)
    assert decode_assignment(encoded) == AssignedPartitions(tuple(partitions), user_data)


def test_a_version_of_the_future_is_read_like_the_highest_known_one():
    told = Subscription(("a",), generation_id=4, rack_id="r")
    assert decode_subscription(b"\x00\x09" + encode_subscription(told)[2:] + b"new fields") == told


def test_an_empty_rack_is_none():
    assert decode_subscription(encode_subscription(Subscription((), rack_id=""))).rack_id is None


@pytest.mark.parametrize("version", [-1, 4])
def test_an_unknown_version_is_not_written(version):
    with raises_code(WireError, "unknown-version", version=version):
        encode_subscription(Subscription(()), version)
    with raises_code(WireError, "unknown-version", version=version):
        encode_assignment([], None, version)


def test_a_negative_version_is_not_read():
    with raises_code(WireError, "unknown-version", version=-1):
        decode_assignment(b"\xff\xff" + encode_assignment([])[2:])


@given(SUBSCRIPTIONS, st.data())
def test_a_message_that_is_cut_off_is_not_read(told, data):
    encoded = encode_subscription(told)
    kept = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(WireError):
        decode_subscription(encoded[:kept])
