"""Pairwise combinations: every possible pair is covered, no combination is invented, and they are few."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.planning.pairwise import met, pairs, pairwise


@st.composite
def possible(draw):
    """Draw all combinations of some axes, without those that contain a forbidden pair."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    rows = list(product(*(range(size) for size in sizes)))
    apart = draw(st.sets(st.sampled_from(sorted(met(rows))), max_size=6))
    return [row for row in rows if not pairs(row) & apart]


@given(possible())
def test_every_possible_pair_is_covered(rows):
    assert met(pairwise(rows)) == met(rows)


@given(possible())
def test_the_chosen_combinations_are_a_subsequence_of_the_possible_ones(rows):
    chosen = pairwise(rows)
    left = iter(rows)
    assert all(row in left for row in chosen)


@given(possible())
def test_the_choice_is_deterministic(rows):
    assert pairwise(rows) == pairwise(list(rows))


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_two_axes_are_covered_completely_and_more_by_at_least_the_two_largest(sizes):
    rows = list(product(*(range(size) for size in sizes)))
    *_, second, first = sorted(sizes)
    assert first * second <= len(pairwise(rows)) <= len(rows)
    if len(sizes) == 2:
        assert pairwise(rows) == rows


@pytest.mark.parametrize(
    ("sizes", "at_most"), [([3] * 4, 12), ([4] * 5, 24), ([10, 10, 3, 3, 2], 110), ([20, 8, 3, 4], 175)]
)
def test_the_number_of_combinations_is_small(sizes, at_most):
    assert len(pairwise(list(product(*(range(size) for size in sizes))))) <= at_most


def test_equal_values_of_two_axes_are_different_values():
    assert met([(1, 1)]) == {((0, 1), (1, 1))}
    assert pairwise([(1, 2, 1), (2, 1, 1)]) == [(1, 2, 1), (2, 1, 1)]
