"""The conditions of a pass, the verdicts without one, and the order of their severity."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from harness.judging.judge import judge
from harness.model.evidence import Evidence
from harness.model.rows import Ending, FaultRow, Finding, Reason
from harness.model.verdicts import SEVERITY, Guarantee, Level, Verdict
from harness.plugins.check import Inconclusive, Requirement, Unsupported
from harness.plugins.scenario import Consequence, Scenario
from tests.harness.judging.one_record import FAULT, FOUND, R1, R2, evidence, saying, scenario

ANSWERS = {
    Verdict.PASS: [],
    Verdict.FAIL: FOUND,
    Verdict.DIFFERS: [Finding("oversized-batch-not-split", "2 records failed together", level="SHOULD")],
    Verdict.INCONCLUSIVE: Inconclusive(Reason("stalled", message="the machine stalled")),
    Verdict.UNSUPPORTED: Unsupported(Reason("not-claimed", message="not claimed")),
    Verdict.HARNESS_ERROR: ZeroDivisionError("division by zero"),
}


def test_the_reason_of_a_pass_says_what_was_seen():
    verdict = judge(evidence(), scenario(41), {"c": saying([], R1, R2)})

    assert (verdict.verdict, verdict.reason) == ("pass", "2 requirements held; 41 things were seen")
    assert [(r.id, r.level, r.verdict) for r in verdict.requirements] == [
        ("R-1", "MUST", "pass"),
        ("R-2", "SHOULD", "pass"),
    ]
    assert [verdict.counts[name] for name in ("sent", "acked", "in_log")] == [1, 1, 1]
    assert (verdict.faults[0].kind, verdict.faults[0].hits) == ("shaking", 3)


def test_a_crashed_check_is_a_harness_error():
    verdict = judge(evidence(), scenario(), {"c": saying(ZeroDivisionError("division by zero"))})

    assert verdict.verdict == "harness-error"
    assert verdict.reason == "c: the check crashed: ZeroDivisionError: division by zero"


def test_a_crashed_consequence_is_a_harness_error():
    def crash(evidence: Evidence) -> Consequence:
        raise KeyError("frame-77")

    broken = Scenario("s", "", lambda dice: (), crash)
    verdict = judge(evidence(), broken, {"c": saying([])})

    assert (verdict.verdict, verdict.requirements) == ("harness-error", ())
    assert "frame-77" in verdict.reason


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((FaultRow(0, FAULT, (1, 2), None),), "fault 0 (shaking) never took effect"),
        (
            (FaultRow(0, FAULT, (1, 2), (1, 2), hits=0),),
            "fault 0 (shaking) had no effect: 0 frames or connections were in its reach; this kind measures no effect",
        ),
    ],
)
def test_a_fault_without_effect_is_not_exercised(rows, reason):
    verdict = judge(evidence(rows), scenario(), {"c": saying([])})

    assert (verdict.verdict, verdict.reason) == ("not-exercised", reason)
    assert [r.verdict for r in verdict.requirements] == ["not-exercised"]


def test_incomplete_evidence_is_a_harness_error_before_anything_else():
    cut = replace(evidence(crc_ok=False), faults=())
    told = judge(cut, scenario(0), {"c": saying(FOUND)})
    assert (told.verdict, told.code, told.requirements) == ("harness-error", "faults-incomplete", ())
    ended = replace(cut, record=structs.replace(cut.record, ending=Ending.UNSUPPORTED, code="not-offered"))
    assert (judge(ended, scenario(0), {}).verdict, judge(ended, scenario(0), {}).code) == (
        "unsupported",
        "not-offered",
    )


def test_an_unseen_consequence_is_not_exercised():
    verdict = judge(evidence(), scenario(0), {"c": saying([])})

    assert (verdict.verdict, verdict.reason) == ("not-exercised", "0 things were seen")


def test_a_trial_without_acknowledgements_is_not_exercised():
    verdict = judge(evidence(outcome="info"), scenario(), {"c": saying([])})

    assert (verdict.verdict, verdict.reason) == ("not-exercised", "no record was acknowledged")


def test_a_client_that_was_not_given_all_records_is_inconclusive():
    verdict = judge(evidence(records=3), scenario(), {"c": saying([], R1)})
    assert (verdict.verdict, verdict.reason) == ("inconclusive", "2 records never handed to the client")


def test_a_batch_damaged_on_disk_is_a_harness_error():
    verdict = judge(evidence(crc_ok=False), scenario(), {"c": saying([], R1)})
    assert (verdict.verdict, verdict.reason) == (
        "harness-error",
        "the CRC does not match in 1 batch of the broker's log",
    )


def test_a_violation_outranks_a_fault_without_effect():
    assert judge(evidence(()), scenario(0), {"c": saying(FOUND)}).verdict == "fail"


LATE = [Finding("late", "3 records came late", level="SHOULD")]


def test_a_difference_outranks_an_unseen_consequence_and_names_it():
    told = judge(evidence(), scenario(0), {"c": saying(LATE), "d": saying([], R2)})

    assert (told.verdict, told.code) == ("differs", "late")
    assert told.reason == "late: 3 records came late; not exercised: 0 things were seen"
    assert {each.id: each.verdict for each in told.requirements} == {"R-1": "differs", "R-2": "not-exercised"}


@pytest.mark.parametrize(("found", "verdict"), [(LATE, "not-exercised"), (FOUND, "fail")])
def test_without_acknowledgements_a_failure_counts_and_a_difference_does_not(found, verdict):
    told = judge(evidence(outcome="info"), scenario(), {"c": saying(found)})

    assert told.verdict == verdict
    assert verdict == "fail" or told.code == "nothing-acknowledged"


@pytest.mark.parametrize(
    "checks",
    [
        {},
        {"c": saying(FOUND, guarantees=frozenset({Guarantee.AT_LEAST_ONCE}))},
        {"c": saying(FOUND, Requirement("R-9", Level.MUST, frozenset({Guarantee.AT_LEAST_ONCE})))},
    ],
    ids=["no check", "another guarantee", "a requirement of another guarantee"],
)
def test_a_trial_without_a_check_is_not_exercised(checks):
    verdict = judge(evidence(), scenario(), checks)

    assert (verdict.verdict, verdict.requirements) == ("not-exercised", ())
    assert verdict.code == "no-check"


@given(first=st.sampled_from(sorted(ANSWERS)), second=st.sampled_from(sorted(ANSWERS)))
def test_the_worst_result_of_its_checks_is_the_verdict_of_a_requirement(first, second):
    checks = {"c": saying(ANSWERS[first]), "d": saying(ANSWERS[second])}
    verdict = judge(evidence(), scenario(), checks)

    assert verdict.requirements[0].verdict == min(first, second, key=SEVERITY.index)
    assert verdict.verdict == verdict.requirements[0].verdict


@given(answers=st.tuples(*[st.sampled_from(sorted(ANSWERS))] * 2))
def test_the_worst_claimed_requirement_is_the_verdict_of_a_trial(answers):
    checks = {"c": saying(ANSWERS[answers[0]], R1), "d": saying(ANSWERS[answers[1]], R2)}
    # R-2 is a SHOULD, so that its worst verdict is "differs".
    given_of_r2 = Verdict.DIFFERS if answers[1] is Verdict.FAIL else answers[1]
    made = [answers[0], given_of_r2]
    claimed = [answer for answer in made if answer is not Verdict.UNSUPPORTED]

    assert judge(evidence(), scenario(), checks).verdict == min(claimed or made, key=SEVERITY.index)


@pytest.mark.parametrize(
    ("ending", "verdict"),
    [(Ending.HARNESS_ERROR, "harness-error"), (Ending.UNSUPPORTED, "unsupported")],
)
def test_an_incompletely_collected_trial_is_not_judged(ending, verdict):
    told = judge(evidence(ending=ending, reason="the broker died"), scenario(), {"c": saying(FOUND)})

    assert (told.verdict, told.reason, told.requirements) == (verdict, "the broker died", ())
    assert told.counts == {}


@pytest.mark.parametrize(
    ("setting", "guarantee", "verdict"),
    [
        ("enable.idempotence", Guarantee.IDEMPOTENT, "unsupported"),
        ("enable.idempotence", Guarantee.AT_LEAST_ONCE, "pass"),
        ("acks", Guarantee.AT_LEAST_ONCE, "unsupported"),
        ("linger.ms", Guarantee.IDEMPOTENT, "pass"),
    ],
)
def test_a_guarantee_without_its_setting_is_unsupported(setting, guarantee, verdict):
    told = evidence(guarantee=guarantee, not_set={setting: "it has none"})

    assert judge(told, scenario(), {"c": saying([])}).verdict == verdict
