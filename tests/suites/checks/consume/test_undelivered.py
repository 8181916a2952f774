"""Records that no member gets after the faults, and members that close too late."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
from msgspec.structs import replace as changed

from harness.model.verdicts import Guarantee
from harness.plugins.check import Inconclusive
from suites.analysis.consuming.timing import idle_bound_ms
from suites.checks.consume import close_late, undelivered
from tests.suites.checks.consume.test_deliveries import replace_beats
from tests.suites.story import stalled

HEALED_MS = 6_000


def found(module, told):
    """Return code and count of each finding."""
    return [(each.anomaly, each.count) for each in module.CHECK.run(told.evidence())]


def stuck(group, idle_ms):
    """m1 gets two of five records, and nothing more for ``idle_ms`` after a fault."""
    told = group()
    told.heal_ms, told.final_ms, told.end_ms = HEALED_MS, HEALED_MS + idle_ms, HEALED_MS + idle_ms + 1_000
    told.start("m1", "m2")
    told.write(5, 0)
    told.assign("m1", 0, 1, at_ms=10)
    told.take("m1", 0, 0, 1, at_ms=100)
    told.fault("member_kill", 3_000, HEALED_MS)
    return told


def test_group_that_never_goes_on_is_accused_after_its_largest_timeout(group):
    bound_ms = idle_bound_ms(group().evidence())
    assert bound_ms == 20_000
    assert found(undelivered, stuck(group, bound_ms)) == []
    assert found(undelivered, stuck(group, bound_ms + 1)) == [("undelivered", 3)]
    assert undelivered.CHECK.requirements[0].arises(stuck(group, 10).evidence()) == 3


def test_delivery_in_between_is_progress(group):
    told = stuck(group, 30_000)
    told.take("m1", 0, 2, at_ms=20_000)
    assert found(undelivered, told) == []


@pytest.mark.parametrize(("worker", "is_accused"), [("m1", False), ("m2", True)])
def test_turn_in_progress_does_not_count(group, worker, is_accused):
    told = stuck(group, 30_000)
    if worker == "m1":
        told.kill("m2", 5_000)  # no other could go on
    told.take(worker, 0, 2, at_ms=5_000, took_ms=15_000)
    assert bool(found(undelivered, told)) is is_accused


def test_time_after_the_turn_counts(group):
    told = stuck(group, 40_000)
    told.kill("m2", 5_000)
    told.take("m1", 0, 2, at_ms=5_000, took_ms=15_000)
    assert found(undelivered, told) == [("undelivered", 2)]


def test_records_that_the_group_has_passed_do_not_wait(group):
    told = stuck(group, 30_000)
    told.stored(p0=5)
    assert found(undelivered, told) == []


@pytest.mark.parametrize(
    ("guarantee", "features", "is_accused"),
    [
        (Guarantee.AT_MOST_ONCE, ["group"], False),
        (Guarantee.AT_MOST_ONCE, ["group", "seek"], True),
        (Guarantee.AT_MOST_ONCE, None, True),
        (Guarantee.AT_LEAST_ONCE, ["group"], True),
    ],
)
def test_records_that_an_application_dropped_do_not_wait(group, guarantee, features, is_accused):
    told = stuck(group, 30_000)
    told.guarantee = guarantee
    told.commit("m1", 0, 5, at_ms=200, success=False)
    evidence = told.evidence()
    client = {} if features is None else {"features": features}
    evidence = replace(evidence, record=changed(evidence.record, client=client))
    assert bool(undelivered.CHECK.run(evidence)) is is_accused


@pytest.mark.parametrize("reset", ["latest", "none"])
def test_records_that_a_group_need_not_begin_with_do_not_wait(group, reset):
    told = stuck(group, 30_000)
    told.config["auto.offset.reset"] = reset
    assert found(undelivered, told) == []
    told.commit("m1", 0, 2, at_ms=200)
    assert found(undelivered, told) == [("undelivered", 3)]


def test_member_whose_reset_is_unknown_may_begin_at_the_end(group):
    told = stuck(group, 30_000)
    told.not_set["auto.offset.reset"] = "no such setting"
    assert found(undelivered, told) == []


def test_group_without_a_living_member_is_not_accused(group):
    told = stuck(group, 30_000)
    told.kill("m1", 5_000)
    told.kill("m2", 20_000)
    assert found(undelivered, told) == []


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "is_doubt"), [(10_000, 24_000, True), (10_000, 15_000, False)]
)
def test_stall_of_any_member_is_subtracted(group, begin_ms, end_ms, is_doubt):
    evidence = replace_beats(stuck(group, 30_000).evidence(), "m2", begin_ms, end_ms)
    if is_doubt:
        with pytest.raises(Inconclusive):
            undelivered.CHECK.run(evidence)
    else:
        assert undelivered.CHECK.run(evidence)[0].count == 3


@pytest.mark.parametrize(("apart_ms", "is_doubt"), [(2_000, True), (4_000, False)])
def test_many_short_stalls_of_the_harness_are_subtracted(group, apart_ms, is_doubt):
    """Each of a second. On such a machine other processes wait too."""
    moments = chain.from_iterable((at_ms, at_ms + 1_000) for at_ms in range(2_000, 29_000, apart_ms))
    evidence = stalled(stuck(group, 30_000).evidence(), *moments)
    if is_doubt:
        with pytest.raises(Inconclusive):
            undelivered.CHECK.run(evidence)
    else:
        assert undelivered.CHECK.run(evidence)[0].count == 3


def test_member_that_a_fault_has_stopped_does_not_stall(group):
    told = stuck(group, 30_000)
    told.freeze("m2", 1_000, 5_900)
    evidence = replace_beats(told.evidence(), "m2", 1_000, 6_000)
    assert undelivered.CHECK.run(evidence)[0].count == 3


def closing(group, took_ms):
    """m1 closes at 5 s."""
    told = group()
    told.start("m1")
    told.write(1, 0)
    told.assign("m1", 0, at_ms=10)
    told.take("m1", 0, 0, at_ms=100)
    told.close("m1", 5_000, took_ms=took_ms)
    return told


def test_close_ends_by_its_limit(group):
    assert found(close_late, closing(group, 11_000)) == []
    assert found(close_late, closing(group, 11_001)) == [("close-late", 1)]


def test_work_before_the_close_does_not_count(group):
    told = closing(group, 15_000)
    told.write(1, 0)
    told.take("m1", 0, 1, at_ms=4_500, took_ms=5_000)
    assert found(close_late, told) == []


def test_stall_during_the_close_makes_it_inconclusive(group):
    with pytest.raises(Inconclusive):
        close_late.CHECK.run(replace_beats(closing(group, 12_000).evidence(), "m1", 6_000, 10_000))
