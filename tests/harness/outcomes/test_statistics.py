"""Statistics against published values, against enumeration, and by their laws."""

from __future__ import annotations

from itertools import product
from math import comb, sqrt
from statistics import fmean, stdev

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.outcomes.statistics import (
    MAX_EXACT,
    Interval,
    clustered_share,
    discoveries,
    mean_interval,
    median_interval,
    quantile,
    sign_test,
    wilson,
)

SHARES = st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))
TRIALS = st.lists(SHARES, min_size=2, max_size=8)
PROBABILITIES = st.lists(st.floats(0, 1), max_size=12)
#: Table 1 of Benjamini and Hochberg 1995: the fifteen ordered results of a trial of medicines.
PUBLISHED = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        # The score intervals without continuity correction in Newcombe 1998, table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(count, of, low, high):
    assert wilson(count, of) == pytest.approx((low, high), abs=5e-5)


@given(SHARES)
def test_wilson_contains_the_share_and_stays_between_0_and_1(share):
    count, of = share
    low, high = wilson(count, of)
    assert 0 <= low <= count / of + 1e-12 and count / of - 1e-12 <= high <= 1
    assert low < high


@given(SHARES)
def test_wilson_of_the_complement_is_the_mirror_image(share):
    count, of = share
    low, high = wilson(count, of)
    assert wilson(of - count, of) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(SHARES, st.integers(2, 50))
def test_wilson_narrows_with_more_cases_of_the_same_share(share, times):
    count, of = share
    few, many = wilson(count, of), wilson(count * times, of * times)
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize("of", [0, -1])
def test_without_cases_the_share_is_unknown(of):
    assert wilson(0, of) == (0, 1)


@given(st.tuples(st.floats(0, 1), st.floats(0, 1)), st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_intervals_overlap_if_they_have_a_value_in_common(one, other):
    a, b = Interval(*sorted(one)), Interval(*sorted(other))
    common = [end for end in (*a, *b) if a.low <= end <= a.high and b.low <= end <= b.high]
    assert a.overlaps(b) is b.overlaps(a) is bool(common)


def by_enumeration(ups, downs):
    """Return the share of all 2^n splits that are at least as uneven."""
    splits = [sum(split) for split in product((0, 1), repeat=ups + downs)]
    return sum(abs(2 * each - ups - downs) >= abs(ups - downs) for each in splits) / len(splits)


@given(st.integers(0, 6), st.integers(0, 6))
def test_the_sign_test_counts_all_splits_that_are_at_least_as_uneven(ups, downs):
    assert sign_test(ups, downs) == pytest.approx(by_enumeration(ups, downs))


@given(st.integers(0, 1_500), st.integers(0, 1_500))
def test_the_sign_test_is_symmetric_and_a_more_uneven_split_is_less_probable(ups, downs):
    assume(ups >= downs)
    assert 0 <= sign_test(ups, downs) == sign_test(downs, ups) <= 1
    if downs:
        assert sign_test(ups + 1, downs - 1) <= sign_test(ups, downs)


@given(st.integers(0, 5), st.integers(0, 5))
def test_fewer_than_six_pairs_are_never_below_5_percent(ups, downs):
    assert (sign_test(ups, downs) > 0.05) or ups + downs >= 6


@pytest.mark.parametrize("ups", [0, 60, 90, 99])
def test_beyond_the_exact_sizes_the_sign_test_is_the_same(ups):
    throws = MAX_EXACT + 7
    exact = 2 * sum(comb(throws, each) for each in range(ups + 1)) / 2**throws
    assert sign_test(ups, throws - ups) == pytest.approx(min(1.0, exact), rel=1e-9)


@pytest.mark.parametrize("pairs", [1_023, 1_024, 5_000, 100_000])
def test_many_pairs_are_no_problem(pairs):
    assert sign_test(pairs, 0) < 1e-200
    assert sign_test(pairs // 2, pairs - pairs // 2) == pytest.approx(1, abs=0.02)
    low, high = median_interval(range(pairs))
    # The normal approximation of the ranks.
    assert low == pytest.approx(pairs / 2 - 0.98 * pairs**0.5, abs=2)
    assert low + high == pairs - 1


def covered(size, cut):
    """Return the probability that the median is between the values at ``cut`` from either end, by enumeration."""
    below = [sum(split) for split in product((0, 1), repeat=size)]
    return sum(cut < each < size - cut for each in below) / len(below)


@pytest.mark.parametrize("size", range(13))
def test_the_interval_of_the_median_covers_95_percent_and_the_next_narrower_one_does_not(size):
    found = median_interval(range(size))
    if found is None:
        assert size < 6 and (size == 0 or covered(size, 0) < 0.95)
        return
    cut = found.low
    assert found == (cut, size - 1 - cut)
    assert covered(size, cut) >= 0.95 > covered(size, cut + 1)


@given(st.lists(st.integers(-50, 50), min_size=6, max_size=60), st.randoms(use_true_random=False))
def test_the_interval_of_the_median_contains_it_whatever_the_order(values, random):
    found = median_interval(values)
    middle = sorted(values)[len(values) // 2]
    assert found.low <= middle <= found.high and {*found} <= {*values}
    random.shuffle(values)
    assert median_interval(values) == found


def test_discoveries_are_those_of_the_published_example():
    assert discoveries(PUBLISHED, 0.05) == [True] * 4 + [False] * 11
    assert discoveries(PUBLISHED[::-1], 0.05) == [False] * 11 + [True] * 4


def test_a_result_that_misses_its_own_limit_is_named_if_a_later_one_meets_its_limit():
    assert discoveries([0.04, 0.04, 0.9], 0.05) == [False, False, False]
    assert discoveries([0.03, 0.031, 0.9], 0.05) == [True, True, False]


@given(PROBABILITIES)
def test_discoveries_are_the_smallest_and_between_bonferronis_and_all_below_the_rate(probabilities):
    found = discoveries(probabilities, 0.05)
    for one, named in zip(probabilities, found, strict=True):
        for other, also in zip(probabilities, found, strict=True):
            assert also or not (named and other <= one)
        assert named or one > 0.05 / len(probabilities)
        assert not named or one <= 0.05


@given(PROBABILITIES, st.data())
def test_a_smaller_probability_never_loses_a_discovery(probabilities, data):
    assume(probabilities)
    at = data.draw(st.integers(0, len(probabilities) - 1))
    smaller = [*probabilities]
    smaller[at] = data.draw(st.floats(0, probabilities[at]))
    before, after = discoveries(probabilities), discoveries(smaller)
    assert all(now for was, now in zip(before, after, strict=True) if was)


@given(TRIALS)
def test_the_interval_of_a_clustered_share_is_between_those_of_records_and_of_trials(trials):
    found, total, of = clustered_share(trials), sum(n for n, _ in trials), sum(size for _, size in trials)
    if not 0 < total < of:
        assert found is None
        return
    share = total / of
    records, whole = wilson(total, of), wilson(share * len(trials), len(trials))
    assert whole.low - 1e-9 <= found.low <= records.low + 1e-9
    assert records.high - 1e-9 <= found.high <= whole.high + 1e-9


def test_the_interval_is_that_of_records_if_the_trials_agree_and_wider_if_they_differ():
    def width(trials):
        low, high = clustered_share(trials)
        return high - low

    agree, differ, extreme = [(10, 100)] * 4, [(5, 100), (15, 100)] * 2, [(0, 100), (20, 100)] * 2
    assert clustered_share(agree) == wilson(40, 400)
    assert width(agree) <= width(differ) < width(extreme)
    assert clustered_share([(0, 100), (100, 100)]) == pytest.approx(wilson(1, 2))


@given(TRIALS, st.randoms(use_true_random=False))
def test_the_order_of_trials_does_not_change_the_interval(trials, random):
    found = clustered_share(trials)
    random.shuffle(trials)
    assert clustered_share(trials) == (found if found is None else pytest.approx(found))


@pytest.mark.parametrize(
    "trials", [[], [(1, 2)], [(0, 5), (0, 5)], [(5, 5), (5, 5)], [(1, 2), (0, 0)], [(3, 2), (9, 2)]]
)
def test_trials_that_say_nothing_about_the_variance_have_no_interval(trials):
    assert clustered_share(trials) is None


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=200), st.integers(1, 99))
def test_a_quantile_is_the_smallest_value_that_the_share_does_not_exceed(values, percent):
    found = quantile(values, percent / 100)
    assert found in values
    assert sum(each <= found for each in values) * 100 >= percent * len(values)
    assert sum(each < found for each in values) * 100 < percent * len(values)


def test_the_ends_of_quantiles_and_no_values():
    assert (quantile([3, 1, 2], 0), quantile([3, 1, 2], 1)) == (1, 3)
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(5, 2.571), (6, 2.447), (10, 2.228), (30, 2.042), (80, 1.990)]
)
def test_interval_of_the_mean_has_the_published_quantiles(freedom, quantile):
    """Student's t table for 97.5 %."""
    values = [float(number) for number in range(freedom + 1)]
    found = mean_interval(values)
    half = (found.high - found.low) / 2
    assert half / (stdev(values) / sqrt(len(values))) == pytest.approx(quantile, abs=0.004)
    assert found.low + half == pytest.approx(fmean(values))


def test_five_values_have_no_interval_of_the_mean():
    assert mean_interval([1.0] * 5) is None and mean_interval([1.0] * 6) == (1.0, 1.0)
