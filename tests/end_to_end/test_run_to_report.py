"""From a plan to a report, with real brokers and clients that keep their guarantees."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.jvm


def test_both_clients_pass_all_eight_cells(matrix):
    assert matrix["counts"] == {"pass": 16}
    for verdict in matrix["verdicts"]:
        counts = verdict["counts"]
        assert counts["sent"] == counts["acked"] >= 2000, verdict["trial"]
        assert counts["lost"] == counts["unexpected"] == 0
        judged = {requirement["id"]: requirement["verdict"] for requirement in verdict["requirements"]}
        assert set(judged.values()) <= {"pass", "not-exercised"}, verdict["trial"]
        assert judged["E2E-DEL-01"] == "pass"
        if verdict["scenario"] in ("produce/disconnect", "produce/dropped-response"):
            no_more_than_promised = "E2E-DEL-02" if verdict["guarantee"] == "idempotent" else "E2E-DEL-03"
            assert judged[no_more_than_promised] == "pass", verdict["trial"]


def test_dropped_responses_cause_duplicates_only_without_idempotence(matrix):
    cells = [v for v in matrix["verdicts"] if v["scenario"] == "produce/dropped-response"]
    assert len(cells) == 4
    for verdict in cells:
        counts = verdict["counts"]
        extra = counts["in_log"] - counts["sent"]
        assert extra == counts["duplicated"]
        assert (extra > 0) == (verdict["guarantee"] == "at-least-once"), verdict["trial"]


def test_every_fault_reports_its_hits(matrix):
    for verdict in matrix["verdicts"]:
        assert bool(verdict["faults"]) == (verdict["scenario"] != "produce/calm")
        for fault in verdict["faults"]:
            assert fault["hits"] > 0, verdict["trial"]
            requested, effective = fault["requested_ns"], fault["effective_ns"]
            assert effective[0] >= requested[0]
            assert effective[1] >= requested[1]


def test_judging_again_gives_the_same_verdicts(line, matrix):
    again = line.json("judge", matrix["run"])
    assert again["verdicts"] == matrix["verdicts"]


def test_same_seed_gives_the_same_verdicts(line, matrix):
    document = line.json(
        "run", "produce/dropped-response", "-c", "reference", "-c", "confluent-kafka", "--seed", "7"
    )
    first = {
        v["trial"]: v["verdict"] for v in matrix["verdicts"] if v["scenario"] == "produce/dropped-response"
    }
    assert {v["trial"]: v["verdict"] for v in document["verdicts"]} == first


def test_evidence_of_sixteen_trials_is_below_five_megabytes(line, matrix):
    trials = line.folder / matrix["run"] / "trials"
    assert len(list(trials.iterdir())) == 16
    assert sum(path.stat().st_size for path in trials.rglob("*") if path.is_file()) < 5_000_000


def test_spark_agrees_and_writes_the_report(line, matrix):
    document = line.json("report", matrix["run"])
    assert document["agreement"]["trials"] == 16
    assert not document["agreement"]["disagreements"]
    report = line.folder / Path(document["report"])
    assert report.exists()
    assert "confluent-kafka" in report.read_text()


def test_altered_verdict_is_a_disagreement(line, matrix, tmp_path):
    run = tmp_path / Path(matrix["run"]).name
    shutil.copytree(line.folder / matrix["run"], run)
    path, *others = sorted(run.glob("trials/*/verdict.json"))
    for other in others:  # one is enough
        shutil.rmtree(other.parent)
    verdict = json.loads(path.read_text())
    verdict["counts"]["lost"] += 1
    path.write_text(json.dumps(verdict))
    assert line.json("report", str(run), code=3)["agreement"]["disagreements"]
