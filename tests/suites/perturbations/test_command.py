"""``kafka-trial perturb`` on stored trials: its output, its exit codes, and its errors."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from harness.cli.main import call
from harness.model.verdicts import Verdict
from harness.plugins import registry
from harness.plugins.perturbation import Perturbation
from harness.storage.run_store import RunStore
from suites.perturbations import command
from suites.perturbations.perturbation import channels, once
from suites.perturbations.table import NOT_JUDGED, PERTURBATIONS
from testkit.codes import has_error

pytestmark = pytest.mark.long("judges many changed trials")

TRIALS = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    args = ["produce/calm", "--trials", str(TRIALS), "--keep", "all", "-b", "scripted:4.3.1x1"]
    assert call(["simulate", *args, "--out-dir", str(out), "-q"]) == 0
    return out


def document(capsys, *args):
    code = call(["perturb", *map(str, args), "--json", "-q"])
    return code, json.loads(capsys.readouterr().out)


def test_caught_perturbations_are_counted(run, capsys):
    code, told = document(capsys, run, "--kind", "lost-*", "--kind", "wrong-key", "--tries", "2")
    assert code == 0
    assert told["run"] == str(RunStore.open(run).folder)
    assert told["trials"] == TRIALS
    assert told["kinds"] + len(told["not_fitting"]) == sum(
        each.name.startswith("lost-") or each.name == "wrong-key" for each in PERTURBATIONS
    )
    assert told["tried"] == told["caught"] > 0
    assert told["escaped"] == []
    assert told["share"] == 1.0
    assert told["not_judged"] == [{"name": name, "reason": reason} for name, reason in NOT_JUDGED.items()]
    of = {row["name"]: row for row in told["by_kind"]}
    assert of["lost-record"] == {
        "name": "lost-record",
        "defect": next(each.defect for each in PERTURBATIONS if each.name == "lost-record"),
        "caught_by": ["lost"],
        "expected": "fail",
        "tried": 2 * TRIALS,
        "caught": 2 * TRIALS,
        "caught_otherwise": 0,
        "escaped": 0,
        "awaited": [],
    }


@pytest.mark.parametrize(("sample", "count"), [(1, 1), (2, 2), (TRIALS, TRIALS), (TRIALS + 1, TRIALS)])
def test_sample_has_the_given_size_and_follows_its_seed(run, capsys, sample, count):
    def trials(seed):
        _, told = document(capsys, run, "--kind", "lost-record", "--sample", str(sample), "--seed", str(seed))
        assert told["trials"] == told["tried"] == count
        return told

    assert trials(5) == trials(5)


def test_other_seeds_draw_other_samples(run, capsys, harmless):
    drawn = {
        document(capsys, run, "--sample", "1", "--seed", str(seed))[1]["escaped"][0]["trial"]
        for seed in range(12)
    }
    assert drawn == {spec.trial for spec in RunStore.open(run).record.plan.trials}


@pytest.fixture
def harmless():
    """A defect that no check can detect."""
    kind = Perturbation(
        "harmless",
        channels("log"),
        "does as it should",
        ("unheard-of",),
        once(bool),
        lambda evidence, _: evidence,
    )
    with registry.replaced("perturbations", {"producer": (kind,)}):
        yield kind


def test_escape_is_reported_with_trial_and_place(run, capsys, harmless):
    code, told = document(capsys, run)
    assert code == 1
    assert told["share"] == 0
    trials = [spec.trial for spec in RunStore.open(run).record.plan.trials]
    assert [(each["trial"], each["perturbation"], each["place"]) for each in told["escaped"]] == [
        (trial, "harmless", "the whole trial") for trial in trials
    ]
    assert {each["verdict"] for each in told["escaped"]} == {"pass"}
    assert told["by_kind"][0]["awaited"] == ["unheard-of"]


def test_text_output_has_the_same_content(run, capsys, harmless):
    assert call(["perturb", str(run)]) == 1
    out, err = capsys.readouterr()
    assert harmless.name in out and harmless.defect in out
    assert err.count("escaped: harmless at the whole trial of") == TRIALS
    assert any({"unheard-of,", harmless.name} <= set(line.split()) for line in err.splitlines())
    reported = [line.split(": ")[1] for line in err.splitlines() if line.startswith("not judged: ")]
    assert reported == [*NOT_JUDGED]
    assert err.splitlines()[-1].endswith("exit 1")


def test_several_processes_give_the_same_result(run, capsys):
    args = (run, "--kind", "wrong-*", "--kind", "lost-batch", "--seed", "4")
    assert document(capsys, *args, "-j", "2") == document(capsys, *args)


def test_another_seed_tries_other_places(run, capsys, harmless):
    kind = replace(harmless, places=lambda evidence: sorted(evidence.operations))
    with registry.replaced("perturbations", {"producer": (kind,)}):
        first, second = (document(capsys, run, "--seed", seed)[1]["escaped"] for seed in (1, 2))
    assert [each["place"] for each in first] != [each["place"] for each in second]


def test_errors_are_reported(run, tmp_path, capsys):
    assert call(["perturb", str(tmp_path / "nowhere")]) == 2
    assert has_error(capsys.readouterr().err, "not-a-run")
    assert call(["perturb", str(run), "--kind", "lost-recrod"]) == 2
    assert has_error(capsys.readouterr().err, "unknown-name", "'lost-record'")
    assert call(["perturb", str(run), "--tries", "0"]) == 2


def test_run_without_a_passed_trial_is_not_a_success(run, capsys, monkeypatch):
    # The run is shared and all of its trials passed, so the test changes which verdicts count as passed.
    monkeypatch.setattr(command, "PASSING", (Verdict.UNSUPPORTED,))
    assert call(["perturb", str(run)]) == 5
    assert has_error(capsys.readouterr().err, "no-passed-trial")


def test_kinds_that_fit_no_trial_are_not_a_success(run, capsys):
    assert call(["perturb", str(run), "--kind", "frame-unseen"]) == 5
    assert has_error(capsys.readouterr().err, "no-perturbation-fits")


@pytest.mark.parametrize(
    ("command", "code"),
    [(("judge",), 3), (("perturb", "--kind", "lost-record"), 2)],
    ids=["judge", "perturb"],
)
@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("workload", "keys", 10**12), ("workload", "keys", -1), ("config", "request.timeout.ms", "abc")],
)
def test_unusable_stored_trial_is_named(run, tmp_path, capsys, command, code, part, name, value):
    shutil.copytree(RunStore.open(run).folder, tmp_path / "run")
    [first, *_] = sorted((tmp_path / "run").glob("trials/*/trial.json"))
    told = json.loads(first.read_text())
    told["spec"][part][name] = value
    first.write_text(json.dumps(told))

    assert call([*command, str(tmp_path / "run")]) == code
    err = capsys.readouterr().err
    assert name in err and "Traceback" not in err
