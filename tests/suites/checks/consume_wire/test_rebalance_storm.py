"""rebalance-storm counts rebalances between two changes, and leaves out what others may have caused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from harness.model.harness_events import MemberFrozen, MemberStarted
from harness.plugins.check import Inconclusive
from suites.checks.consume_wire.rebalance_storm import MOST, calms, run
from suites.perturbations.consuming.edits import wall_ns, with_added
from suites.perturbations.membership.storms import PERTURBATIONS

[KIND] = PERTURBATIONS


@pytest.fixture
def stormy(group_trial):
    """Return evidence with a storm, the moments of its rebalances, and the member that it was made from."""
    evidence = group_trial("group/join")
    place = KIND.places(evidence)[0]
    stormy = KIND.apply(evidence, place)
    storm = max(calms(stormy), key=lambda calm: len(calm.rebalances_ns))
    return stormy, storm.rebalances_ns, place.process


def test_the_rebalances_of_a_storm_are_counted(stormy):
    evidence, at_ns, _ = stormy
    assert len(at_ns) > MOST
    [found] = run(evidence)
    assert found.message.startswith(f"{len(at_ns)} times the group rebalanced")


def test_a_change_in_between_may_be_the_cause_of_what_follows(stormy):
    evidence, at_ns, process = stormy
    middle_ns = at_ns[len(at_ns) // 2]
    frozen = MemberFrozen(seq=0, mono_ns=middle_ns, wall_ns=wall_ns(evidence, middle_ns), producer=process)
    assert run(with_added(evidence, frozen)) == []


def test_a_member_of_another_client_may_be_the_cause(stormy):
    evidence, _, process = stormy
    history = [
        changed(event, companion="java@4.3.1")
        if isinstance(event, MemberStarted) and event.member != process
        else event
        for event in evidence.history
    ]
    with pytest.raises(Inconclusive, match="rebalance-storm"):
        run(replace(evidence, history=tuple(history)))


def test_as_many_rebalances_as_allowed_are_no_storm(stormy):
    evidence, at_ns, _ = stormy
    surplus = set(at_ns[: len(at_ns) - MOST])
    frames = tuple(frame for frame in evidence.frames if frame.t_ns not in surplus)
    assert run(replace(evidence, frames=frames)) == []
