"""Every mutant is caught by all of its catchers, and every property and check catches a mutant."""

from __future__ import annotations

import json
import random

import pytest

from clients.reference.producer.producer import Components
from clients.seeding.table import mutants as all_mutants
from harness.cli.main import call
from harness.plugins import registry
from suites.properties import mutants, mutation_testing
from suites.properties.command import TRIES
from suites.properties.mutation_testing import Caught, catch, idle_catchers, seeded
from suites.properties.property import properties, try_property, walk
from suites.properties.stand_ins import STAND_INS
from testkit.codes import has_error

pytestmark = pytest.mark.long("tries properties until they catch a mutant")

MUTANTS = all_mutants()

#: A fixed seed, and a random one.
SEEDS = (0, random.Random().randrange(2**32))

#: A mutant of a property, one of a check, and one of both.
SOME = ("wrong_hash_seed", "ends_batches_twice", "retries_with_new_sequence")


@pytest.mark.parametrize("seed", SEEDS, ids=["fixed", "fresh"])
@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name, seed):
    assert MUTANTS[name].caught_by
    for by in MUTANTS[name].caught_by:
        assert catch(name, by, TRIES, seed).examples, f"{name} escapes {by} with seed {seed}"


def test_mutant_that_ends_itself_is_judged_by_another_trial():
    """With this seed it frees memory twice in one of the trials, which its own pool refuses."""
    assert catch("expired_batch_is_sent_again", "bookkeeping", TRIES, 4_053_141_986).examples


@pytest.mark.parametrize(
    "tried", [pytest.param(prop, id=prop.id) for prop in properties().values() if prop.walks]
)
def test_reference_client_keeps_its_promises_in_every_situation(tried):
    tried.machine.components = Components()
    for situation, steps in tried.walks.items():
        try:
            walk(tried.machine, steps)
        except AssertionError as error:
            pytest.fail(f"{situation}: {error}")


@pytest.mark.parametrize("name", MUTANTS)
def test_catchers_judge_the_mutants_requirements(name):
    judged = {
        requirement
        for by in MUTANTS[name].caught_by
        for requirement in (
            properties()[by].requirements
            if by in properties()
            else [each.id for each in registry.checks()[by].requirements]
        )
    }
    assert MUTANTS[name].breaks and set(MUTANTS[name].breaks) <= judged


def test_every_property_and_check_has_a_mutant_or_substitute():
    assert set(idle_catchers()) == set(STAND_INS)


@pytest.mark.parametrize("seed", SEEDS, ids=["fixed", "fresh"])
@pytest.mark.parametrize("id", properties())
def test_each_property_fails_for_some_client(id, seed):
    """It must fail on its substitute, or on the first mutant that names it."""
    broken = STAND_INS.get(id) or seeded(
        next(name for name, mutant in MUTANTS.items() if id in mutant.caught_by), id
    )
    assert try_property(properties()[id], broken, TRIES, at_seed=seed) is not None


def test_check_names_a_mutant_that_names_it():
    for check in registry.checks().values():
        assert check.name in MUTANTS[check.killed_mutant].caught_by, check.name


def test_command_reports_what_caught_each_mutant(capsys):
    assert call(["mutants", *SOME, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"mutants", "pairs", "escaped", "accused", "not_tried"}
    assert document["pairs"] == sum(len(MUTANTS[name].caught_by) for name in SOME)
    assert document["escaped"] == document["accused"] == []
    assert [row["name"] for row in document["mutants"]] == list(SOME)
    assert all(row["caught_by"] in MUTANTS[row["name"]].caught_by for row in document["mutants"])
    for row in document["mutants"]:
        assert set(row) == {"name", "of", "defect", "caught_by", "examples"}
        assert row["of"] == "reference"
        assert row["defect"] == MUTANTS[row["name"]].defect and row["examples"] >= 1


def test_same_seed_gives_the_same_report(capsys):
    told = []
    for seed in ("3", "3"):
        call(["mutants", *SOME, "--seed", seed, "--json"])
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


def test_escaped_mutant_is_reported(capsys, monkeypatch):
    # Without its changed components the mutant is the reference client, which always escapes.
    monkeypatch.setattr(mutation_testing, "components_of", lambda name: Components())
    assert call(["mutants", "wrong_hash_seed", "--examples", "5", "--json"]) == 1
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    [row] = document["mutants"]
    assert row["examples"] is None
    by = "delivery/a_key_has_the_partition_that_java_gives_it"
    assert document["escaped"] == [{"mutant": "wrong_hash_seed", "by": by}]
    assert document["accused"] == []
    assert "wrong_hash_seed escapes delivery/a_key_has_the_partition_that_java_gives_it" in captured.err


def test_accused_reference_client_is_reported(capsys, monkeypatch):
    def always(name: str, by: str, *_: object) -> Caught:
        return Caught(name, by, 2)

    # The reference client is never accused, so the judgement is replaced.
    monkeypatch.setattr(mutants, "catch", always)
    monkeypatch.setattr(mutants, "accuse", always)
    assert call(["mutants", "wrong_hash_seed", "--json"]) == 1
    by = "delivery/a_key_has_the_partition_that_java_gives_it"
    assert json.loads(capsys.readouterr().out)["accused"] == [{"client": "reference", "by": by}]
    assert call(["mutants", "wrong_hash_seed"]) == 1
    captured = capsys.readouterr()
    [line] = [line for line in captured.err.splitlines() if line.startswith("reference")]
    assert by in line
    assert "wrong_hash_seed" in captured.out


@pytest.mark.parametrize(("needed", "tried_times"), [(7, 20), (77, 77)])
def test_reference_client_is_tried_as_often_as_the_slowest_mutant(monkeypatch, needed, tried_times):
    tried = []

    def accuse(client: str, by: str, scenarios: tuple[str, ...], examples: int, seed: int) -> Caught:
        tried.append((client, by, examples))
        return Caught(client, by, None)

    # No mutant needs exactly this many examples, so the judgement is replaced.
    monkeypatch.setattr(mutants, "catch", lambda name, by, examples, seed: Caught(name, by, needed))
    monkeypatch.setattr(mutants, "accuse", accuse)
    assert mutants.mutants(["wrong_hash_seed", "hashes_without_mask"], examples=150, seed=0) == 0
    assert tried == [("reference", "delivery/a_key_has_the_partition_that_java_gives_it", tried_times)]


def test_unknown_name_is_a_usage_error(capsys):
    assert call(["mutants", "wrong_hash_sead"]) == 2
    assert has_error(capsys.readouterr().err, "unknown-name", "'wrong_hash_seed'")
    assert call(["mutants", "--examples", "0"]) == 2
