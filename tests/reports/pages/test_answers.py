"""The pages that answer: sentences, plots and thresholds of a client, and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from harness.model.rows import Availability, FaultVerdict, TrialVerdict
from harness.model.spec import Plan
from harness.outcomes import words
from harness.outcomes.cells import by_client, table
from harness.storage.run_store import LeftOut, RunRecord
from reports.pages import outcomes
from reports.pages.clients import ClientPage, client_page
from reports.pages.comparisons import comparisons
from reports.pages.file_names import file_name
from reports.pages.payload import packed, unpacked
from tests.reports.story import MS, new_story

Verdicts = Callable[..., TrialVerdict]
OLD, NEW = "confluent-kafka@2.3.0", "confluent-kafka@2.16.1"
HOSTILE = "<a href='javascript:alert(1)'>x</a>"


@pytest.fixture
def verdict() -> Verdicts:
    """Return a function that makes a trial of 1,000 records with a fault from 1 s to 3 s."""

    def make(seed: int = 1, failed: int = 0, steady_ms: int | None = 400, **changes: Any) -> TrialVerdict:
        story = new_story(
            f"t-{seed}-{failed}-{changes.get('client', '')}-{changes.get('variant', '')}", seed=seed
        )
        told = Availability(
            offered=1_000,
            acked=1_000 - failed,
            failed=failed,
            longest_gap_ms=2_000,
            steady_ack_ms=steady_ms,
            recovered=steady_ms is not None,
            p50_ns=5 * MS,
            p99_ns=900 * MS,
            requests=100,
            request_bytes=100_000,
        )
        fault = FaultVerdict("dropped_response", (1_000 * MS, 3_000 * MS), (1_000 * MS, 3_000 * MS), 3)
        made = replace(story.judgement(), availability=told, faults=(fault,))
        return replace(made, **changes)

    return make


def page_of(verdicts: list[TrialVerdict], windows: dict[str, Any] | None = None) -> ClientPage:
    loads_ns: dict[str, int | None] = {each.trial: 0 for each in verdicts}
    return client_page(verdicts[0].client, verdicts, windows or {}, loads_ns, [])


def test_sentences_have_the_numbers_of_the_outcome_table(verdict: Verdicts) -> None:
    page = page_of([verdict(seed, failed) for seed, failed in enumerate((0, 0, 40, 100))])
    (story,) = page.stories
    text = " ".join(story.sentences)
    (row,) = table([verdict(seed, failed) for seed, failed in enumerate((0, 0, 40, 100))], by_client)
    assert story.row == row
    assert "In 4 trials it was given 4,000 records, and 3,860 (96.5%" in text
    assert "140 records (3.5%" in text and "in 2 of 4 trials" in text
    assert "No record that was acknowledged was lost." in text
    assert "0.1 requests and 100 bytes" in text


def test_a_recovery_that_never_came_is_said(verdict: Verdicts) -> None:
    page = page_of([verdict(1), verdict(2), verdict(3, steady_ms=None)])
    assert "in 1 of 3 trials it never did" in " ".join(page.stories[0].sentences)
    recovery = next(plot for plot in page.plots if plot.name == "recovery")
    assert recovery.rows == [["dropped response", "3", "400 ms", "400 ms", "never", "1"]]
    assert [trace["name"] for trace in recovery.figure["data"]] == ["recovered", "never recovered"]


def test_trials_that_do_not_count_are_no_outcome(verdict: Verdicts) -> None:
    page = page_of([verdict(verdict="inconclusive")])
    assert page.stories[0].sentences == [
        "None of 1 trial counts: each was disturbed, or its faults had no effect."
    ]
    assert all(not plot.rows for plot in page.plots)


def test_availability_is_relative_to_the_first_fault(verdict: Verdicts) -> None:
    trial = verdict()
    rows = [
        {"from_ms": at, "offered": 50, "acked": acked} for at, acked in ((0, 50), (1_000, 10), (3_000, 50))
    ]
    plot = page_of([trial], {trial.trial: rows}).plots[0]
    (trace,) = plot.figure["data"]
    assert (trace["x"], trace["y"]) == ([-1.0, 0.0, 2.0], [1.0, 0.2, 1.0])
    assert plot.rows == [["dropped response", "20.0%", "+0.0 s", "100%"]]


def test_plots_are_valid_and_differ_by_more_than_colour(verdict: Verdicts) -> None:
    trials = [
        verdict(seed, faults=(FaultVerdict(kind, (MS, 2 * MS), (MS, 2 * MS), 1),))
        for seed, kind in enumerate(("latency", "reset", "disconnect", "refuse"))
    ]
    windows = {each.trial: [{"from_ms": 0, "offered": 2, "acked": 1}] for each in trials}
    plots = page_of(trials, windows).plots
    assert [plot.name for plot in plots] == ["availability", "recovery", "latency", "amplification"]
    for plot in plots:
        go.Figure(unpacked(packed(plot.figure)))
        assert plot.rows and all(len(row) == len(plot.heads) for row in plot.rows)
    symbols = [trace["marker"]["symbol"] for trace in plots[0].figure["data"]]
    assert len(set(symbols)) == len(symbols) == 4


def test_names_in_plots_are_no_markup(verdict: Verdicts) -> None:
    trial = verdict(scenario=HOSTILE, variant=HOSTILE)
    for plot in page_of([trial]).plots:
        assert "<a" not in packed_text(plot.figure)


def packed_text(figure: Any) -> str:
    """Return the texts of a figure."""
    return " ".join(f"{trace['name']} {trace['text']} {trace['x']}" for trace in figure["data"])


def test_versions_are_compared_side_by_side(verdict: Verdicts) -> None:
    trials = [
        verdict(seed, failed, client=client) for seed in range(8) for client, failed in ((OLD, 0), (NEW, 90))
    ]
    specs = {each.trial: new_story(each.trial, seed=each.seed).spec for each in trials}
    named = {each.trial: each.client.partition("@") for each in trials}
    specs = {
        trial: replace(spec, client=replace(spec.client, name=named[trial][0], version=named[trial][2]))
        for trial, spec in specs.items()
    }
    (found,) = comparisons(specs, trials)
    assert (found.old, found.new, found.clear) == (OLD, NEW, 2)
    assert {tuple(change[:2]) for change in found.changes} == {
        ("clearly worse", "acked"),
        ("clearly worse", "given up"),
    }
    (situation,) = found.situations
    old, new = situation.sides
    assert (old.shown["given_up"].value, new.shown["given_up"].value) == ("0%", "9.0%")
    assert new.moved["given_up"] == "▼ worse in 8 of 8" and not old.moved


def test_configurations_are_compared_with_the_default(verdict: Verdicts) -> None:
    trials = [verdict(seed, variant=variant) for seed in range(2) for variant in ("", "patient")]
    specs = {each.trial: new_story(each.trial, seed=each.seed).spec for each in trials}
    (found,) = comparisons(specs, trials)
    assert (found.old, found.new, found.clear) == ("default", "patient", 0)
    assert found.clients == {trials[0].client}


def test_one_client_in_one_configuration_has_no_comparison(verdict: Verdicts) -> None:
    trials = [verdict(seed) for seed in range(2)]
    assert comparisons({each.trial: new_story(each.trial).spec for each in trials}, trials) == []


def test_thresholds_and_clients_left_out_are_told(verdict: Verdicts) -> None:
    record = RunRecord(
        "run", "", Plan(1, ()), 1, {}, [], "completed",
        thresholds=("given_up < 1%", "longest_gap < 5s"),
        left_out=(LeftOut("sarama@1.16", "tool-missing", "Go is not installed"), LeftOut("sarama@1.3", "gone", "no")),
    )  # fmt: skip
    found = outcomes.demanded(record, [verdict(failed=100)])
    assert found.missed and found.met == 1
    assert [each.result.value for each in found.rows] == ["missed", "met"]
    assert outcomes.left_out(record, []) == [
        ("sarama@1.3", "no", 0),
        ("sarama@1.16", "Go is not installed", 0),
    ]


def test_shares_are_shown_with_range_and_interval(verdict: Verdicts) -> None:
    (row,) = outcomes.clients([verdict(1, 10), verdict(2, 30)])
    metric = words.columns([row.outcomes])["given_up"]
    shown = outcomes.shown(metric, row.outcomes.outcomes["given_up"])
    assert (shown.value, shown.spread) == ("2.0%", "1.0–3.0") and shown.interval


def test_different_names_have_different_files() -> None:
    names = [("a",), ("a/",), ("../a",), ("a b",), ("a", "b"), ("a-vs-b",), ("a", "b-vs-c"), ("a-vs-b", "c")]
    found = [file_name(*each) for each in names] + [file_name("x" * 300), file_name("x" * 301)]
    assert len(set(found)) == len(found)
    assert not any("/" in name or name.startswith(".") for name in found)
