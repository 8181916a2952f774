"""Groups that are upgraded while they are in use: what each process is given, and what the group becomes."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from harness.model.evidence import Evidence
from harness.model.spec import ClientRef, TrialSpec
from harness.model.verdicts import Guarantee
from harness.planning import unavailable
from harness.planning.plan import conflict_of, make_plan
from harness.plugins import registry
from harness.simulated.generated import spec_of
from harness.simulated.judged import RUN_ID
from harness.simulated.selection import assert_simulated
from harness.simulated.trial import SimulatedTrial
from harness.trial.group import turn_of
from suites.analysis.consuming.asked import of_group
from suites.analysis.consuming.settlements import settlements
from suites.analysis.consuming.timing import SESSION, setting_ms

REFERENCE = ClientRef("reference", registry.client("reference").default_version)
TO_COOPERATIVE, TO_NEW, BACK = (
    registry.scenario(f"group/upgrade-{name}") for name in ("cooperative", "new-protocol", "rolled-back")
)


def spec(scenario):
    return make_plan([scenario], [REFERENCE], ["local:4.3.1x1"], [1]).trials[0]


def played(scenario, seed: int, guarantee: Guarantee = Guarantee.AT_LEAST_ONCE) -> Evidence:
    once = replace(scenario, guarantees=(guarantee,))
    return SimulatedTrial(spec_of(once, assert_simulated(REFERENCE), seed, "scripted:4.3.1x1"), RUN_ID).run()


def test_an_upgrade_gives_and_takes_settings():
    first, later = spec(TO_NEW).configs
    assert (first["group.protocol"], later["group.protocol"]) == ("classic", "consumer")
    assert first.keys() - later.keys() == {
        "heartbeat.interval.ms",
        "partition.assignment.strategy",
        "session.timeout.ms",
    }
    assert {name: first[name] for name in later.keys() - {"group.protocol"}} == {
        name: value for name, value in later.items() if name != "group.protocol"
    }


def test_each_round_is_an_upgrade_of_the_first_settings():
    chosen = [each["partition.assignment.strategy"] for each in spec(TO_COOPERATIVE).configs]
    assert chosen == ["range", "cooperative-sticky,range", "cooperative-sticky"]
    before, _, after = spec(BACK).configs
    assert after == before


def test_a_user_may_not_choose_what_an_upgrade_changes():
    why = conflict_of(TO_NEW, Guarantee.AT_LEAST_ONCE, {"group.protocol": "classic"})
    assert why == "the scenario changes group.protocol itself"
    assert conflict_of(TO_NEW, Guarantee.AT_LEAST_ONCE, {"max.poll.records": 7}) is None


def test_a_client_without_the_setting_is_not_upgraded():
    change = {"group.protocol": "consumer", "session.timeout.ms": None}
    assert unavailable.upgrade("m1-2", change, {"session.timeout.ms": "it is not given"}) is None
    lack = unavailable.upgrade("m1-2", change, {"group.protocol": "it has none"})
    assert lack is not None and lack.code == "upgrade-not-offered"
    assert (lack.params["process"], lack.params["why"]) == ("m1-2", "it has none")


@pytest.mark.parametrize("scenario", [TO_COOPERATIVE, TO_NEW, BACK], ids=lambda each: each.name)
def test_every_process_has_the_settings_of_its_turn(scenario):
    evidence = played(scenario, 3)
    configs = evidence.record.spec.configs
    assert {turn_of(process) for process in of_group(evidence)} == set(range(1, len(configs) + 1))
    for process, requests in of_group(evidence, "JoinGroup", "ConsumerGroupHeartbeat").items():
        config = configs[turn_of(process) - 1]
        if config["group.protocol"] == "consumer":
            assert {each.api for each in requests} == {"ConsumerGroupHeartbeat"}
        else:
            offered = {each.member.protocols for each in requests}
            assert offered == {tuple(config["partition.assignment.strategy"].split(","))}


@pytest.mark.parametrize("scenario", [TO_COOPERATIVE, TO_NEW, BACK], ids=lambda each: each.name)
@pytest.mark.parametrize("seed", [11, 12])
def test_after_every_restart_each_partition_has_one_owner(scenario, seed):
    evidence = played(scenario, seed)
    changes = settlements(evidence)
    assert len(changes) == 2 * 3 * len(scenario.upgrades)
    assert [each for each in changes if each.shared] == []
    joined = changes[1::2]
    assert all(turn_of(each.process) > 1 for each in joined)
    assert [each for each in joined if each.settled_ns is None] == []
    assert scenario.consequence(evidence).count > 0


def test_generations_and_epochs_are_one_sequence():
    evidence = played(BACK, 4)
    told = sorted(
        (each.answer.t_ns, each.told.epoch)
        for requests in of_group(evidence, "JoinGroup", "ConsumerGroupHeartbeat").values()
        for each in requests
        if each.answer is not None and each.code == 0 and (each.told.epoch or -1) > 0
    )
    highest = 0
    for _, epoch in told:
        assert epoch >= highest - 1, "a member may be one epoch behind while it gives up partitions"
        highest = max(highest, epoch)
    assert highest > 6


def test_timeouts_are_the_longest_of_all_turns():
    evidence = played(TO_NEW, 3)
    assert setting_ms(evidence, SESSION) == 45_000
    assert setting_ms(evidence, SESSION, min) == 6_000


def test_a_stored_trial_has_its_upgrades():
    planned = spec(TO_NEW)
    assert msgspec.json.decode(msgspec.json.encode(planned), type=TrialSpec) == planned
