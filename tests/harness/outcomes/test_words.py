"""Outcomes as text."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from harness.outcomes import words
from harness.outcomes.cells import table
from harness.outcomes.metrics import metrics


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
@example(1e-7)
@example(1 - 1e-7)
@example(0.99996)
@example(1 / (2**63 - 1))
@example(1 - 2**-53)
@example(0.99951)
def test_a_share_is_never_rounded_to_0_or_100_percent(share):
    assume(share > 1e-19)
    text = words.percent(share)
    assert text.endswith("%") and 0 < float(text[:-1]) < 100
    assert float(text[:-1]) == pytest.approx(share * 100, abs=0.0501)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.5, "50.0%"),
        (0.2222, "22.2%"),
        (0.001, "0.1%"),
        (1 / 2_400, "0.04%"),
        (2_399 / 2_400, "99.96%"),
        (1 / 100_000, "0.001%"),
        (1 / 10_000_000, "0.00001%"),
        (1.5, "150.0%"),
    ],
)
def test_shares(share, text):
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (0.05, "0.1 ms"),
        (4.24, "4.2 ms"),
        (12.3, "12 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (12_345, "12.3 s"),
        (-2_000, "-2.0 s"),
    ],
)
def test_times(ms, text):
    assert words.duration(ms) == text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("recovery", None, "never"),
        ("recovery", float("inf"), "never"),
        ("offered", 2_400.0, "2,400"),
        ("bytes_per_record", 1_234.5, "1,234"),
        ("requests_per_record", 0.0123, "0.012"),
        ("requests_per_record", 9.96, "10"),
        ("requests_per_record", 123.4, "123"),
    ],
)
def test_values_have_their_unit(name, value, text):
    assert words.told(metrics()[name], value) == text


def shown(trials, name):
    """Return a metric of the row that these trials are."""
    [row] = table(trials)
    return words.summary(metrics()[name], row.outcomes.get(name))


def test_a_row_has_the_value_and_the_range_of_its_trials(trial, recovering):
    shares = [trial(given_up, seed=given_up) for given_up in (10, 20, 60)]
    assert shown(shares, "given_up") == "30.0% (10.0–60.0)"
    assert shown(shares[:1], "given_up") == "10.0%"
    assert shown(shares, "offered") == "300"
    assert shown(shares, "recovery") == "–"
    assert shown([recovering(ms) for ms in (5_700, 6_200, 8_700)], "recovery") == "6.2 s (5.7–8.7)"
    assert shown([recovering(ms) for ms in (450, 8_100, None)], "recovery") == "8.1 s (450 ms–never)"
    assert shown([recovering(ms) for ms in (450, None, None)], "recovery") == "never (450 ms–never)"
    assert shown([recovering(None), recovering(None)], "recovery") == "never"


def test_a_table_has_the_fields_and_the_metrics_that_any_row_has(trial, recovering):
    rows = table([trial(10), trial(verdict="inconclusive", seed=2)])
    assert words.headings(rows) == [
        *("client", "broker", "scenario", "guarantee", "trials"),
        *("offered", "acked", "given up", "unknown"),
    ]
    assert words.lines(rows) == [
        [
            *("c@1", "local:4.3.1x1", "produce/calm", "idempotent"),
            *("1 of 2", "100", "90.0%", "10.0%", "0%"),
        ]
    ]
    more = table([trial(10), recovering(500, variant="v")])
    assert [*words.headings(more)[3:6], words.headings(more)[-1]] == [
        "variant",
        "guarantee",
        "trials",
        "recovery",
    ]
    assert [line[-1] for line in words.lines(more)] == ["–", "500 ms"]
    assert all(len(line) == len(words.headings(more)) for line in words.lines(more))


def test_an_empty_table_has_no_line():
    assert words.lines([]) == [] and words.headings([]) == ["trials"]
