"""Thresholds: how they are written, which rows they select, what they evaluate, and their exit codes."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import UsageError
from harness.outcomes.cells import Cell, cell_of, table
from harness.outcomes.metrics import Unit, metrics
from harness.outcomes.thresholds import Met, evaluated, exit_code, parsed
from testkit.codes import raises_code

UNITS = {
    Unit.SHARE: ["", "%"],
    Unit.MS: ["ms", "s", "m"],
    Unit.BYTES: ["", "B", "KiB"],
    Unit.RATIO: [""],
    Unit.COUNT: [""],
}
STATISTICS = st.sampled_from(["", "median", "min", "max"]) | st.integers(1, 99).map("p{}".format)
BLANKS = st.sampled_from(["", " ", "  "])


@st.composite
def written(draw):
    """Draw a threshold: its metric, statistic, comparison, value and unit, and the whole as text."""
    name = draw(st.sampled_from([*metrics()]))
    statistic, op = draw(STATISTICS), draw(st.sampled_from(["<", "<=", ">", ">=", "=="]))
    value, unit = draw(st.integers(0, 10_000)), draw(st.sampled_from(UNITS[metrics()[name].unit]))
    fields = draw(st.sampled_from(["", "{client=c@*}", "{ scenario = network/* , variant= }"]))
    parts = [f"{name}_{statistic}" if statistic else name, fields, op, str(value), unit]
    blank = draw(BLANKS)
    return name, statistic, op, value, unit, blank + blank.join(parts) + blank


@given(written())
def test_a_threshold_is_read_as_it_is_written(drawn):
    name, statistic, op, value, _, text = drawn
    found = parsed(text)
    assert (found.metric, found.statistic, found.comparison) == (name, statistic, op)
    assert (found.value == 0) is (value == 0)
    assert parsed(found.text) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("given_up < 0.1%", 0.001),
        ("given_up < 0.001", 0.001),
        ("recovery < 5s", 5_000),
        ("recovery < 250 ms", 250),
        ("recovery < 1.5m", 90_000),
        ("bytes_per_record < 2KiB", 2_048),
        ("bytes_per_record < 70B", 70),
        ("bytes_per_record < 70", 70),
        ("requests_per_record < 0.5", 0.5),
        ("offered >= 2400", 2_400),
    ],
)
def test_units(text, value):
    assert parsed(text).value == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "given_up",
            "given_up <",
            "< 5",
            "given_up < x",
            "given_up = 5",
            "given_up <> 5",
            "given_up < -1",
        ),
        *("given_up < 1e3", "given_up < nan", "given_up < inf", "given_up < .5", "given_up < 5%%", "a b < 1"),
        *("given_up{client=c < 1", "given_up}{ < 1", "given_up < 1 and lost < 1", "given_up < ٣"),
        f"recovery < {'9' * 400}s",
        "x" * 100_000,
    ],
)
def test_what_is_no_threshold(text):
    with raises_code(UsageError, "threshold-syntax"):
        parsed(text)


@pytest.mark.parametrize(
    "text", ["given_up < 5s", "recovery < 5", "recovery < 5%", "offered < 5B", "lost<1ms"]
)
def test_a_unit_of_something_else_is_refused(text):
    with raises_code(UsageError, "threshold-unit", metric=parsed_name(text)):
        parsed(text)


def parsed_name(text):
    """Return the metric in a threshold's text."""
    return text.partition("<")[0].strip()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("given_upp < 1", "given_upp"),
        ("given_up_p0 < 1", "given_up_p0"),
        ("given_up_p100 < 1", "given_up_p100"),
        ("given_up_mean < 1", "given_up_mean"),
        ("given_up{clint=c} < 1", "clint"),
        ("given_up{client} < 1", "client"),
        ("given_up{=c} < 1", ""),
    ],
)
def test_an_unknown_name_is_refused(text, name):
    with raises_code(UsageError, "unknown-name", name=name):
        parsed(text)


@given(st.text(max_size=40))
def test_any_text_is_a_threshold_or_refused(text):
    try:
        found = parsed(text)
    except UsageError:
        return
    assert found.metric in metrics() and 0 <= found.value < inf


CELL = Cell("c@1.2", "local:1", "network/reset", "", "idempotent")


@pytest.mark.parametrize(
    ("fields", "selects"),
    [
        ("", True),
        ("{}", True),
        ("{client=c@1.2}", True),
        ("{client=c@*}", True),
        ("{client=d@*}", False),
        ("{scenario=network/*, guarantee=idem*}", True),
        ("{scenario=network/*, guarantee=at-*}", False),
        ("{variant=}", True),
        ("{variant=?*}", False),
        ("{broker=local:[12]}", True),
    ],
)
def test_globs_select_rows(fields, selects):
    assert parsed(f"given_up{fields} < 1").selects(CELL) is selects


def results(threshold, trials):
    """Return the results of one threshold, and what was observed."""
    return [(str(each.result), each.observed) for each in evaluated([threshold], trials)]


def test_a_share_is_over_all_records_of_the_row(trial):
    trials = [trial(0, 900), trial(50, 100, seed=2)]
    assert results("given_up < 5%", trials) == [("missed", "5.0%")]
    assert results("given_up <= 5%", trials) == [("met", "5.0%")]
    assert results("given_up_max < 5%", trials) == [("missed", "50.0%")]
    assert results("given_up_min < 5%", trials) == [("met", "0%")]


def test_a_share_leaves_out_trials_without_the_count(trial):
    assert results("lost < 10%", [trial(counts={"lost": 15}), trial(seed=2)]) == [("missed", "15.0%")]


@pytest.mark.parametrize(
    ("threshold", "result"),
    [
        ("recovery < 3s", ("met", "2.0 s")),
        ("recovery < 2s", ("missed", "2.0 s")),
        ("recovery >= 1s", ("met", "1.0 s")),
        ("recovery > 1s", ("missed", "1.0 s")),
        ("recovery == 1s", ("missed", "2.0 s")),
        ("recovery_median == 1500ms", ("met", "1.5 s")),
        ("recovery_p50 == 1s", ("met", "1.0 s")),
        ("recovery_p51 == 2s", ("met", "2.0 s")),
        ("recovery_min < 2s", ("met", "1.0 s")),
        ("recovery_max < 2s", ("missed", "2.0 s")),
    ],
)
def test_every_trial_must_meet_it_unless_a_statistic_is_named(recovering, threshold, result):
    assert results(threshold, [recovering(1_000), recovering(2_000, seed=2)]) == [result]


@given(st.lists(st.none() | st.integers(0, 9_000), min_size=1, max_size=9), st.integers(1, 99))
def test_a_recovery_that_never_came_misses_every_upper_bound(recovering, drawn, percent):
    trials = [recovering(ms, seed=seed) for seed, ms in enumerate(drawn)]
    some_never = None in drawn
    for op in ("<", "<="):
        [(result, seen)] = results(f"recovery {op} 99999999999s", trials)
        assert (result, seen == "never") == (("missed", True) if some_never else ("met", False))
    for op in (">", "=="):
        for statistic in ("max", "median", f"p{percent}"):
            [(result, seen)] = results(f"recovery_{statistic} {op} 99999999999s", trials)
            assert result == ("met" if op == ">" and seen == "never" else "missed")


@given(st.lists(st.none() | st.integers(0, 9_000), min_size=1, max_size=9))
def test_the_median_is_that_of_the_table(recovering, drawn):
    trials = [recovering(ms, seed=seed) for seed, ms in enumerate(drawn)]
    [row] = table(trials)
    [(result, _)] = results("recovery_median < 5s", trials)
    value = row.outcomes["recovery"].value
    assert (result == "met") is (value is not None and value < 5_000)


@given(st.data(), st.randoms(use_true_random=False))
def test_the_order_of_verdicts_never_matters(trial, availabilities, data, random):
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(["c@1", "d@1"]), availabilities), max_size=8))
    thresholds = data.draw(st.lists(written().map(lambda each: each[-1]), max_size=4))
    trials = [trial(availability=told, client=client) for client, told in drawn]
    found = evaluated(thresholds, trials)
    random.shuffle(trials)
    assert evaluated(thresholds, trials) == found


@given(st.data())
def test_each_threshold_is_evaluated_in_each_row_that_it_selects(trial, availabilities, data):
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(["c@1", "d@1"]), availabilities), max_size=6))
    text = data.draw(written())[-1]
    trials = [trial(availability=told, client=client) for client, told in drawn]
    rows = [row for row in table(trials) if parsed(text).selects(row.cell)]
    found = evaluated([text], trials)
    assert [each.cell for each in found] == ([row.cell for row in rows] or [Cell("")])
    for row, each in zip(rows, found, strict=False):
        assert (each.result is Met.NOT_EVALUATED) is (parsed(text).metric not in row.outcomes)
        assert each.trials == (row.trials if each.observed else 0)


@pytest.mark.parametrize("of", [{"verdict": "inconclusive"}, {"offered": 0}])
def test_without_a_trial_that_counts_it_is_not_evaluated(trial, of):
    [found] = evaluated(["given_up < 1%"], [trial(**of)])
    assert (found.result, found.observed, found.cell) == (Met.NOT_EVALUATED, "", cell_of(trial()))
    assert found.sentence.endswith(found.seen)


def test_one_that_selects_no_row_is_not_evaluated(trial):
    [found] = evaluated(["given_up{client=x} < 1%"], [trial()])
    assert (found.result, found.cell) == (Met.NOT_EVALUATED, Cell(""))
    assert parsed(found.threshold).text in found.sentence


def test_the_sentence_names_the_threshold_the_row_and_the_value(trial):
    [found] = evaluated(["given_up  <  1%"], [trial(10, variant="v")])
    assert found.sentence == (
        "threshold missed: given_up < 1%: c@1 produce/calm[idempotent] v local:4.3.1x1: it is 10.0%"
    )


@pytest.mark.parametrize(
    ("thresholds", "code"),
    [
        ([], 0),
        (["given_up < 50%"], 0),
        (["given_up < 5%"], 1),
        (["recovery < 5s"], 4),
        (["given_up < 5%", "recovery < 5s"], 1),
        (["given_up < 50%", "given_up{client=x} < 5%"], 4),
    ],
)
def test_exit_codes(trial, thresholds, code):
    assert exit_code(evaluated(thresholds, [trial(10)])) == code
