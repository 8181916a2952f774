"""The example distribution adds one part of each kind by entry points alone, in both modes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

PROJECT = Path(__file__).parents[2] / "examples/plugins"
MUTANT = "mutant-one-partition-too-many"
PARTS = {
    "workloads": {"lookup"},
    "clients": {"lookup"},
    "mutants": {MUTANT},
    "scenarios": {"lookup/calm", "lookup/late-answers"},
    "checks": {"wrong-partition-count"},
    "faults": {"late_answers"},
    "brokers": {"named"},
}


@pytest.mark.long("builds and installs a distribution")
@pytest.mark.parametrize("what", PARTS)
def test_part_is_listed(kafka_trial, what):
    done = kafka_trial("list", what, "--json")
    assert PARTS[what] <= {row["name"] for row in json.loads(done.stdout)}, done.stderr


@pytest.mark.long("builds and installs a distribution")
def test_tests_of_the_distribution_pass_when_installed(python, tmp_path):
    """They run as for an outside author: without the source of kafka-trial and its test configuration."""
    shutil.copytree(PROJECT / "tests", tmp_path / "tests")
    done = python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path / "tests")
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout and int(done.stdout.split(" passed")[0].split()[-1]) > 40


@pytest.mark.long("builds and installs a distribution")
def test_client_keeps_the_contract_of_its_workload(kafka_trial):
    done = kafka_trial("check-adapter", "-c", "lookup", "--workload", "lookup", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["lookup@1.0"]) == 10
    as_producer = kafka_trial("check-adapter", "-c", "lookup", "--case", "dead-address")
    assert as_producer.returncode == 1


@pytest.mark.long("builds and installs a distribution")
def test_mutant_is_caught_and_true_client_passes(kafka_trial):
    done = kafka_trial("mutants", "--of", "lookup", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    [row] = told["mutants"]
    assert (row["name"], row["of"]) == ("one-partition-too-many", "lookup")
    assert (row["caught_by"], row["examples"]) == ("wrong-partition-count", 1)
    assert told["escaped"] == told["accused"] == told["not_tried"] == []
    assert "20 examples" in done.stderr


@pytest.mark.long("builds and installs a distribution")
def test_perturbations_are_caught_on_a_run(kafka_trial, tmp_path):
    runs = str(tmp_path)
    made = kafka_trial(
        "simulate", "--scenario", "lookup/late-answers", "-c", "lookup", "--trials", "3", "--keep", "all",
        "--out-dir", runs,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    done = kafka_trial("perturb", runs, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    told = json.loads(done.stdout)
    tried = {row["name"]: row for row in told["by_kind"]}
    assert {"one-partition-too-few", "count-in-words", "event-missing", "fault-rows-missing"} <= set(tried)
    assert all(row["tried"] == row["caught"] == 3 for row in tried.values()), tried
    assert told["not_judged"] == []


@pytest.mark.jvm
@pytest.mark.extended
def test_live_trials_are_judged_packed_and_reported(kafka_trial, tmp_path):
    runs = str(tmp_path / "runs")
    first = kafka_trial(
        "run", "lookup/*", "produce/calm", "-c", "lookup", "-c", MUTANT, "-c", "reference",
        "-b", "named:one", "--seed", "7", "--out-dir", runs,
    )  # fmt: skip
    [folder] = [
        each
        for each in (tmp_path / "runs").iterdir()
        if (each / "run.json").is_file() and not each.is_symlink()
    ]

    def verdicts() -> dict[str, str]:
        found = (json.loads(each.read_text()) for each in folder.glob("trials/*/verdict.json"))
        return {each["trial"]: each["verdict"] for each in found}

    told = verdicts()
    assert first.returncode == 1, first.stderr

    def of(scenario: str, client: str) -> set[str]:
        named = f"-{client}-"
        return {v for t, v in told.items() if t.startswith(scenario) and named in t.replace("@", "-")}

    assert of("lookup-calm", "lookup") == of("lookup-late", "lookup") == {"pass"}, told
    assert of("lookup-calm", MUTANT) == of("lookup-late", MUTANT) == {"fail"}, told
    assert of("lookup-calm", "reference") == {"unsupported"}
    assert of("produce-calm", "reference") == {"pass"}

    reported = kafka_trial("report", str(folder))
    assert reported.returncode in (0, 1), reported.stderr
    rows = pq.read_table(folder / "tables/lookups").to_pylist()
    assert len(rows) == 4 * 60 and {row["partitions"] for row in rows} == {3, 4}
    counted = pq.read_table(folder / "tables/trials").to_pylist()
    assert {row["workload"] for row in counted if row["counted"]} == {"produce"}
    pages = [each.read_text() for each in folder.glob("**/lookup-calm-*.html")]
    assert any("answers with another number of partitions" in page for page in pages)

    again = kafka_trial("judge", str(folder))
    assert again.returncode == 1, again.stderr
    assert verdicts() == told
