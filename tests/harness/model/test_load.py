"""The laws of a load: sizes, keys, rate, producers and topics are pure functions of a record's number."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.load import (
    Load,
    SizeChoices,
    SizeLognormal,
    SizeRange,
    bounds,
    drawn_key,
    drawn_size,
    due_ms,
    mean_bytes,
)
from harness.model.spec import Workload
from harness.trial.pacing import paced

bytes_ = st.integers(1, 100_000)
sizes = st.one_of(
    st.tuples(bytes_, bytes_).map(lambda ends: SizeRange(min(ends), max(ends))),
    st.tuples(st.tuples(bytes_, bytes_, bytes_).map(sorted), st.integers(0, 500)).map(
        lambda drawn: SizeLognormal(drawn[0][1], drawn[1], drawn[0][0], drawn[0][2])
    ),
    st.lists(st.tuples(bytes_, st.integers(1, 9)), min_size=1, max_size=5).map(
        lambda choices: SizeChoices(tuple(choices))
    ),
)
numbers = st.integers(0, 10_000_000)
draws = st.integers(0, 2**62)


@given(sizes, draws, numbers)
def test_a_size_is_within_the_bounds_and_the_same_again(sizes, draw, n):
    low, high = bounds(sizes)
    assert low <= drawn_size(sizes, draw, n) <= high
    assert drawn_size(sizes, draw, n) == drawn_size(sizes, draw, n)


@given(sizes)
def test_the_mean_is_within_the_bounds(sizes):
    low, high = bounds(sizes)
    assert low <= mean_bytes(sizes) <= high


@pytest.mark.parametrize(
    "sizes", [SizeRange(20, 20_000), SizeLognormal(500, 50, 1, 100_000), SizeChoices(((100, 8), (9_000, 2)))]
)
def test_many_sizes_have_the_mean_of_their_distribution(sizes):
    drawn = [drawn_size(sizes, 7, n) for n in range(20_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(mean_bytes(sizes), rel=0.03)


def test_another_seed_draws_other_sizes():
    sizes = SizeRange(20, 20_000)
    assert [drawn_size(sizes, 1, n) for n in range(50)] != [drawn_size(sizes, 2, n) for n in range(50)]


@given(st.integers(1, 1_000), st.integers(0, 300), draws, numbers)
def test_a_key_is_one_of_the_keys(keys, skew_percent, draw, n):
    assert 0 <= drawn_key(keys, Load(draw=draw, skew_percent=skew_percent), n) < keys


def test_keys_without_skew_are_in_turn():
    assert [drawn_key(3, Load(), n) for n in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_a_larger_skew_gives_the_first_key_a_larger_share():
    shares = [
        Counter(drawn_key(50, Load(draw=3, skew_percent=skew), n) for n in range(5_000))[0]
        for skew in (50, 100, 150, 200)
    ]
    assert shares == sorted(shares)
    assert len(set(shares)) == len(shares)


def test_under_skew_a_lower_key_is_more_frequent():
    found = Counter(drawn_key(5, Load(draw=3, skew_percent=110), n) for n in range(20_000))
    assert [key for key, _ in found.most_common()] == [0, 1, 2, 3, 4]


@st.composite
def rated(draw):
    """Loads with a rate and perhaps with bursts."""
    rate, every_ms = draw(st.integers(1, 20_000)), draw(st.integers(1, 5_000))
    burst = draw(st.integers(0, rate * every_ms // 1_000))
    load = Load(
        rate=rate,
        burst=burst,
        burst_every_ms=every_ms,
        producers=draw(st.integers(1, 4)),
        topics=draw(st.integers(1, 3)),
    )
    return Workload(
        records=draw(st.integers(1, 3_000)), records_per_command=draw(st.integers(1, 500)), load=load
    )


@given(rated())
def test_the_schedule_has_every_record_once_in_order_of_time(load):
    commands = list(paced(load))
    assert [n for _, turn in commands for n in turn] == list(range(load.records))
    moments = [at_ms for at_ms, _ in commands]
    assert moments == sorted(moments)
    assert moments[0] >= 0
    assert moments[-1] <= load.load_ms


@given(rated(), st.integers(1, 5))
def test_bursts_keep_the_mean_rate(load, seconds):
    shape = load.shape
    end_ms = seconds * shape.burst_every_ms
    due = -(-end_ms * shape.rate // 1_000)
    assert due_ms(shape, due) >= end_ms
    assert due == 0 or due_ms(shape, due - 1) < end_ms


def test_a_burst_is_due_at_once_and_the_rest_evenly():
    load = Load(rate=10, burst=6, burst_every_ms=1_000)
    assert [due_ms(load, n) for n in range(11)] == [0, 0, 0, 0, 0, 0, 200, 400, 600, 800, 1_000]


@given(rated())
def test_every_producer_and_every_topic_gets_its_share(load):
    load = replace(load, records=load.records_per_command * load.shape.producers * load.shape.topics)
    found = Counter((load.producer_of(n), load.topic_of(n)) for n in range(load.records))
    assert len(found) == load.shape.producers * load.shape.topics
    assert set(found.values()) == {load.records_per_command}


@given(rated())
def test_a_command_has_one_producer_and_one_topic(load):
    for _, turn in paced(load):
        assert len({(load.producer_of(n), load.topic_of(n)) for n in turn}) == 1
