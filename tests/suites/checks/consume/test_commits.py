"""What members commit: too much, too little, lost, back, and for others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from suites.analysis.consuming.commits import ON_ITS_WAY_NS, Commit, stored_at_least
from suites.checks.consume import commit_regress, commit_unowned, committed_early, lost_commit


def found(module, told):
    """Return code and count of each finding."""
    return [(each.anomaly, each.count) for each in module.CHECK.run(told.evidence())]


@st.composite
def stored(draw):
    """Return commits and, for each, when the coordinator stored it, or None."""
    made, when = [], []
    for _ in range(draw(st.integers(0, 8))):
        invoke_ns = draw(st.integers(0, 30)) * 1_000_000_000
        complete_ns = invoke_ns + draw(st.integers(1, 5_000_000_000))
        success = draw(st.booleans())
        each = Commit("m1", 0, draw(st.integers(1, 6)), "async", success, invoke_ns, complete_ns)
        last_ns = complete_ns if success else complete_ns + ON_ITS_WAY_NS
        at_ns = draw(st.integers(invoke_ns, last_ns))
        made.append(each)
        when.append(at_ns if success or draw(st.booleans()) else None)
    return made, when


@given(stored(), st.integers(0, 60_000_000_000))
def test_coordinator_never_has_less_than_what_is_certain(commits, at_ns):
    made, when = commits
    done = sorted((t, n) for n, t in enumerate(when) if t is not None and t < at_ns)
    actual = made[done[-1][1]].offset if done else 0
    assert stored_at_least(made, at_ns) <= actual


@given(st.lists(st.integers(1, 100), min_size=1, max_size=6))
def test_last_of_successive_commits_is_certain_if_offsets_rise(steps):
    offset, made = 0, []
    for n, step in enumerate(steps):
        offset += step
        made.append(Commit("m1", 0, offset, "sync", True, 10 * n, 10 * n + 5))
    assert stored_at_least(made, 1_000) == offset
    assert stored_at_least(made, made[-1].complete_ns) == (made[-2].offset if len(made) > 1 else 0)


@given(st.integers(1, 100))
def test_commit_beyond_what_was_processed_is_early(calm, more):
    told = calm()
    told.commit("m2", 1, 6 + more, at_ms=5_000)
    assert found(committed_early, told) == [("committed-early", 1)]


@given(st.integers(1, 100))
def test_offset_that_the_coordinator_has_beyond_what_was_processed_is_early(calm, more):
    told = calm()
    told.events = told.events[:-1]
    told.stored(p0=6, p1=6 + more)
    assert found(committed_early, told) == [("stored-early", 1)]


def test_what_a_client_stores_on_its_own_is_not_judged(calm):
    told = calm()
    told.events = told.events[:-1]
    told.commit("m2", 1, 6, at_ms=5_000, how="auto")
    told.stored(p0=6, p1=9)
    assert found(committed_early, told) == []


def test_commit_of_what_another_member_has_committed_is_not_early(calm):
    told = calm()
    told.commit("m2", 1, 3, at_ms=2_000)
    assert found(committed_early, told) == []


@given(st.integers(-1, 5))
def test_coordinator_without_a_successful_commit_has_lost_it(calm, offset):
    told = calm()
    told.events = told.events[:-1]
    told.stored(p0=6, p1=offset)
    assert found(lost_commit, told) == [("lost-commit", 1)]


def test_partition_that_the_coordinator_does_not_have_is_lost(calm):
    told = calm()
    told.events = told.events[:-1]
    told.stored(p0=6)
    assert found(lost_commit, told) == [("lost-commit", 1)]


def test_commit_that_failed_is_not_lost(calm):
    told = calm()
    told.write(1, 1)
    told.take("m2", 1, 6, at_ms=5_000)
    told.commit("m2", 1, 7, at_ms=5_100, success=False)
    assert found(lost_commit, told) == []


def test_smaller_offset_stored_later_is_not_lost(calm):
    told = calm()
    told.events = told.events[:-1]
    told.commit("m2", 1, 5, at_ms=5_000)
    told.stored(p0=6, p1=5)
    assert found(lost_commit, told) == []
    assert found(commit_regress, told) == [("commit-regress", 1)]


@given(st.integers(1_001, 1_500))
def test_failed_commit_that_is_repeated_after_a_larger_one_sets_it_back(calm, late_ms):
    told = calm()
    told.commit("m2", 1, 5, at_ms=4_015, took_ms=10 + late_ms, how="async")
    assert found(commit_regress, told) == [("commit-regress", 1)]


@given(st.integers(0, 1_000))
def test_callbacks_within_a_second_may_come_in_either_order(calm, late_ms):
    told = calm()
    told.commit("m2", 1, 5, at_ms=4_015, took_ms=10 + late_ms, how="async")
    assert found(commit_regress, told) == []


def test_commit_after_a_seek_may_be_smaller(calm):
    told = calm()
    told.sought("m2", 4_900)
    told.commit("m2", 1, 5, at_ms=5_000)
    assert found(commit_regress, told) == []


def test_commits_of_two_owners_are_not_compared(calm):
    told = calm()
    told.commit("m2", 1, 2, at_ms=2_000)
    assert found(commit_regress, told) == []


@given(st.integers(2_700, 6_000))
def test_commit_of_a_former_owner_is_unowned(calm, at_ms):
    told = calm()
    told.commit("m1", 1, 3, at_ms=at_ms)
    assert found(commit_unowned, told) == [("commit-unowned", 1)]
    (requirement,) = commit_unowned.CHECK.requirements
    assert requirement.arises(told.evidence()) == 1


def test_refused_commit_of_a_former_owner_is_as_it_should_be(calm):
    told = calm()
    told.commit("m1", 1, 3, at_ms=3_000, success=False)
    (requirement,) = commit_unowned.CHECK.requirements
    assert found(commit_unowned, told) == []
    assert requirement.arises(told.evidence()) == 1


def test_commit_while_nobody_owns_the_partition_is_not_judged(calm):
    told = calm()
    told.commit("m1", 1, 3, at_ms=1_550)
    assert found(commit_unowned, told) == []
