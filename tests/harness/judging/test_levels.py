"""The level of a run: differences count, or are listed beside the verdict that the trial has without them."""

from __future__ import annotations

import pytest

from harness.judging.fingerprint import causes
from harness.judging.judge import judge
from harness.model.rows import Finding, Reason
from harness.model.verdicts import Level
from harness.plugins.check import NotExercised
from tests.harness.judging.one_record import FOUND, R1, R2, evidence, saying, scenario

DIFFERS = [Finding("gave-up-early", "1 record given up", level="SHOULD")]
CHOSEN = NotExercised(Reason("setting-of-yours", message="not exercised: retries=3 is your setting"))


@pytest.mark.parametrize(
    ("checks", "verdicts"),
    [
        ({"a": saying(DIFFERS, R2), "b": saying([], R1)}, ("differs", "pass")),
        ({"a": saying(DIFFERS, R2), "b": saying(FOUND, R1)}, ("fail", "fail")),
        ({"a": saying(DIFFERS, R2)}, ("differs", "not-exercised")),
    ],
    ids=["a MUST held", "a MUST failed", "nothing else"],
)
def test_with_must_a_difference_decides_no_verdict(checks, verdicts):
    judged = [judge(evidence(), scenario(), checks, level) for level in (Level.SHOULD, Level.MUST)]

    assert tuple(verdict.verdict for verdict in judged) == verdicts
    for verdict in judged:
        assert [each.verdict for each in verdict.requirements if each.id == "R-2"] == ["differs"]
        assert ("gave-up-early", "differs") in {(cause.anomaly, cause.verdict) for cause in causes([verdict])}


def test_a_pass_counts_the_differences_that_it_leaves_out():
    checks = {"a": saying(DIFFERS, R2), "b": saying([], R1)}
    verdict = judge(evidence(), scenario(3), checks, Level.MUST)

    assert verdict.reason == "1 requirement held, 1 difference not counted; 3 things were seen"


def test_a_setting_of_the_user_leaves_other_requirements_as_they_are():
    checks = {"a": saying(CHOSEN, R1), "b": saying([], R2)}
    verdict = judge(evidence(), scenario(3), checks)

    assert (verdict.verdict, verdict.reason) == (
        "pass",
        "1 requirement held, 1 not exercised; 3 things were seen",
    )
    assert [(each.id, each.verdict) for each in verdict.requirements] == [
        ("R-1", "not-exercised"),
        ("R-2", "pass"),
    ]


def test_a_setting_of_the_user_is_the_reason_if_nothing_else_was_judged():
    verdict = judge(evidence(), scenario(), {"a": saying(CHOSEN, R1)})

    assert (verdict.verdict, verdict.code) == ("not-exercised", "setting-of-yours")
    assert verdict.reason == "not exercised: retries=3 is your setting"
