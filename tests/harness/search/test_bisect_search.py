"""Bisection: the answer brackets the change despite untestable versions, in the fewest tries."""

from __future__ import annotations

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.rows import Finding, RequirementVerdict, TrialVerdict
from harness.search.bisect_search import VersionState, bracket, next_to_try, state_of


def verdict(of: str, *anomalies: str) -> TrialVerdict:
    found = tuple(Finding(anomaly, "it happened") for anomaly in anomalies)
    required = (RequirementVerdict("X-01", "MUST", of, found),)
    return TrialVerdict("t", "c@1", "b", "s", "idempotent", 1, of, "", required)


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, int, set[int]]:
    """Draw the number of versions, the first bad one, and the untestable ones, which are never at an end."""
    count = draw(st.integers(2, 200))
    inner = st.integers(1, count - 2) if count > 2 else st.nothing()
    return count, draw(st.integers(1, count - 1)), draw(st.sets(inner))


@given(histories())
def test_the_answer_brackets_the_change(history: tuple[int, int, set[int]]) -> None:
    count, first_bad, untestable = history
    versions = [f"1.{number}" for number in range(count)]

    def tried(at: int) -> VersionState:
        if at in untestable:
            return VersionState.SKIPPED
        return VersionState.BAD if at >= first_bad else VersionState.GOOD

    seen = {versions[at]: tried(at) for at in (0, count - 1)}
    while (version := next_to_try(versions, seen)) is not None:
        assert version not in seen
        seen[version] = tried(versions.index(version))
    good, bad = bracket(versions, seen)
    assert good < first_bad <= bad
    assert set(range(good + 1, bad)) <= untestable
    skipped = sum(state is VersionState.SKIPPED for state in seen.values())
    assert len(seen) <= ceil(log2(count)) + skipped + 2


@pytest.mark.parametrize(
    ("verdicts", "anomaly", "state"),
    [
        ([verdict("pass"), verdict("pass")], None, VersionState.GOOD),
        ([verdict("pass"), verdict("fail", "lost")], None, VersionState.BAD),
        ([verdict("pass"), verdict("fail", "lost")], "lost", VersionState.BAD),
        ([verdict("fail", "gave-up")], "lost", VersionState.GOOD),
        ([verdict("fail", "gave-up", "lost")], "lost", VersionState.BAD),
        ([verdict("inconclusive"), verdict("not-exercised")], None, VersionState.SKIPPED),
        ([verdict("harness-error"), verdict("unsupported")], "lost", VersionState.SKIPPED),
        ([verdict("inconclusive"), verdict("pass")], None, VersionState.GOOD),
        ([], None, VersionState.SKIPPED),
    ],
)
def test_the_state_of_a_version_follows_from_its_verdicts(verdicts, anomaly, state) -> None:
    assert state_of(verdicts, anomaly) is state
