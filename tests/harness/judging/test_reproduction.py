"""Whether an attempt reproduced a stored verdict: the same verdict, and findings with the same fingerprints."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness.judging.reproduction import compared
from harness.model.rows import Availability, Finding, RequirementVerdict, TrialVerdict
from harness.model.spec import ClientRef


def verdict(said: str, *anomalies: str, errors: tuple[str, ...] = (), **more: object) -> TrialVerdict:
    """Return a verdict with a finding for each anomaly, which lists these errors."""
    found = tuple(Finding(name, f"{name} happened", params={"errors": errors}) for name in anomalies)
    requirements = (RequirementVerdict("E2E-DEL-01", "MUST", said, found),) if found else ()
    given = {"reason": said, "requirements": requirements, **more}
    return TrialVerdict("t", str(ClientRef("c", "1")), "b", "s", "idempotent", 1, said, **given)


@pytest.mark.parametrize(
    ("stored", "again", "missing", "new"),
    [
        (verdict("fail", "lost"), verdict("fail", "lost"), [], []),
        (verdict("pass"), verdict("pass"), [], []),
        (verdict("expected-fail", "lost"), verdict("fail", "lost"), [], []),
        (verdict("fail", "lost", errors=("A", "B")), verdict("fail", "lost", errors=("B", "C")), [], []),
        (verdict("fail", "lost"), verdict("fail", "duplicate"), ["lost"], ["duplicate"]),
        (verdict("fail", "lost"), verdict("fail", "duplicate", "lost"), [], ["duplicate"]),
        (verdict("fail", "lost", errors=("A",)), verdict("fail", "lost", errors=("C",)), ["lost"], ["lost"]),
    ],
    ids=["same", "pass", "known", "shared error", "another", "one more", "other error"],
)
def test_findings_are_compared_by_fingerprint(stored, again, missing, new) -> None:
    told = compared(stored, replace(again, trial="t-again2"))
    assert told.trial == "t-again2" and told.verdict == again.verdict
    assert ([each.code for each in told.missing], [each.code for each in told.new]) == (missing, new)
    assert told.reproduced == (not (missing or new))


def test_another_verdict_is_no_reproduction() -> None:
    assert not compared(verdict("fail", "lost"), verdict("pass")).reproduced
    assert not compared(verdict("pass"), verdict("inconclusive")).reproduced


def test_counts_that_differ_are_listed_and_decide_nothing() -> None:
    stored = verdict("fail", "lost", counts={"lost": 3, "sent": 9}, availability=Availability(9, 9))
    again = verdict("fail", "lost", counts={"lost": 4, "sent": 9}, availability=Availability(9, 8))
    told = compared(stored, again)
    assert told.reproduced and told.counts == {"lost": (3, 4), "acked": (9, 8)}
