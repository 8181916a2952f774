"""A finding counts against its requirement if that binds and its situation arose."""

from __future__ import annotations

import pytest

from harness.judging.judge import judge
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Requirement
from tests.harness.judging.one_record import FOUND, R1, R2, evidence, saying, scenario


def test_a_finding_violates_only_the_requirement_it_names():
    """A check of many behaviours names the broken one, and the others hold."""
    of_one = Finding("sequence", "was sent under other numbers", requirement="R-1")
    verdict = judge(evidence(), scenario(), {"c": saying([of_one], R1, R2)})

    assert (verdict.verdict, verdict.reason) == ("fail", "sequence: was sent under other numbers")
    assert (verdict.code, verdict.params) == ("sequence", {})
    assert [(r.id, r.verdict, r.findings) for r in verdict.requirements] == [
        ("R-1", "fail", (of_one,)),
        ("R-2", "pass", ()),
    ]


@pytest.mark.parametrize(
    ("requirement", "level", "verdict"),
    [("R-1", "MUST", "fail"), ("R-1", "SHOULD", "differs"), ("R-2", "MUST", "differs")],
)
def test_a_finding_fails_only_if_it_and_its_requirement_are_a_must(requirement, level, verdict):
    found = Finding("late", "3 records came late", requirement=requirement, level=level)
    told = judge(evidence(), scenario(), {"c": saying([found], R1, R2)})

    assert (told.verdict, told.reason) == (verdict, "late: 3 records came late")
    assert {r.id: r.verdict for r in told.requirements} == {"R-1": "pass", "R-2": "pass"} | {
        requirement: verdict
    }


def test_a_failure_is_reported_before_a_difference():
    found = [Finding("late", "late", level="SHOULD"), Finding("lost", "lost")]
    assert judge(evidence(), scenario(), {"c": saying(found)}).code == "lost"


def test_a_requirement_whose_situation_did_not_arise_is_not_exercised():
    never, twice = (Requirement(f"R-{n}", Level.MUST, arises=lambda _, n=n: n) for n in (0, 2))
    told = judge(evidence(), scenario(), {"c": saying([], never, twice)})

    assert (told.verdict, told.reason) == ("pass", "1 requirement held, 1 not exercised; 1 things were seen")
    assert [(r.id, r.verdict) for r in told.requirements] == [("R-0", "not-exercised"), ("R-2", "pass")]
    alone = judge(evidence(), scenario(), {"c": saying([], never)})
    assert (alone.verdict, alone.code) == ("not-exercised", "no-situation")


def test_a_situation_seen_by_one_check_is_enough():
    seen, unseen = (Requirement("R-1", Level.MUST, arises=lambda _, n=n: n) for n in (1, 0))
    told = judge(evidence(), scenario(), {"c": saying([], unseen), "d": saying([], seen)})
    assert [(r.id, r.verdict) for r in told.requirements] == [("R-1", "pass")]


def test_a_crash_while_counting_a_situation_is_a_harness_error():
    def crash(evidence: Evidence) -> int:
        raise KeyError("no such frame")

    told = judge(evidence(), scenario(), {"c": saying([], Requirement("R-1", Level.MUST, arises=crash))})
    assert (told.verdict, told.code) == ("harness-error", "check-crashed")


def test_each_requirement_has_its_own_findings():
    mine = [Finding("sequence", f"broke {one.id}", requirement=one.id) for one in (R1, R2)]
    verdict = judge(evidence(), scenario(), {"c": saying(mine, R1, R2)})

    assert (verdict.verdict, verdict.reason) == ("fail", "sequence: broke R-1")
    assert [r.findings for r in verdict.requirements] == [(mine[0],), (mine[1],)]


def test_a_finding_of_an_unjudged_requirement_is_a_harness_error():
    strange = Finding("sequence", "was odd", requirement="R-9")
    verdict = judge(evidence(), scenario(), {"c": saying([strange], R1)})

    assert (verdict.verdict, verdict.reason) == (
        "harness-error",
        "c: the check found something about R-9, which it does not judge",
    )


def test_a_requirement_of_another_guarantee_is_not_judged():
    elsewhere = Requirement("R-2", Level.SHOULD, frozenset({Guarantee.TRANSACTIONAL}))
    of_it = Finding("sequence", "was odd", requirement="R-2")
    verdict = judge(evidence(), scenario(), {"c": saying([of_it], R1, elsewhere)})

    assert [(r.id, r.verdict) for r in verdict.requirements] == [("R-1", "pass")]


def test_the_reason_of_a_failure_quotes_its_finding():
    verdict = judge(evidence(), scenario(), {"c": saying(FOUND), "d": saying([], R2)})

    assert (verdict.verdict, verdict.reason) == ("fail", "lost: 1 record is gone")
    assert [(r.verdict, r.findings) for r in verdict.requirements] == [("fail", tuple(FOUND)), ("pass", ())]


def test_a_requirement_binds_under_its_guarantees_only():
    clause = Requirement("R-2", Level.MUST, frozenset({Guarantee.AT_LEAST_ONCE}))
    checks = {"c": saying([], R1, clause)}

    assert [r.id for r in judge(evidence(), scenario(), checks).requirements] == ["R-1"]
    bound = judge(evidence(guarantee=Guarantee.AT_LEAST_ONCE), scenario(), checks)
    assert [r.id for r in bound.requirements] == ["R-1", "R-2"]
