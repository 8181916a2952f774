"""Verdicts: a pass must be earned, and every run has one exit code."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.model.verdicts import EXIT_CODES, SEVERITY, Verdict, exit_code, worst

verdicts = st.lists(st.sampled_from(Verdict))


def test_every_verdict_has_a_severity_and_an_exit_code():
    assert set(SEVERITY) == set(EXIT_CODES) == set(Verdict)


@given(verdicts, verdicts)
def test_more_verdicts_never_improve_the_worst(some, more):
    if some:
        assert SEVERITY.index(worst(some + more)) <= SEVERITY.index(worst(some))


@given(verdicts)
def test_a_pass_needs_only_harmless_verdicts_and_at_least_one(all_):
    if worst(all_) is Verdict.PASS:
        assert set(all_) == {Verdict.PASS}
    if exit_code(all_) == 0:
        assert all_ and all(EXIT_CODES[v] == 0 for v in all_)


def test_exit_code_3_outranks_1_and_1_outranks_4():
    assert exit_code([Verdict.FAIL, Verdict.HARNESS_ERROR, Verdict.INCONCLUSIVE]) == 3
    assert exit_code([Verdict.FAIL, Verdict.NOT_EXERCISED]) == 1
    assert exit_code([Verdict.PASS, Verdict.NOT_EXERCISED]) == 4
    assert exit_code([]) == 5


def test_a_run_in_which_nothing_was_judged_is_no_success():
    assert exit_code([Verdict.UNSUPPORTED]) == exit_code([Verdict.UNSUPPORTED] * 2, strict=True) == 4
    assert exit_code([Verdict.UNSUPPORTED, Verdict.PASS]) == 0
    assert exit_code([Verdict.UNSUPPORTED, Verdict.FAIL]) == 1
    assert exit_code([Verdict.UNSUPPORTED], others=[3]) == 3
