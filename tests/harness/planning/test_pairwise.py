"""Pairs instead of everything: nothing that meets is lost, nothing is made up, and it is few."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.planning.pairwise import met, pairs, pairwise


@st.composite
def possible(draw):
    """Every combination of some axes, but for those in which two values stand that cannot stand together."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    rows = list(product(*(range(size) for size in sizes)))
    apart = draw(st.sets(st.sampled_from(sorted(met(rows))), max_size=6))
    return [row for row in rows if not pairs(row) & apart]


@given(possible())
def test_every_two_values_meet_that_meet_in_all_combinations(rows):
    assert met(pairwise(rows)) == met(rows)


@given(possible())
def test_only_combinations_that_can_be_are_left_in_their_order_and_each_once(rows):
    chosen = pairwise(rows)
    left = iter(rows)
    assert all(row in left for row in chosen)


@given(possible())
def test_the_same_combinations_give_the_same_few(rows):
    assert pairwise(rows) == pairwise(list(rows))


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_two_axes_are_tried_whole_and_more_take_no_fewer_than_the_two_largest(sizes):
    rows = list(product(*(range(size) for size in sizes)))
    *_, second, first = sorted(sizes)
    assert first * second <= len(pairwise(rows)) <= len(rows)
    if len(sizes) == 2:
        assert pairwise(rows) == rows


@pytest.mark.parametrize(
    ("sizes", "at_most"), [([3] * 4, 12), ([4] * 5, 24), ([10, 10, 3, 3, 2], 110), ([20, 8, 3, 4], 175)]
)
def test_it_is_few(sizes, at_most):
    assert len(pairwise(list(product(*(range(size) for size in sizes))))) <= at_most


def test_equal_values_of_two_axes_are_two_values():
    assert met([(1, 1)]) == {((0, 1), (1, 1))}
    assert pairwise([(1, 2, 1), (2, 1, 1)]) == [(1, 2, 1), (2, 1, 1)]
