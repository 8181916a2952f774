"""What a prune removes and keeps: properties of the pure plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.housekeeping import Found, Kind, Wanted, plan

NOW_S = 1_000_000.0
#: Few different seconds are drawn, so that many things have the same age.
seconds = st.integers(0, 20).map(float)
wishes = st.builds(
    Wanted,
    older_than_s=st.none() | seconds,
    keep=st.none() | st.integers(0, 6),
    unused_for_s=st.none() | seconds,
    caches=st.booleans(),
)


def found(kind: Kind, name: int, age_s: float, stays: str) -> Found:
    return Found(kind, Path(f"{kind}-{name}"), NOW_S - age_s, stays)


things = st.lists(
    st.builds(found, st.sampled_from(Kind), st.integers(0, 99), seconds, st.sampled_from(["", "", "in use"])),
    max_size=12,
    unique_by=lambda thing: thing.path,
)


def going(there: list[Found], wanted: Wanted) -> set[Path]:
    return {each.found.path for each in plan(there, wanted, NOW_S) if each.goes}


@given(things, wishes)
def test_each_thing_has_one_decision_with_a_reason_to_stay(there, wanted) -> None:
    decisions = plan(there, wanted, NOW_S)
    assert [each.found for each in decisions] == there
    assert all(each.goes == (each.stays == "") for each in decisions)


@given(things, wishes)
def test_things_in_use_and_foreign_things_stay(there, wanted) -> None:
    gone = going(there, wanted)
    assert not {each.path for each in there if each.stays or each.kind is Kind.STRANGER} & gone


@given(things, wishes)
def test_only_requested_kinds_are_removed(there, wanted) -> None:
    asked = {
        Kind.RUN: wanted.runs,
        Kind.INSTALLATION: wanted.unused_for_s is not None,
        Kind.CACHE: wanted.caches,
    }
    gone = going(there, wanted)
    assert all(asked.get(each.kind) for each in there if each.path in gone)


@given(things, wishes)
def test_the_last_runs_and_young_things_stay(there, wanted) -> None:
    gone = going(there, wanted)
    runs = [each for each in there if each.kind is Kind.RUN]
    kept = [each for each in runs if each.path not in gone]
    if wanted.keep is not None and wanted.runs:
        assert len(kept) >= min(wanted.keep, len(runs))
    limits = {Kind.RUN: wanted.older_than_s, Kind.INSTALLATION: wanted.unused_for_s}
    for each in there:
        if each.path in gone and (limit_s := limits.get(each.kind)) is not None:
            assert NOW_S - each.used_s > limit_s


@given(things, st.integers(0, 6))
def test_the_oldest_runs_are_removed_first(there, keep) -> None:
    gone = going(there, Wanted(keep=keep))
    free = [each for each in there if each.kind is Kind.RUN and not each.stays]
    newest_gone = max((each.used_s for each in free if each.path in gone), default=0.0)
    assert all(each.used_s >= newest_gone for each in free if each.path not in gone)


@given(things, wishes)
def test_requested_things_that_may_go_are_removed(there, wanted) -> None:
    old = [replace(each, used_s=NOW_S - 1_000) for each in there]
    wanted = replace(wanted, keep=None)
    gone = going(old, wanted)
    assert all(each.path in gone for each in old if each.kind is Kind.RUN and wanted.runs and not each.stays)
    assert all(
        each.path in gone for each in old if each.kind is Kind.CACHE and wanted.caches and not each.stays
    )


@given(things, wishes, st.randoms())
def test_the_order_of_things_does_not_matter(there, wanted, random) -> None:
    shuffled = random.sample(there, len(there))
    assert going(shuffled, wanted) == going(there, wanted)


@given(things, wishes)
def test_a_second_plan_removes_nothing(there, wanted) -> None:
    gone = going(there, wanted)
    left = [each for each in there if each.path not in gone]
    assert going(left, wanted) == set()


@given(things, wishes)
def test_things_from_the_future_are_not_old(there, wanted) -> None:
    ahead = [replace(each, used_s=NOW_S + 5_000) for each in there]
    gone = going(ahead, replace(wanted, keep=None))
    assert all(each.kind is Kind.CACHE for each in ahead if each.path in gone)
