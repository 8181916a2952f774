"""The example distribution adds one part of each kind by entry points alone, in both worlds."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

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
SIMULATE = """
import json
from harness.model.spec import ClientRef
from harness.plugins import registry
from harness.simulated.judged import try_spec
from suites.simulate.generated import spec_of

told = []
for scenario in ("lookup/calm", "lookup/late-answers"):
    for name in ("lookup", "mutant-one-partition-too-many"):
        client = ClientRef(name, registry.client(name).default_version)
        evidence, verdict = try_spec(spec_of(registry.scenario(scenario), client, 7))
        told.append([verdict.verdict, verdict.reason, verdict.counts, [f.effects for f in verdict.faults]])
client = ClientRef("lookup", "1.0")
_, verdict = try_spec(spec_of(registry.scenario("produce/calm"), client, 1))
told.append([verdict.verdict, verdict.reason, {}, []])
print(json.dumps(told))
"""


@pytest.mark.long("builds and installs a distribution")
@pytest.mark.parametrize("what", PARTS)
def test_a_list_shows_the_part(kafka_trial, what):
    done = kafka_trial("list", what, "--json")
    assert PARTS[what] <= {row["name"] for row in json.loads(done.stdout)}, done.stderr


@pytest.mark.long("builds and installs a distribution")
def test_simulated_trials_are_judged(python):
    done = python("-c", SIMULATE)
    assert done.returncode == 0, done.stderr
    calm, calm_mutant, late, late_mutant, producing = json.loads(done.stdout)
    for verdict, reason, counts, _ in (calm, late):
        assert verdict == "pass", reason
        assert counts == {"asked": 60, "answered": 60, "wrong": 0, "unreadable": 0}
    for verdict, reason, counts, _ in (calm_mutant, late_mutant):
        assert verdict == "fail" and reason.startswith("wrong-partition-count"), reason
        assert counts["wrong"] == 60
    assert late[3][0] > 0
    assert producing[0] == "unsupported" and "does not offer" in producing[1]


@pytest.mark.jvm
def test_live_trials_are_judged_packed_reported_and_judged_again(kafka_trial, tmp_path):
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
