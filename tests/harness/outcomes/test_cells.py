"""The outcome table: which trials are in which row, and what a row says of them."""

from __future__ import annotations

import json
from math import inf
from statistics import median

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.verdicts import Verdict
from harness.outcomes import words
from harness.outcomes.cells import Cell, by_client, cell_of, summarised, table
from harness.outcomes.metrics import Unit, counts, metrics
from harness.outcomes.statistics import clustered_share, wilson

CELLS = st.fixed_dictionaries(
    {
        "client": st.sampled_from(["c@1", "c@2"]),
        "scenario": st.sampled_from(["produce/calm", "network/reset"]),
        "variant": st.sampled_from(["", "v"]),
        "verdict": st.sampled_from([*map(str, Verdict)]),
        "seed": st.integers(1, 3),
    }
)


@given(st.data(), st.randoms(use_true_random=False))
def test_the_order_of_verdicts_never_matters(trial, availabilities, data, random):
    drawn = data.draw(st.lists(st.tuples(CELLS, availabilities), max_size=12))
    verdicts = [trial(availability=told, **cell) for cell, told in drawn]
    found = table(verdicts)
    random.shuffle(verdicts)
    assert [row.cell for row in table(verdicts)] == [row.cell for row in found]
    for one, other in zip(table(verdicts), found, strict=True):
        assert (one.trials, one.left_out) == (other.trials, other.left_out)
        assert one.outcomes.keys() == other.outcomes.keys()
        for name, summary in one.outcomes.items():
            assert astuple(summary) == pytest.approx(astuple(other.outcomes[name]), rel=1e-9)


def astuple(summary):
    """Return the numbers of a summary; -1 for those that it does not have."""
    told = [*msgspec.structs.astuple(summary)]
    flat = [part for each in told for part in (each if isinstance(each, tuple) else [each])]
    return [-1 if each is None else each for each in flat]


@given(st.data())
def test_every_trial_is_in_one_row_and_counts_or_is_left_out(trial, availabilities, data):
    drawn = data.draw(st.lists(st.tuples(CELLS, availabilities), max_size=12))
    verdicts = [trial(availability=told, **cell) for cell, told in drawn]
    for cell in (cell_of, by_client):
        rows = table(verdicts, cell)
        assert [row.cell for row in rows] == sorted({cell(each) for each in verdicts})
        for row in rows:
            mine = [each for each in verdicts if cell(each) == row.cell]
            assert (row.trials, row.left_out) == (
                sum(map(counts, mine)),
                len(mine) - sum(map(counts, mine)),
            )
            assert row.trials or not row.outcomes


@given(st.data())
def test_each_metric_is_summarised_over_the_trials_that_have_it(trial, availabilities, data):
    drawn = data.draw(st.lists(availabilities, min_size=1, max_size=8))
    verdicts = [trial(availability=told) for told in drawn]
    [row] = table(verdicts)
    for name, metric in metrics().items():
        values = [metric.value(each) for each in verdicts if counts(each) and metric.value(each) is not None]
        summary = row.outcomes.get(name)
        assert (summary is None) is (not values)
        if summary is not None:
            assert summary.trials == len(values)
            assert summary.never == values.count(inf)
            assert (summary.low, summary.median, summary.high) == tuple(
                None if each == inf else each for each in (min(values), median(values), max(values))
            )


@given(
    st.lists(
        st.integers(1, 1_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))),
        min_size=1,
        max_size=8,
    )
)
def test_a_share_is_weighted_by_records(trial, shares):
    [row] = table([trial(given_up, offered) for given_up, offered in shares])
    found = row.outcomes["given_up"]
    count, of = sum(count for count, _ in shares), sum(of for _, of in shares)
    assert (found.count, found.of, found.value) == (count, of, count / of)
    assert found.interval == clustered_share(shares)
    assert found.occurred == sum(count > 0 for count, _ in shares)
    assert found.occurred_interval == wilson(found.occurred, len(shares))
    assert found.low <= found.value <= found.high or found.low == pytest.approx(found.value)
    assert row.outcomes["offered"].value == of


def test_trials_without_the_count_are_not_in_its_share(trial):
    [row] = table([trial(counts={"lost": 10}), trial(seed=2)])
    found = row.outcomes["lost"]
    assert (found.trials, found.count, found.of) == (1, 10, 100)


def test_a_recovery_that_never_came_is_counted_and_null(recovering):
    [row] = table([recovering(500), recovering(None, seed=2), recovering(None, seed=3)])
    found = row.outcomes["recovery"]
    assert (found.trials, found.never, found.low, found.value, found.high) == (3, 2, 500, None, None)


def test_cells_separate_client_version_scenario_variant_broker_and_guarantee(trial):
    parts = [{}, {"client": "c@2"}, {"scenario": "s/t"}, {"variant": "v"}, {"broker": "b"}]
    parts += [{"guarantee": "at-least-once"}, {"seed": 2}, {"attempt": 2}, {"seed": 2, "attempt": 2}]
    rows = table([trial(**part) for part in parts])
    assert len(rows) == 6 and sorted(row.trials for row in rows) == [1, 1, 1, 1, 1, 4]
    clients = table([trial(**part) for part in parts], by_client)
    assert Cell("c@1", guarantee="idempotent") in [row.cell for row in clients] and len(clients) == 4


def test_repeating_only_what_failed_changes_no_number(trial):
    firsts = [trial(10), *(trial(0, seed=seed) for seed in (2, 3, 4))]
    again = [trial(10, attempt=attempt) for attempt in range(2, 6)]
    [plain], [repeated] = table(firsts), table([*firsts, *again])
    assert plain.outcomes == repeated.outcomes and repeated.left_out == 4


def test_without_verdicts_there_is_no_row():
    assert table([]) == [] and summarised(metrics()["given_up"], []) is None


@given(st.data())
def test_any_stored_number_can_be_summarised_shown_and_encoded(trial, hostile, data):
    counted = st.dictionaries(st.sampled_from(["lost", "duplicated", "x"]), st.integers(-(2**63), 2**63 - 1))
    drawn = data.draw(st.lists(st.tuples(hostile, counted), max_size=5))
    rows = table([trial(availability=told, counts=numbers) for told, numbers in drawn])
    for row, cells in zip(rows, words.lines(rows), strict=True):
        assert all(cells[5:])
        json.loads(msgspec.json.encode(row.outcomes))
        for summary in row.outcomes.values():
            if summary.interval is not None:
                assert 0 <= summary.interval.low <= summary.interval.high <= 1
    assert {metric.unit for metric in metrics().values()} == {*Unit}
