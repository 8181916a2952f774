"""A third-party distribution adds one part of each kind, and errors of its parts name it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.model.errors import KafkaTrialError, UsageError
from harness.plugins import registry
from testkit.codes import has_error, raises_code

#: Copies of our parts under other names.
THEIRS = """
    from dataclasses import replace

    from clients.adapters.reference import Reference
    from clients.mutants.wrong_hash_seed import MUTANT as OURS
    from faults.kinds.latency import Latency
    from harness.brokers.local import LocalKind
    from suites.checks.history.lost import CHECK as LOST
    from suites.scenarios.produce import CALM


    class Jitter(Latency):
        name = "theirs_jitter"


    class Client(Reference):
        name = "theirs-client"


    class Brokers(LocalKind):
        name = "theirs-brokers"


    FAULT, CLIENT, BROKERS = Jitter(), Client(), Brokers()
    CHECK = replace(LOST, name="theirs-check")
    SCENARIO = replace(CALM, name="theirs/scenario")
    MUTANT = replace(OURS, defect="hashes as they do")
"""
PARTS = (
    ("faults", "fault", "theirs_jitter", "FAULT"),
    ("checks", "check", "theirs-check", "CHECK"),
    ("scenarios", "scenario", "theirs/scenario", "SCENARIO"),
    ("clients", "client", "theirs-client", "CLIENT"),
    ("brokers", "broker", "theirs-brokers", "BROKERS"),
    ("mutants", "mutant", "theirs_seed", "MUTANT"),
)
POINTS = {group: {name: f"theirs:{attribute}"} for group, _, name, attribute in PARTS}

each_kind = pytest.mark.parametrize(("group", "what", "name", "attribute"), PARTS, ids=[p[0] for p in PARTS])


@each_kind
def test_a_third_party_part_is_found_beside_ours(install, group, what, name, attribute):
    ours = registry.names(group)
    install("theirs", THEIRS, POINTS)
    added = {name, "mutant-theirs_seed"} if group == "clients" else {name}
    assert set(registry.names(group)) == {*ours, *added}
    assert registry.one(group, what, name) is getattr(sys.modules["theirs"], attribute)


def test_a_mutant_is_a_client_too(install):
    install("theirs", THEIRS, POINTS)
    kind = registry.client("mutant-theirs_seed")
    assert (kind.name, kind.summary) == (
        "mutant-theirs_seed",
        "the reference client, which hashes as they do",
    )


@each_kind
def test_a_broken_part_names_its_distribution(install, group, what, name, attribute):
    install("theirs", "raise OSError('no such horn')", POINTS)
    assert name in registry.names(group)
    expected = {
        "group": group,
        "name": name,
        "source": re.compile(f"theirs:{attribute},"),
        "said": "no such horn",
    }
    with raises_code(KafkaTrialError, "part-failed-to-load", **expected):
        registry.one(group, what, name)


def test_a_broken_mutant_is_reported_once(install):
    install("theirs", "MUTANTS = ()", POINTS)
    with pytest.raises(KafkaTrialError) as told:
        registry.client("mutant-theirs_seed")
    assert str(told.value).startswith(
        "cannot load mutants 'theirs_seed' (theirs:MUTANT, registered by theirs)"
    )
    assert "kafka-trial" not in str(told.value)


@pytest.mark.parametrize("group", ["faults", "checks", "scenarios", "clients", "brokers", "mutants"])
def test_a_name_registered_twice_is_an_error(install, group):
    name, other, *_ = registry.names(group) * 2
    install("theirs", "", {group: {name: "theirs:PART"}})
    with pytest.raises(KafkaTrialError) as told:
        registry.table(group)
    assert str(told.value).startswith(
        f"{group} {name!r} is registered more than once: (theirs:PART, registered by theirs)"
    )
    assert has_error(told.value, "name-registered-twice") and told.value.exit_code == 3
    if other != name:
        assert registry.one(group, "part", other)


def test_a_name_of_two_third_parties_is_an_error(install):
    install("theirs", "", {"faults": {"storm": "theirs:A"}})
    install("theirs_too", "", {"faults": {"storm": "theirs_too:B"}})
    with raises_code(KafkaTrialError, "name-registered-twice", ways=re.compile("theirs_too:B,.*theirs:A,")):
        registry.fault("storm")


@pytest.mark.parametrize(("typed", "meant"), [("theirs_jiter", "theirs_jitter"), ("latncy", "latency")])
def test_suggestions_include_third_party_names(install, typed, meant):
    install("theirs", THEIRS, POINTS)
    with raises_code(UsageError, "unknown-name", what="fault", name=typed, suggestion=meant):
        registry.fault(typed)


@pytest.mark.long("starts a process with another distribution")
def test_the_command_line_finds_third_party_parts(install):
    folder = install("theirs", THEIRS, POINTS)

    def told(*argv: str) -> dict[str, object] | list[dict[str, object]]:
        command = [str(Path(sys.executable).with_name("kafka-trial")), *argv, "--json"]
        env = os.environ | {"PYTHONPATH": str(folder)}
        return json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)

    assert "mutant-theirs_seed" in [row["name"] for row in told("list", "mutants")]
    assert told("mutants", "theirs_seed")["escaped"] == []


@pytest.mark.long("starts a process with another distribution")
def test_a_command_that_cannot_be_loaded_is_listed_and_names_the_cause(install):
    folder = install("theirs", "raise OSError('no-such-horn')", {"commands": {"horn": "theirs:COMMAND"}})

    def ended(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("kafka-trial")), *argv]
        env = os.environ | {"PYTHONPATH": str(folder)}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    listed, broken = ended("--help"), ended("horn", "--loud", "twice")
    assert listed.returncode == 0 and " horn " in listed.stdout
    assert broken.returncode == 3 and has_error(broken.stderr, "part-failed-to-load", "horn", "no-such-horn")


def test_replaced_parts_are_found_within_the_context_only():
    registered, mine, another = registry.fault("latency"), object(), object()
    with registry.replaced("faults", {"latency": mine, "my_fault": another}):
        assert registry.fault("latency") is mine and registry.fault("my_fault") is another
        assert registry.table("faults")["latency"] is mine
        assert {"latency", "my_fault"} <= {*registry.names("faults")}
        with registry.replaced("faults", {"latency": another}):
            assert registry.fault("latency") is another and registry.fault("my_fault") is another
        assert registry.fault("latency") is mine
    assert registry.fault("latency") is registered
    assert "my_fault" not in registry.names("faults")
    with pytest.raises(UsageError):
        registry.fault("my_fault")
