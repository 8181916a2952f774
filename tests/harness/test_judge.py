"""A pass has to be earned: crashed checks, idle faults, nothing checked, and what outranks what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from harness.capture.rows import By, TcpFact, What
from harness.check import Check, Inconclusive, Requirement, Unsupported
from harness.contract import OpComplete, OpInvoke, ShutdownComplete, StartupComplete
from harness.evidence import Evidence
from harness.judge import judge
from harness.outcome import SEVERITY, Guarantee, Level, Verdict
from harness.rows import (
    CaptureRecord,
    Ending,
    FaultRow,
    Finding,
    Frame,
    FrameKind,
    LogRecord,
    Phases,
    ProducePart,
    Reason,
    TrialRecord,
)
from harness.scenario import Consequence, Scenario
from harness.spec import ClientRef, Elapsed, FaultSpec, TrialSpec, Workload
from harness.value import Identity, encode

#: Of a kind that is not installed: its hits stand for its effect.
FAULT = FaultSpec("shaking", Elapsed(100), 50)
BITING = FaultRow(0, FAULT, (1, 2), (1, 2), hits=3)
VALUE = encode(Identity("run", "topic", "p1", 0), 60)


def evidence(
    faults: Iterable[FaultRow] = (BITING,),
    guarantee: Guarantee = Guarantee.IDEMPOTENT,
    ending: Ending = Ending.COMPLETE,
    reason: str = "",
    not_set: dict[str, str] | None = None,
    outcome: str = "ok",
    records: int = 1,
    crc_ok: bool = True,
) -> Evidence:
    """One record, acknowledged and in the log, under one fault."""
    spec = TrialSpec(
        trial="t",
        client=ClientRef("c", "1"),
        broker="b:1",
        scenario="s",
        guarantee=guarantee,
        seed=7,
        workload=Workload(records=records),
        faults=tuple(row.spec for row in faults),
        config={},
    )
    client = {"client_version": "1"}
    record = TrialRecord(
        spec, "run", "topic", 0, Phases(1, 2, 3, 4), ending, reason, client=client, not_set=not_set or {}
    )
    said = OpComplete(
        seq=2,
        mono_ns=2,
        wall_ns=0,
        op="send",
        id=1,
        outcome=[outcome],
        error=[None],
        invoke_ns=[1],
        complete_ns=[2],
        records=[0],
        partition=[0],
        offset=[0],
    )
    up = StartupComplete(
        seq=0,
        mono_ns=0,
        wall_ns=0,
        client="c",
        client_version="1",
        language="none",
        features=["producer"],
        contract_version=2,
    )
    invoked = OpInvoke(seq=1, mono_ns=1, wall_ns=0, op="send", id=1, first=0, count=1)
    history = (up, invoked, said, ShutdownComplete(seq=3, mono_ns=3, wall_ns=0))
    kept = LogRecord("topic", 0, 0, 0, 0, -1, -1, -1, False, crc_ok, "k0", VALUE)
    return Evidence(record, history, connection((1,)), tuple(faults), (kept,))


def connection(correlation_ids: Iterable[int]) -> tuple[Frame, ...]:
    """A connection with these Produce requests, of one record each."""
    one = ProducePart("topic", 0, records=1)
    return (
        Frame(10, 0, 1, 1, FrameKind.OPEN),
        *(
            Frame(10 + n, 0, 1, 1, FrameKind.REQUEST, 300, 0, "Produce", correlation_id=n, produce=(one,))
            for n in correlation_ids
        ),
        Frame(90, 0, 1, 1, FrameKind.CLOSE, closed_by="client"),
    )


def captured(
    given: Evidence, *, told: Iterable[int], seen: Iterable[int], capture: CaptureRecord | None = None
) -> Evidence:
    """A connection of three requests, as the witness ``told`` them and as the capture has ``seen`` them."""
    told, seen = tuple(told), tuple(seen)
    frames = connection(told)
    tcp = (
        TcpFact(1, 1, 40_001, What.SYN, By.CLIENT, 1),
        TcpFact(2, 1, 40_001, What.SYN, By.PROXY, 1),
        *(TcpFact(9 + n, 1, 40_001, What.FRAME, By.CLIENT, 1, n, 300) for n in seen),
        TcpFact(80, 1, 40_001, What.FIN, By.CLIENT, 1),
        TcpFact(81, 1, 40_001, What.FIN, By.PROXY, 1),
    )
    capture = capture or CaptureRecord(packets=9, frames=len(seen))
    log = given.log if told else ()
    record = structs.replace(given.record, capture=capture)
    return replace(given, record=record, frames=frames, tcp=tcp, log=log)


@pytest.mark.parametrize(
    ("told", "seen", "by", "n"),
    [((1, 3), (1, 2, 3), "capture", 2), ((1, 2, 3), (1, 3), "witness", 2), ((), (1, 2, 3), "capture", 1)],
)
def test_a_frame_that_only_one_observer_has_is_a_harness_error_that_names_it(told, seen, by, n):
    verdict = judge(captured(evidence(()), told=told, seen=seen), scenario(), {"c": saying([])})

    assert verdict.verdict == "harness-error"
    assert verdict.reason.startswith(
        f"witness and capture disagree: only the {by} has the request with correlation id {n} (300 bytes; port"
    )
    assert verdict.reason.endswith(", and 2 more") == (not told)


@pytest.mark.parametrize(
    "capture",
    [
        CaptureRecord(lacks="no right"),
        CaptureRecord(packets=9, frames=3, dropped=1),
        CaptureRecord(packets=9, frames=3, cut=1),
        CaptureRecord(packets=9, frames=3, unread=1),
        CaptureRecord(packets=9),
    ],
)
def test_a_capture_that_is_not_whole_accuses_nobody(capture):
    accused = captured(evidence(), told=(1, 3), seen=(1, 2, 3), capture=capture)
    assert judge(accused, scenario(), {"c": saying([])}) == judge(evidence(), scenario(), {"c": saying([])})


def test_observers_that_agree_change_nothing():
    agreed = captured(evidence(), told=(1, 2, 3), seen=(1, 2, 3))
    assert judge(agreed, scenario(), {"c": saying([])}) == judge(evidence(), scenario(), {"c": saying([])})


def scenario(count: int = 1) -> Scenario:
    return Scenario("s", "", lambda dice: (), lambda evidence: Consequence(count, "things were seen"))


def saying(
    answer: list[Finding] | Exception, *requirements: Requirement, guarantees=frozenset(Guarantee)
) -> Check:
    def find(evidence: Evidence) -> list[Finding]:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Check("c", "", requirements or (R1,), guarantees, frozenset(), "m", find)


R1, R2 = Requirement("R-1", Level.MUST), Requirement("R-2", Level.SHOULD)
FOUND = [Finding("lost", "1 record is gone")]
ANSWERS = {
    Verdict.PASS: [],
    Verdict.FAIL: FOUND,
    Verdict.DIFFERS: [Finding("unsplit", "2 records failed together", level="SHOULD")],
    Verdict.INCONCLUSIVE: Inconclusive(Reason("stalled", message="the machine stalled")),
    Verdict.UNSUPPORTED: Unsupported(Reason("not-claimed", message="not claimed")),
    Verdict.HARNESS_ERROR: ZeroDivisionError("division by zero"),
}


def test_a_pass_says_what_was_seen():
    verdict = judge(evidence(), scenario(41), {"c": saying([], R1, R2)})

    assert (verdict.verdict, verdict.reason) == ("pass", "2 requirements held; 41 things were seen")
    assert [(r.id, r.level, r.verdict) for r in verdict.requirements] == [
        ("R-1", "MUST", "pass"),
        ("R-2", "SHOULD", "pass"),
    ]
    assert (verdict.delivery.sent, verdict.delivery.acked, verdict.delivery.in_log) == (1, 1, 1)
    assert (verdict.faults[0].kind, verdict.faults[0].hits) == ("shaking", 3)


def test_a_finding_that_names_a_requirement_violates_no_other():
    """A check of many behaviours knows which one was broken; the others held."""
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
def test_a_finding_fails_only_where_it_and_its_requirement_are_a_must(requirement, level, verdict):
    found = Finding("late", "3 records came late", requirement=requirement, level=level)
    told = judge(evidence(), scenario(), {"c": saying([found], R1, R2)})

    assert (told.verdict, told.reason) == (verdict, "late: 3 records came late")
    assert {r.id: r.verdict for r in told.requirements} == {"R-1": "pass", "R-2": "pass"} | {
        requirement: verdict
    }


def test_a_failure_is_told_before_a_difference():
    found = [Finding("late", "late", level="SHOULD"), Finding("lost", "lost")]
    assert judge(evidence(), scenario(), {"c": saying(found)}).code == "lost"


def test_a_requirement_whose_situation_did_not_arise_did_not_hold():
    never, twice = (Requirement(f"R-{n}", Level.MUST, arises=lambda _, n=n: n) for n in (0, 2))
    told = judge(evidence(), scenario(), {"c": saying([], never, twice)})

    assert (told.verdict, told.reason) == ("pass", "1 requirement held, 1 not exercised; 1 things were seen")
    assert [(r.id, r.verdict) for r in told.requirements] == [("R-0", "not-exercised"), ("R-2", "pass")]
    alone = judge(evidence(), scenario(), {"c": saying([], never)})
    assert (alone.verdict, alone.code) == ("not-exercised", "no-situation")


def test_a_situation_that_one_check_saw_is_enough():
    seen, unseen = (Requirement("R-1", Level.MUST, arises=lambda _, n=n: n) for n in (1, 0))
    told = judge(evidence(), scenario(), {"c": saying([], unseen), "d": saying([], seen)})
    assert [(r.id, r.verdict) for r in told.requirements] == [("R-1", "pass")]


def test_a_situation_that_cannot_be_counted_is_a_harness_error():
    def crash(evidence: Evidence) -> int:
        raise KeyError("no such frame")

    told = judge(evidence(), scenario(), {"c": saying([], Requirement("R-1", Level.MUST, arises=crash))})
    assert (told.verdict, told.code) == ("harness-error", "check-crashed")


def test_of_two_requirements_each_is_told_its_own():
    mine = [Finding("sequence", f"broke {one.id}", requirement=one.id) for one in (R1, R2)]
    verdict = judge(evidence(), scenario(), {"c": saying(mine, R1, R2)})

    assert (verdict.verdict, verdict.reason) == ("fail", "sequence: broke R-1")
    assert [r.findings for r in verdict.requirements] == [(mine[0],), (mine[1],)]


def test_a_finding_of_a_requirement_that_its_check_does_not_judge_is_our_error():
    strange = Finding("sequence", "was odd", requirement="R-9")
    verdict = judge(evidence(), scenario(), {"c": saying([strange], R1)})

    assert (verdict.verdict, verdict.reason) == (
        "harness-error",
        "c: the check found something about R-9, which it does not judge",
    )


def test_a_requirement_that_does_not_bind_under_the_guarantee_fails_nothing():
    elsewhere = Requirement("R-2", Level.SHOULD, frozenset({Guarantee.TRANSACTIONAL}))
    of_it = Finding("sequence", "was odd", requirement="R-2")
    verdict = judge(evidence(), scenario(), {"c": saying([of_it], R1, elsewhere)})

    assert [(r.id, r.verdict) for r in verdict.requirements] == [("R-1", "pass")]


def test_a_finding_fails_and_is_quoted():
    verdict = judge(evidence(), scenario(), {"c": saying(FOUND), "d": saying([], R2)})

    assert (verdict.verdict, verdict.reason) == ("fail", "lost: 1 record is gone")
    assert [(r.verdict, r.findings) for r in verdict.requirements] == [("fail", tuple(FOUND)), ("pass", ())]


def test_a_check_that_crashes_is_a_harness_error_that_names_it():
    verdict = judge(evidence(), scenario(), {"c": saying(ZeroDivisionError("division by zero"))})

    assert verdict.verdict == "harness-error"
    assert verdict.reason == "c: the check crashed: ZeroDivisionError: division by zero"


def test_a_scenario_that_cannot_account_for_its_fault_is_a_harness_error():
    def crash(evidence: Evidence) -> Consequence:
        raise KeyError("no such frame")

    broken = Scenario("s", "", lambda dice: (), crash)
    verdict = judge(evidence(), broken, {"c": saying([])})

    assert (verdict.verdict, verdict.requirements) == ("harness-error", ())
    assert "no such frame" in verdict.reason


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((FaultRow(0, FAULT, (1, 2), None),), "fault 0 (shaking) never took effect"),
        (
            (FaultRow(0, FAULT, (1, 2), (1, 2), hits=0),),
            "fault 0 (shaking) had no effect: 0 frames or connections were in its way; this kind tells no effect",
        ),
    ],
)
def test_a_fault_that_did_not_bite_is_never_a_pass(rows, reason):
    verdict = judge(evidence(rows), scenario(), {"c": saying([])})

    assert (verdict.verdict, verdict.reason) == ("not-exercised", reason)
    assert [r.verdict for r in verdict.requirements] == ["not-exercised"]


def test_evidence_that_is_not_whole_is_a_harness_error_before_anything_else():
    cut = replace(evidence(crc_ok=False), faults=())
    told = judge(cut, scenario(0), {"c": saying(FOUND)})
    assert (told.verdict, told.code, told.requirements) == ("harness-error", "faults-incomplete", ())
    ended = replace(cut, record=structs.replace(cut.record, ending=Ending.UNSUPPORTED, code="not-offered"))
    assert (judge(ended, scenario(0), {}).verdict, judge(ended, scenario(0), {}).code) == (
        "unsupported",
        "not-offered",
    )


def test_a_consequence_that_was_not_seen_is_never_a_pass():
    verdict = judge(evidence(), scenario(0), {"c": saying([])})

    assert (verdict.verdict, verdict.reason) == ("not-exercised", "0 things were seen")


def test_a_client_that_acknowledged_nothing_is_never_a_pass():
    verdict = judge(evidence(outcome="info"), scenario(), {"c": saying([])})

    assert (verdict.verdict, verdict.reason) == ("not-exercised", "the client acknowledged nothing")


def test_a_client_that_was_not_handed_all_records_is_never_a_pass():
    verdict = judge(evidence(records=3), scenario(), {"c": saying([], R1)})
    assert (verdict.verdict, verdict.reason) == ("inconclusive", "2 records never handed to the client")


def test_a_batch_that_the_disk_damaged_is_not_held_against_the_client():
    verdict = judge(evidence(crc_ok=False), scenario(), {"c": saying([], R1)})
    assert (verdict.verdict, verdict.reason) == (
        "harness-error",
        "1 batches in the broker's log do not match their CRC",
    )


def test_a_violation_outranks_a_fault_that_did_not_bite():
    assert judge(evidence(()), scenario(0), {"c": saying(FOUND)}).verdict == "fail"


LATE = [Finding("late", "3 records came late", level="SHOULD")]


def test_a_difference_outranks_a_fault_that_did_not_bite_and_is_told_with_it():
    told = judge(evidence(), scenario(0), {"c": saying(LATE), "d": saying([], R2)})

    assert (told.verdict, told.code) == ("differs", "late")
    assert told.reason == "late: 3 records came late; not exercised: 0 things were seen"
    assert {each.id: each.verdict for each in told.requirements} == {"R-1": "differs", "R-2": "not-exercised"}


@pytest.mark.parametrize(("found", "verdict"), [(LATE, "not-exercised"), (FOUND, "fail")])
def test_a_client_that_acknowledged_nothing_fails_or_was_not_exercised(found, verdict):
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
def test_nothing_checked_is_never_a_pass(checks):
    verdict = judge(evidence(), scenario(), checks)

    assert (verdict.verdict, verdict.requirements) == ("not-exercised", ())
    assert "no check" in verdict.reason


def test_a_clause_binds_under_its_guarantees_only():
    clause = Requirement("R-2", Level.MUST, frozenset({Guarantee.AT_LEAST_ONCE}))
    checks = {"c": saying([], R1, clause)}

    assert [r.id for r in judge(evidence(), scenario(), checks).requirements] == ["R-1"]
    bound = judge(evidence(guarantee=Guarantee.AT_LEAST_ONCE), scenario(), checks)
    assert [r.id for r in bound.requirements] == ["R-1", "R-2"]


@given(first=st.sampled_from(sorted(ANSWERS)), second=st.sampled_from(sorted(ANSWERS)))
def test_the_worst_opinion_on_a_requirement_is_its_verdict(first, second):
    checks = {"c": saying(ANSWERS[first]), "d": saying(ANSWERS[second])}
    verdict = judge(evidence(), scenario(), checks)

    assert verdict.requirements[0].verdict == min(first, second, key=SEVERITY.index)
    assert verdict.verdict == verdict.requirements[0].verdict


@given(answers=st.tuples(*[st.sampled_from(sorted(ANSWERS))] * 2))
def test_a_trial_is_as_bad_as_its_worst_requirement_but_for_what_is_not_claimed(answers):
    checks = {"c": saying(ANSWERS[answers[0]], R1), "d": saying(ANSWERS[answers[1]], R2)}
    # R-2 is a SHOULD, which differs at worst.
    given_of_r2 = Verdict.DIFFERS if answers[1] is Verdict.FAIL else answers[1]
    made = [answers[0], given_of_r2]
    claimed = [answer for answer in made if answer is not Verdict.UNSUPPORTED]

    assert judge(evidence(), scenario(), checks).verdict == min(claimed or made, key=SEVERITY.index)


@pytest.mark.parametrize(
    ("ending", "verdict"),
    [(Ending.HARNESS_ERROR, "harness-error"), (Ending.UNSUPPORTED, "unsupported")],
)
def test_a_trial_that_was_not_collected_whole_is_not_judged(ending, verdict):
    told = judge(evidence(ending=ending, reason="the broker died"), scenario(), {"c": saying(FOUND)})

    assert (told.verdict, told.reason, told.requirements) == (verdict, "the broker died", ())
    assert told.delivery.sent == 0


@pytest.mark.parametrize(
    ("setting", "guarantee", "verdict"),
    [
        ("enable.idempotence", Guarantee.IDEMPOTENT, "unsupported"),
        ("enable.idempotence", Guarantee.AT_LEAST_ONCE, "pass"),
        ("acks", Guarantee.AT_LEAST_ONCE, "unsupported"),
        ("linger.ms", Guarantee.IDEMPOTENT, "pass"),
    ],
)
def test_a_promise_that_the_client_cannot_be_asked_for_is_unsupported(setting, guarantee, verdict):
    told = evidence(guarantee=guarantee, not_set={setting: "it has none"})

    assert judge(told, scenario(), {"c": saying([])}).verdict == verdict
