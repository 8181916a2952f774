"""The user data of the sticky assignors: both versions, damaged bytes, and what each assignor sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.consumer.assignors import ASSIGNORS
from clients.reference.consumer.assignors.sticky.user_data import (
    DEFAULT_GENERATION,
    MemberData,
    decode_generation,
    decode_owned,
    encode_generation,
    encode_owned,
)

PARTITIONS = st.lists(
    st.tuples(st.sampled_from(["a", "b.c", "ü"]), st.integers(0, 2**31 - 1)), max_size=6, unique=True
).map(sorted)
GENERATIONS = st.integers(-1, 2**31 - 1)


def test_version_1_has_the_partitions_by_topic_and_the_generation():
    encoded = encode_owned([("t", 2), ("u", 0), ("t", 1)], 5)
    assert encoded == bytes.fromhex(
        "00000002 000174 00000002 00000002 00000001 000175 00000001 00000000 00000005"
    )


@given(PARTITIONS, GENERATIONS)
def test_version_1_is_decoded_as_it_was_encoded(partitions, generation):
    assert decode_owned(encode_owned(partitions, generation)) == MemberData(tuple(partitions), generation)


@given(PARTITIONS, st.integers(0, 3))
def test_version_0_has_no_generation(partitions, left):
    version_0 = encode_owned(partitions, 0)[: -4 + left]
    assert decode_owned(version_0) == MemberData(tuple(partitions))


@given(PARTITIONS.filter(bool), st.data())
def test_a_member_with_damaged_user_data_owned_nothing(partitions, data):
    encoded = encode_owned(partitions, 0)[:-4]
    kept = data.draw(st.integers(1, len(encoded) - 1))
    assert decode_owned(encoded[:kept]) == MemberData((), DEFAULT_GENERATION)


@pytest.mark.parametrize("damaged", ["ffffffff", "00000001ffff", "00000001 000174 ffffffff", "7fffffff"])
def test_a_count_that_cannot_be_is_damage(damaged):
    assert decode_owned(bytes.fromhex(damaged)) == MemberData((), DEFAULT_GENERATION)


@given(GENERATIONS)
def test_cooperative_sticky_sends_the_generation_alone(generation):
    assert encode_generation(generation) == generation.to_bytes(4, "big", signed=True)
    assert decode_generation(encode_generation(generation)) == generation
    assert decode_generation(encode_generation(generation)[:3]) == DEFAULT_GENERATION
    assert decode_generation(None) is None


def test_each_assignor_sends_what_its_leader_needs():
    sent = {}
    for name, make in ASSIGNORS.items():
        assignor = make()
        first = assignor.subscription_user_data(["t"])
        assignor.on_assignment([("t", 1)], 3)
        sent[name] = first, assignor.subscription_user_data(["t"])
    assert sent == {
        "range": (None, None),
        "roundrobin": (None, None),
        "sticky": (None, encode_owned([("t", 1)], 3)),
        "cooperative-sticky": (encode_generation(-1), encode_generation(3)),
    }
