"""Two sides compared: what is paired, what counts as a change, and when it is clear."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.outcomes.cells import Cell
from harness.outcomes.metrics import Better, counts, metrics
from harness.outcomes.pairs import Direction, Paired, changes, paired
from harness.outcomes.statistics import mean_interval, sign_test

ROW = Cell("c")


def of(found, metric):
    """Return the change of one metric."""
    [change] = [each for each in found if each.metric == metric]
    return change


def pairs(trial, numbers, row=ROW):
    """Return pairs of trials, given how many of 1,000 records were given up before and after."""
    return [
        Paired(row, [trial(old, 1_000, seed=seed)], [trial(new, 1_000, seed=seed)])
        for seed, (old, new) in enumerate(numbers)
    ]


GIVEN_UP = st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 1_000)), min_size=1, max_size=20)


@given(st.data())
def test_swapping_the_sides_swaps_worse_and_better(trial, availabilities, data):
    both = st.tuples(availabilities, availabilities, st.sampled_from([Cell("c"), Cell("d")]))
    drawn = data.draw(st.lists(both, max_size=12))
    there = [
        Paired(row, [trial(availability=old)], [trial(availability=new)])
        for old, new, row in drawn
        if old.offered and new.offered
    ]
    back = [Paired(row, new, old) for row, old, new in there]
    turned = {"worse": "better", "better": "worse", "same": "same"}
    for one, other in zip(changes(there), changes(back), strict=True):
        assert (one.cell, one.metric, one.pairs) == (other.cell, other.metric, other.pairs)
        assert (one.worse, one.better) == (other.better, other.worse)
        assert one.direction.value == turned[other.direction.value]
        assert (one.old, one.new) == (other.new, other.old)
        assert (one.clear, one.probability) == (other.clear, other.probability)
        if one.difference is not None:
            assert one.difference == pytest.approx(-other.difference)
            assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


@given(st.data())
def test_a_change_never_contradicts_its_difference(trial, availabilities, data):
    drawn = data.draw(st.lists(st.tuples(availabilities, availabilities), max_size=12))
    known = metrics()
    for each in changes([
        Paired(ROW, [trial(availability=old)], [trial(availability=new)])
        for old, new in drawn
        if old.offered and new.offered
    ]):  # fmt: skip
        if each.difference is not None and each.direction is not Direction.SAME and not each.clear:
            sign = 1 if known[each.metric].better is Better.LOWER else -1
            assert sign * each.difference * (1 if each.direction is Direction.WORSE else -1) >= 0
        assert not (each.clear and each.direction is Direction.SAME)


def test_a_clear_change_is_told_although_one_pair_outweighs_it(trial):
    """Twenty trials gave up a little more, and one much less."""
    change = of(changes(pairs(trial, [(0, 5)] * 20 + [(900, 0)])), "given_up")
    assert change.difference < 0
    assert (change.direction, change.clear) == (Direction.WORSE, True)


def test_small_falls_and_one_rise_are_no_change_for_the_worse(trial, recovering):
    """Falls by less than a fifth of the time do not count, and the one rise that does is not the whole."""
    found = changes([
        Paired(ROW, [recovering(old, seed=seed)], [recovering(new, seed=seed)])
        for seed, (old, new) in enumerate([(10_000, 8_500), (200, 500)])
    ])  # fmt: skip
    change = of(found, "recovery")
    assert (change.worse, change.better, change.difference) == (1, 0, -600)
    assert change.direction is Direction.SAME


@given(st.data())
def test_a_side_is_the_same_as_itself(trial, availabilities, data):
    drawn = data.draw(st.lists(availabilities.filter(lambda each: each.offered > 0), max_size=8))
    trials = [trial(availability=told) for told in drawn]
    for each in changes([Paired(ROW, [one], [one]) for one in trials]):
        assert (each.direction, each.clear, each.worse, each.better) == (Direction.SAME, False, 0, 0)
        assert each.difference in (0, None)


@given(GIVEN_UP, st.randoms(use_true_random=False))
def test_the_order_of_pairs_never_matters(trial, numbers, random):
    found = changes(pairs(trial, numbers))
    shuffled = pairs(trial, numbers)
    random.shuffle(shuffled)
    assert changes(shuffled) == found


@given(GIVEN_UP)
def test_pairs_are_counted_by_what_became_of_them(trial, numbers):
    found = of(changes(pairs(trial, numbers)), "given_up")
    matters = metrics()["given_up"].least
    moved = [new / 1_000 - old / 1_000 for old, new in numbers]
    assert (found.pairs, found.worse, found.better) == (
        len(numbers),
        sum(each >= matters for each in moved),
        sum(-each >= matters for each in moved),
    )
    assert found.probability == sign_test(found.worse, found.better)
    assert found.interval == mean_interval(moved)
    assert (found.low, found.high) == (min(moved), max(moved))


@pytest.mark.parametrize(("seeds", "clear"), [(5, False), (6, True)])
def test_six_pairs_are_the_fewest_that_show_a_clear_change(trial, seeds, clear):
    found = changes(pairs(trial, [(0, 100)] * seeds))
    for metric in ("given_up", "acknowledged"):
        each = of(found, metric)
        assert (each.direction, each.worse, each.clear) == (Direction.WORSE, seeds, clear)
        assert (each.interval is not None) is clear
    assert of(found, "unknown").direction is Direction.SAME


def test_among_many_rows_one_uneven_split_is_chance(trial):
    changed = pairs(trial, [(0, 100)] * 6, Cell("x"))
    equal = [pair for n in range(30) for pair in pairs(trial, [(0, 100), (100, 0)] * 3, Cell(f"row {n:02}"))]
    assert of(changes(changed), "given_up").clear
    assert not any(each.clear for each in changes([*equal, *changed]))


def test_rows_with_too_few_pairs_are_no_tests_and_do_not_hide_a_clear_one(trial):
    changed = pairs(trial, [(0, 100)] * 6, Cell("x"))
    few = [pair for n in range(30) for pair in pairs(trial, [(0, 100)] * 3, Cell(f"row {n:02}"))]
    found = changes([*few, *changed])
    assert {each.cell.client for each in found if each.clear} == {"x"}


@pytest.mark.parametrize(
    ("old_ms", "new_ms", "direction"),
    [
        (1_000, 1_240, "same"),  # below a quarter of a second
        (1_000, 1_260, "worse"),
        (10_000, 11_900, "same"),  # below a fifth
        (10_000, 12_600, "worse"),
        (10_000, 7_000, "better"),
        (500, None, "worse"),
        (None, 500, "better"),
        (None, None, "same"),
    ],
)
def test_a_difference_of_times_must_matter(recovering, old_ms, new_ms, direction):
    found = of(changes([Paired(ROW, [recovering(old_ms)], [recovering(new_ms)])]), "recovery")
    assert (found.old, found.new, found.direction) == (old_ms, new_ms, direction)
    assert (found.difference is None) is (None in (old_ms, new_ms))


def test_one_lost_record_matters(trial):
    pair = Paired(
        ROW, [trial(offered=10_000, counts={"lost": 0})], [trial(offered=10_000, counts={"lost": 1})]
    )
    assert of(changes([pair]), "lost").direction is Direction.WORSE


def test_the_attempts_at_a_trial_count_as_one_by_their_median(trial):
    attempts = [trial(given_up, 1_000, attempt=number) for number, given_up in enumerate((0, 100, 900))]
    found = of(changes([Paired(ROW, [trial(0, 1_000)], attempts)]), "given_up")
    assert (found.pairs, found.new) == (1, 0.1)


@given(st.data())
def test_trials_of_one_side_only_and_those_that_do_not_count_are_left_out(trial, data):
    words = st.sampled_from(["pass", "fail", "inconclusive", "unsupported"])
    side = st.dictionaries(st.integers(1, 5), st.lists(words, min_size=1, max_size=3))

    def attempts(drawn):
        return {key: [trial(verdict=word, seed=key) for word in said] for key, said in drawn.items()}

    old, new = attempts(data.draw(side)), attempts(data.draw(side))
    found = paired(old, new, lambda was, now: Cell(f"{was.seed}-{now.seed}"))
    both = [key for key in old if key in new and any(map(counts, old[key])) and any(map(counts, new[key]))]
    assert [pair.cell.client for pair in found] == [f"{key}-{key}" for key in both]
    for key, pair in zip(both, found, strict=True):
        assert pair.old == [*filter(counts, old[key])] and pair.new == [*filter(counts, new[key])]


def test_a_metric_that_one_side_lacks_is_not_compared(trial, recovering):
    found = changes([Paired(ROW, [trial()], [recovering(500)])])
    assert "recovery" not in {each.metric for each in found}
    neither = {name for name, each in metrics().items() if each.better is Better.NEITHER}
    assert neither and not neither & {each.metric for each in found}


def test_two_thousand_pairs_can_be_compared(trial):
    old, new = trial(0, 1_000), trial(100, 1_000)
    found = of(changes([Paired(ROW, [old], [new])] * 2_000), "given_up")
    assert found.clear and found.probability < 1e-200 and found.interval == (0.1, 0.1)


@given(st.data())
def test_any_stored_number_can_be_compared(trial, hostile, data):
    drawn = data.draw(st.lists(st.tuples(hostile, hostile), max_size=8))
    keys = range(len(drawn))
    old = {key: [trial(availability=drawn[key][0])] for key in keys}
    new = {key: [trial(availability=drawn[key][1])] for key in keys}
    for each in changes(paired(old, new, lambda *_: ROW)):
        assert 0 <= each.probability <= 1
        assert all(number is None or abs(number) < inf for number in (each.old, each.new, each.difference))
