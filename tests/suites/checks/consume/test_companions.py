"""Groups with companions: the client under test answers for its own processes, and no client for the whole group."""

from __future__ import annotations

import pytest

from harness.plugins.check import Inconclusive
from suites.analysis.consuming.tried import companions
from suites.checks.consume import (
    close_late,
    commit_regress,
    commit_unowned,
    committed_early,
    delivery_order,
    foreign_record,
    lost_commit,
    not_owned,
    orphaned,
    redelivered,
    skipped,
    two_owners,
    undelivered,
)

JAVA = "java@4.3.1"


def shared(group, mine, other="m2", **given):
    """Return a story in which ``mine`` is of the client under test and ``other`` is a companion."""
    told = group(**given)
    told.start(mine)
    told.start(other, companion=JAVA)
    return told


def found(module, told):
    """Return the codes of the findings."""
    return [each.anomaly for each in module.CHECK.run(told.evidence())]


def out_of_order(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, 2, at_ms=100)


def commits_too_much(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, at_ms=100)
    told.commit("m1", 0, 3, at_ms=200)


def commits_what_another_owns(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, at_ms=100)
    told.revoke("m1", 0, at_ms=200)
    told.assign("m2", 0, at_ms=300, generation=2)
    told.commit("m1", 0, 1, at_ms=5_000)


def reads_what_it_gave_up(told):
    commits_what_another_owns(told)
    told.take("m1", 0, 1, at_ms=5_000)


def commits_less(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, 1, 2, at_ms=100)
    told.commit("m1", 0, 3, at_ms=200)
    told.commit("m1", 0, 1, at_ms=300)


def delivers_something_else(told):
    told.write(1, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, at_ms=100, value="something else")


def closes_late(told):
    told.close("m1", 7_000, took_ms=20_000)


def reads_again(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, 1, at_ms=100)
    told.commit("m1", 0, 2, at_ms=200)
    told.revoke("m1", 0, at_ms=300)
    told.assign("m1", 0, at_ms=1_000, generation=2)
    told.take("m1", 0, 0, at_ms=1_100)


def goes_on(told):
    told.end_ms, told.final_ms, told.heal_ms = 90_000, 80_000, 70_000
    told.write(3, 0)
    told.assign("m1", 0, at_ms=10)
    told.assign("m2", 0, at_ms=30_000, generation=2)
    told.take("m1", 0, 1, at_ms=40_000)


def loses_a_commit(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, at_ms=100)
    told.commit("m1", 0, 1, at_ms=200)
    told.stored()


@pytest.mark.parametrize(
    ("module", "does", "code"),
    [
        (delivery_order, out_of_order, "gap"),
        (committed_early, commits_too_much, "committed-early"),
        (commit_unowned, commits_what_another_owns, "commit-unowned"),
        (not_owned, reads_what_it_gave_up, "not-owned"),
        (commit_regress, commits_less, "commit-regress"),
        (foreign_record, delivers_something_else, "foreign-record"),
        (close_late, closes_late, "close-late"),
        (redelivered, reads_again, "redelivered"),
        (two_owners, goes_on, "outdated-owner"),
        (lost_commit, loses_a_commit, "lost-commit"),
    ],
)
def test_a_client_answers_for_its_own_processes_only(group, module, does, code):
    mine, of_companion = shared(group, "m1"), shared(group, "m2", "m1")
    does(mine)
    does(of_companion)
    assert found(module, mine) == [code]
    assert found(module, of_companion) == []


def two_in_one_generation(told):
    told.write(3, 0)
    told.assign("m1", 0, at_ms=10)
    told.assign("m2", 0, at_ms=2_000)


def one_too_far(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 1, at_ms=100)


def left_alone(told):
    told.heal_ms, told.final_ms, told.end_ms = 6_000, 60_000, 61_000
    told.write(4, 0)
    told.assign("m1", 1, at_ms=0)
    told.assign("m2", at_ms=0)


def stored_too_far(told):
    told.write(4, 0)
    told.assign("m1", 0, at_ms=0)
    told.take("m1", 0, 0, at_ms=100)
    told.commit("m1", 0, 1, at_ms=200)
    told.stored(p0=3)


@pytest.mark.parametrize(
    ("module", "does"),
    [
        (two_owners, two_in_one_generation),
        (skipped, one_too_far),
        (orphaned, left_alone),
        (undelivered, left_alone),
        (committed_early, stored_too_far),
    ],
)
def test_no_client_answers_for_a_group_with_companions(group, module, does):
    told = group()
    told.start("m1", "m2")
    does(told)
    assert found(module, told)
    told = shared(group, "m1")
    does(told)
    with pytest.raises(Inconclusive, match=JAVA):
        module.CHECK.run(told.evidence())


def test_both_owners_are_named_with_their_clients(group):
    told = shared(group, "m1")
    two_in_one_generation(told)
    with pytest.raises(Inconclusive, match=r"m1 \(c@1\) and m2 \(java@4.3.1\)"):
        two_owners.CHECK.run(told.evidence())


def test_a_cooperative_leader_may_have_left_a_partition_to_two(group):
    told = shared(group, "m1", config={"partition.assignment.strategy": "cooperative-sticky"})
    goes_on(told)
    with pytest.raises(Inconclusive):
        two_owners.CHECK.run(told.evidence())


def test_what_a_companion_says_it_committed_is_no_evidence(group):
    told = shared(group, "m1")
    told.write(4, 0)
    told.assign("m2", 0, at_ms=0)
    told.take("m2", 0, 0, 1, at_ms=100)
    told.commit("m2", 0, 2, at_ms=200)
    told.revoke("m2", 0, at_ms=300)
    told.assign("m1", 0, at_ms=1_000, generation=2)
    told.take("m1", 0, 0, at_ms=1_100)
    told.stored()
    assert found(redelivered, told) == found(lost_commit, told) == []
    assert companions(told.evidence()) == {"m2": JAVA}
