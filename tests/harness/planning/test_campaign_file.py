"""Campaign files: the plans that they expand to, and the messages about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.campaign_plan import counts, expanded
from harness.cli.main import call
from harness.model.mode import Mode
from harness.model.spec import ClientRef
from harness.planning import campaign_file, campaign_schema
from harness.planning.pairwise import met
from harness.plugins import registry
from testkit.codes import has_error

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))
KINDS = "[generated.a.kinds]\n"


def test_clients_are_names_versions_and_commands(made):
    text = """
        scenarios = ["produce/calm"]
        clients = [
            "reference", "reference@7", { name = "confluent-kafka", versions = ["2.3.0", "2.3.0"] },
            { name = "mine", command = ["/bin/sh", "-x"] }, { command = ["sh"] },
        ]
    """
    default = ClientRef("reference", registry.client("reference").default_version)
    clients = list(dict.fromkeys(trial.client for trial in made(text).plan.trials))
    assert clients == [
        default,
        ClientRef("reference", "7"),
        ClientRef("confluent-kafka", "2.3.0"),
        ClientRef("mine", "own", ("/bin/sh", "-x"), str(Path.cwd())),
        ClientRef("sh", "own", ("sh",), str(Path.cwd())),
    ]
    mine = [ClientRef("other", "1")]
    assert {trial.client for trial in made(text, clients=mine).plan.trials} == set(mine)


def test_tried_selects_the_tested_versions(made):
    text = 'scenarios = ["produce/calm"]\nclients = [{ name = "confluent-kafka", versions = "tried" }]'
    versions = {trial.client.version for trial in made(text).plan.trials}
    assert versions == set(registry.client("confluent-kafka").versions) and len(versions) > 1


def test_dotted_settings_may_be_quoted_or_bare(made):
    bare = "[configurations.a]\nlinger.ms = 3\nretry.backoff.ms = 7\nretry.backoff.max.ms = 8\nacks = 1\n"
    quoted = '[configurations.a]\n"linger.ms" = 3\n"retry.backoff.ms" = 7\n"retry.backoff.max.ms" = 8\nacks = "1"\n'
    plans = [made('scenarios = ["produce/calm"]\n' + text).plan for text in (bare, quoted)]
    assert plans[0] == plans[1]
    chosen = {"linger.ms": 3, "retry.backoff.ms": 7, "retry.backoff.max.ms": 8, "acks": "1"}
    assert all(trial.config.items() >= chosen.items() for trial in plans[0].trials)


def test_generated_faults_are_the_same_for_all_clients_guarantees_and_configurations(made):
    text = f"""
        clients = ["reference", "confluent-kafka"]
        seeds = [3, 4]
        [configurations.a]
        [configurations.b]
        linger.ms = 9
        [generated.a]
        faults = 3
        load = {{ records = 50, records_per_command = 5, interval_ms = 100 }}
        {KINDS} latency = {{ upstream_ms = [1, 400] }}
        disconnect = {{}}
    """
    trials = made(text).plan.trials
    assert {(trial.scenario, trial.variant) for trial in trials} == {
        ("generated/campaign", "a+a"),
        ("generated/campaign", "a+b"),
    }
    for seed in (3, 4):
        same = [trial for trial in trials if trial.seed == seed]
        assert len(same) == 2 * 3 * 2
        assert all((trial.faults, trial.workload) == (same[0].faults, same[0].workload) for trial in same)
        assert len(same[0].faults) == 3 and same[0].workload.records == 50
    assert trials[0].faults != trials[-1].faults


def test_pairwise_covers_all_pairs_with_every_seed(made):
    text = """
        clients = ["reference", "confluent-kafka@2.3.0", "confluent-kafka@2.16.1"]
        scenarios = ["produce/*", "frame/l*"]
        seeds = { first = 5, count = 2 }
        [configurations.common]
        [configurations.small]
        batch.size = 1
    """
    whole, pairs = made(text), made(f'combine = "pairwise"\n{text}')
    assert whole.about == ("all 84 combinations, each with 2 seeds",)
    of = len(pairs.plan.trials) // 2
    assert 21 <= of < 42 and len(whole.plan.trials) == 168
    cells = [
        [(t.client, t.broker, t.scenario, t.guarantee, t.variant) for t in made.plan.trials if t.seed == 6]
        for made in (whole, pairs)
    ]
    assert met(cells[0]) == met(cells[1])
    sentence = f"covers all {len(met(cells[0]))} pairs with {of} of 84 combinations, each with 2 seeds"
    assert pairs.about == (sentence,)
    assert {trial.seed for trial in pairs.plan.trials} == {5, 6}


def test_left_out_combinations_are_reported(made):
    text = """
        scenarios = ["produce/calm", "broker/paused-too-long"]
        [configurations.patient]
        delivery.timeout.ms = 60000
        [configurations.once]
        enable.idempotence = true
    """
    assert made(text).about[1:] == (
        "left out: patient with broker/paused-too-long at-least-once, broker/paused-too-long idempotent "
        "(the scenario sets delivery.timeout.ms to 8000 itself)",
        "left out: once with broker/paused-too-long at-least-once, produce/calm at-least-once "
        "(at-least-once sets enable.idempotence to false)",
    )


def test_trials_are_counted_by_client_scenario_and_variant(made):
    plan = made(f'clients = ["reference"]\nscenarios = ["produce/calm"]\n{KINDS}refuse = {{}}').plan
    assert list(counts(plan)) == [
        f"trials by client: {plan.trials[0].client} 5",
        "trials by scenario: produce/calm 2, generated/campaign 3",
        "trials by variant: a 3",
    ]


def test_all_scenarios_are_the_default_unless_tables_are_given(made):
    assert {t.scenario for t in made(f"{KINDS}refuse = {{}}").plan.trials} == {"generated/campaign"}
    everything = {t.scenario for t in made('clients = ["reference"]').plan.trials}
    assert everything == {
        name
        for name, each in registry.table("scenarios").items()
        if Mode.LIVE in each.modes and not each.opt_in
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_valid_campaigns(path):
    file = campaign_file.load(path)
    plan = expanded(file, campaign_file.seeds(file)).plan
    assert len({trial.trial for trial in plan.trials}) == len(plan.trials) > 50


def test_options_override_the_file(capsys, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('clients = ["confluent-kafka"]\nscenarios = ["produce/calm"]\njobs = 3\nseeds = [8]')
    assert call(["campaign", str(path), "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["jobs"] == 3 and [trial["seed"] for trial in told["trials"]] == [8, 8]
    argv = [
        "campaign",
        str(path),
        "--dry-run",
        "--json",
        "-j",
        "2",
        "-c",
        "reference",
        "--seed",
        "4",
        "--seeds",
        "2",
    ]
    assert call([*argv, "--", "sh", "--fast"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["jobs"] == 2 and {trial["seed"] for trial in told["trials"]} == {4, 5}
    assert {(trial["client"]["name"], tuple(trial["client"]["command"])) for trial in told["trials"]} == {
        ("reference", ()),
        ("sh", ("sh", "--fast")),
    }


def test_typed_brokers_and_guarantees_override_the_file(capsys, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('clients = ["java"]\nscenarios = ["produce/calm"]\nguarantees = ["at-least-once"]\n')
    argv = ["campaign", str(path), "-b", "local:3.9.2x1", "-g", "idempotent", "--dry-run", "--json"]
    assert call(argv) == 0
    [trial] = json.loads(capsys.readouterr().out)["trials"]
    assert (trial["broker"], trial["guarantee"]) == ("local:3.9.2x1", "idempotent")
    assert call(["campaign", str(path), "-g", "idempotant", "--dry-run"]) == 2
    assert has_error(capsys.readouterr().err, "unknown-name", "'idempotant'", "'idempotent'")


def test_a_typed_path_of_payloads_begins_at_the_current_folder(capsys, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "c.toml"
    path.write_text('clients = ["java"]\nscenarios = ["produce/calm"]\nguarantees = ["idempotent"]\n')
    (tmp_path / "lines.txt").write_text("typed\n")
    (tmp_path / "folder" / "lines.txt").write_text("beside the file\n")
    monkeypatch.chdir(tmp_path)
    assert call(["campaign", str(path), "--load", "payloads=lines.txt", "--dry-run", "--json"]) == 0
    [trial] = json.loads(capsys.readouterr().out)["trials"]
    assert trial["workload"]["load"]["payloads"] == ["typed"]


def test_the_schema_has_every_key_kind_and_setting(capsys):
    assert call(["schema", "campaign"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(json.dumps(campaign_schema.schema()))
    assert set(told["properties"]) == set(campaign_file.CampaignFile.__struct_fields__)
    assert told["additionalProperties"] is False
    kinds = told["$defs"]["Generated"]["properties"]["kinds"]["properties"]
    assert set(kinds) == set(registry.names("faults"))
    for name, kind in kinds.items():
        own = {"duration_ms", "broker", "frames"}
        assert set(kind["properties"]) == own | {param.name for param in registry.fault(name).params}
    assert set(told["properties"]["configurations"]["additionalProperties"]["properties"]) == {
        name for kind in registry.table("workloads").values() for name in kind.settings
    }
    text = json.dumps(told)
    assert all(f'"{ref}"' in text for ref in told["$defs"])
