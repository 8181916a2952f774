"""A budget says whether another trial may begin, and if not, why."""

from __future__ import annotations

from harness.model.rows import TrialVerdict
from harness.running.budget import FAILURES, TIME, Budget


def verdict(word: str) -> TrialVerdict:
    return TrialVerdict("t", "c@1", "b:1", "s", "idempotent", 1, word, "")


def test_an_unlimited_budget_is_never_used_up():
    unlimited = Budget()
    for _ in range(100):
        unlimited.count(verdict("fail"))
    assert unlimited.used_up() is None


def test_only_failures_are_counted():
    two = Budget(max_failures=2)
    for word in ("pass", "fail", "inconclusive", "harness-error", "expected-fail", "unsupported"):
        two.count(verdict(word))
    assert two.used_up() is None
    two.count(verdict("fail"))
    assert two.used_up() == FAILURES


def test_time_is_measured_from_the_start():
    now_s = [100.0]
    ten = Budget(max_time_s=10, clock=lambda: now_s[0])
    assert ten.used_up() is None
    now_s[0] = 109.9
    assert ten.used_up() is None
    now_s[0] = 110.0
    assert ten.used_up() == TIME
