"""What other programs read: JUnit, Markdown, JSON lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.outcome import Verdict
from harness.rows import TrialVerdict
from harness.spec import Plan
from harness.store import RunRecord
from reports import exports

RECORD = RunRecord("run-1", "2026-03-01T10:20:30Z", Plan(7, ()), 1, {}, ["kafka-trial", "run"])


def verdict(trial: str, verdict: str, client: str = "c@1", reason: str = "because") -> TrialVerdict:
    return TrialVerdict(trial, client, "local:4.3.1x1", "produce/calm", "idempotent", 7, verdict, reason)


def cases(verdicts: list[TrialVerdict]) -> list[ET.Element]:
    return list(ET.fromstring(exports.junit(RECORD, verdicts)).iter("testcase"))


@pytest.mark.parametrize(
    ("given_verdict", "element"),
    [
        ("pass", None),
        ("fail", "failure"),
        ("unexpected-pass", "failure"),
        ("harness-error", "error"),
        ("inconclusive", "error"),
        ("expected-fail", "skipped"),
        ("not-exercised", "skipped"),
        ("unsupported", "skipped"),
    ],
)
def test_each_verdict_is_junits_own_element(given_verdict: str, element: str | None) -> None:
    (case,) = cases([verdict("one", given_verdict)])
    results = [child for child in case if child.tag != "properties"]
    assert [result.tag for result in results] == ([element] if element else [])
    assert all(result.get("message") == f"{given_verdict}: because" for result in results)


def test_only_a_pass_is_silent() -> None:
    assert set(Verdict) - exports.JUNIT.keys() == {Verdict.PASS}


def test_suites_count_what_they_hold() -> None:
    verdicts = [verdict(str(n), word, f"c@{n % 2}") for n, word in enumerate(Verdict)]
    root = ET.fromstring(exports.junit(RECORD, verdicts))
    for suite in root:
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(attribute, -1)) == len(list(suite.iter(tag)))
        assert int(suite.get("tests", -1)) == len(list(suite.iter("testcase")))
    assert sum(1 for _ in root.iter("testcase")) == len(verdicts)


@given(st.text())
def test_any_text_is_well_formed_xml(words: str) -> None:
    (case,) = cases([verdict("one", "fail", client=words, reason=words)])
    assert case.get("classname") is not None


@given(st.text())
def test_no_reason_breaks_the_table_or_the_list(words: str) -> None:
    text = exports.summary(RECORD, [verdict("one", "fail", client=words, reason=words)], "All agree.")
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert len(rows) == 3
    assert {row.replace("\\|", "").count("|") for row in rows} == {5}
    assert "<" not in text.replace("&lt;", "")


def test_the_summary_is_worst_first_and_bounded() -> None:
    many = [verdict(f"t{n}", "not-exercised") for n in range(exports.MAX_REASONS + 5)]
    text = exports.summary(RECORD, [*many, verdict("bad", "fail"), verdict("good", "pass")], "All agree.")
    items = [line for line in text.splitlines() if line.startswith("- ")]
    assert items[0] == "- ✗ fail `bad`: because"
    assert items[-1] == "- and 6 more"
    assert len(items) == exports.MAX_REASONS + 1
    assert f"✗ fail 1, ○ not-exercised {len(many)}, ✔ pass 1" in text


def test_a_cell_without_a_trial_is_not_run() -> None:
    other = msgspec.structs.replace(verdict("b", "pass", "d@1"), scenario="produce/latency")
    text = exports.summary(RECORD, [verdict("a", "pass"), other], "All agree.")
    assert "| produce/calm | idempotent | ✔ pass | not run |" in text


def test_json_lines_are_the_verdicts(story: Callable[..., Any]) -> None:
    verdicts = [story(f"t{n}").judgement() for n in range(3)]
    assert msgspec.json.Decoder(TrialVerdict).decode_lines(exports.results(verdicts)) == verdicts
